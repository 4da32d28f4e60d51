#include "core/membership/membership_change.h"

#include <utility>

#include "alloc/root_choice.h"
#include "core/space/log_set.h"

namespace hexad::core {

Status change_membership(const Members& members, std::uint32_t parities, const RootWriter& roots,
                         MembershipSteps& steps, std::set<DeviceId> failed) {
  for (;;) {
    failed.merge(members.poisoned());  // R11
    // TO1. A flush that is shut out looks like one that the device has failed, so this comes after.
    HEXAD_TRY(members.check_not_fenced());
    HEXAD_TRY(steps.stop_using(failed));
    failed.clear();

    // 3: the log's copies.
    const std::vector<DeviceId> log_ids = choose_log_devices(members, parities);
    std::vector<kv::LogArea> areas;
    for (const DeviceId id : log_ids) areas.push_back(members.find(id)->log_area());
    if (areas.empty()) {
      return Error{ErrorCode::kUnavailable, "no device is left that could hold the log",
                   "Close the store, check the devices, open it again."};
    }
    HEXAD_TRY(steps.complete_log(areas, log_ids, failed));
    if (!failed.empty()) continue;

    // 4: the root.
    alloc::Root next = alloc::next_epoch_root(roots.current(), roots.nonce());
    for (const alloc::RootDevice& row : roots.current().devices) {
      if (row.state == alloc::MemberState::kLive && !members.usable(row.id)) {
        alloc::mark_left(next, row.id, steps.last_counted());
      }
    }
    next.log_devices = log_ids;
    HEXAD_TRY(steps.describe(next));
    HEXAD_TRY(steps.write(next, failed));
    if (!failed.empty()) continue;

    // 5: the fence.
    HEXAD_TRY_ASSIGN(kv::PreparedBlock fence, steps.begin_epoch(areas, roots.current().epoch));
    HEXAD_TRY_ASSIGN(failed, write_fence(fence, members, [&](io::IoBatch& batch) {
                       return steps.send_again(batch);
                     }));
    if (failed.empty()) return {};
  }
}

}  // namespace hexad::core
