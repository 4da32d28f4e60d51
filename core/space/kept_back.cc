#include "core/space/kept_back.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

void KeptBack::forget(const std::set<DeviceId>& gone) {
  for (const DeviceId id : gone) suspects_.erase(id);
}

std::set<DeviceId> KeptBack::suspects() const {
  std::set<DeviceId> in_use;
  for (const DeviceId id : suspects_) {
    if (members_.usable(id)) in_use.insert(id);
  }
  return in_use;
}

bool KeptBack::has_suspects() const {
  return std::any_of(suspects_.begin(), suspects_.end(),
                     [this](DeviceId id) { return members_.usable(id); });
}

void KeptBack::end_suspects() {
  if (!has_suspects()) suspects_.clear();
}

std::shared_ptr<Lsn> KeptBack::send_late(DeviceId device, io::IoQueue& queue) {
  auto token = std::make_shared<Lsn>(reclaimed_);
  late_.push_back({device, token});
  late_queue_ = &queue;
  return token;
}

bool KeptBack::is_late(DeviceId device) const {
  return std::any_of(late_.begin(), late_.end(),
                     [device](const Late& cell) { return cell.device == device; });
}

void KeptBack::drop_answered() {
  std::erase_if(late_, [](const Late& cell) { return cell.begun.expired(); });
}

Lsn KeptBack::bound(Lsn limit, std::span<const alloc::ReadRange> readers) {
  std::vector<alloc::ReadRange> held_for(readers.begin(), readers.end());
  if (any_late()) {
    // V4: what was held when such a cell was sent is, as if its reader were still there.
    held_for.insert(held_for.end(), readers_.begin(), readers_.end());
    std::sort(held_for.begin(), held_for.end());
    held_for.erase(std::unique(held_for.begin(), held_for.end()), held_for.end());
  }
  readers_ = std::move(held_for);
  for (const Late& cell : late_) {
    if (const auto begun = cell.begun.lock()) limit = std::min(limit, *begun);  // V4
  }
  reclaimed_ = std::max(reclaimed_, limit);
  return limit;
}

KeptBack::Kept KeptBack::take() {
  if (keeps()) return {};
  return {std::exchange(units_, {}), std::exchange(slabs_, {})};
}

}  // namespace hexad::core
