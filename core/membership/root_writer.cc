#include "core/membership/root_writer.h"

#include <utility>

#include "alloc/root_choice.h"
#include "io/os_error.h"

namespace hexad::core {

RootAttempt RootWriter::send(const alloc::Root& next) {
  const alloc::Root root = alloc::next_attempt(next, sent_);  // RW1
  const std::vector<DeviceId> ids = members_.usable_ids();
  std::vector<alloc::LaidOutDevice> devices;  // the same ones, whoever leaves meanwhile
  for (const DeviceId id : ids) {
    const Member& member = *members_.find(id);
    devices.push_back({member.device.get(), member.layout.device_size});
  }
  const std::vector<Status> written = alloc::write_root(devices, root);
  RootAttempt attempt;
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
  attempt.committed = alloc::is_committed(current_, root, attempt.written, parities_);
  if (attempt.committed) {  // RW2
    current_ = root;
    alloc::record_written(current_, attempt.written);
  }
  return attempt;
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
