#include "core/membership/root_writer.h"

#include <utility>

#include "alloc/root_choice.h"
#include "io/os_error.h"

namespace hexad::core {

RootAttempt RootWriter::send(const alloc::Root& next) {
  const alloc::Root root = alloc::next_attempt(next, sent_);  // RW1
  const std::vector<DeviceId> all = members_.usable_ids();    // whoever leaves meanwhile
  RootAttempt attempt;
  if (parities_ > 0) {
    send_to(all, root, attempt);
  } else {
    std::vector<DeviceId> fresh;
    std::vector<DeviceId> others;
    for (const DeviceId id : all) {
      const bool is_new = root.find(id) != nullptr && current_.find(id) == nullptr;
      (is_new ? fresh : others).push_back(id);
    }
    send_to(fresh, root, attempt);
    if (attempt.failed.empty() && attempt.refused.ok()) send_to(others, root, attempt);  // P13
  }
  attempt.committed = alloc::is_committed(current_, root, attempt.written, parities_);
  if (attempt.committed) {  // RW2
    current_ = root;
    alloc::record_written(current_, attempt.written);
  }
  return attempt;
}

void RootWriter::send_to(const std::vector<DeviceId>& ids, const alloc::Root& root,
                         RootAttempt& attempt) const {
  std::vector<alloc::LaidOutDevice> devices;
  for (const DeviceId id : ids) {
    const Member& member = *members_.find(id);
    devices.push_back({member.device.get(), member.layout.device_size});
  }
  const std::vector<Status> written = alloc::write_root(devices, root);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (written[i].ok()) {
      // Until a root lists a new device its row is that of the one whose place it takes (P5).
      const alloc::RootDevice* const row = root.find(ids[i]);
      const bool listed = row != nullptr && row->uuid == members_.find(ids[i])->uuid;
      if (listed) attempt.written.push_back(ids[i]);
    } else if (io::is_medium(written[i].error())) {
      attempt.failed.insert(ids[i]);
    } else {
      attempt.refused = written[i];
    }
  }
}

RootAttempt RootWriter::send_promise(const alloc::Root& promise) {
  RootAttempt attempt = send(promise);
  if (!attempt.committed) {
    current_ = promise;
    current_.sequence = sent_;
    alloc::record_written(current_, attempt.written);
  }
  return attempt;
}

}  // namespace hexad::core
