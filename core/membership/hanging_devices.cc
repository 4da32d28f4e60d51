#include "core/membership/hanging_devices.h"

namespace hexad::core {

std::vector<HangingDevice> hanging_devices(const Members& members, std::optional<DeviceId> adding) {
  std::vector<HangingDevice> hanging;
  const std::set<DeviceId> poisoned = members.poisoned();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (member.device == nullptr || members.is_removed(i)) continue;
    const FlushDomain domain = members.flush_domain(member.device.get());
    const bool usable = members.is_usable(i);
    if (!usable && member.device->is_given_up()) continue;
    HangingDevice one;
    one.id = member.id;
    one.owing = member.device->owing_for();
    one.adds_loss = usable && member.role == alloc::DeviceRole::kData &&
                    !members.counts_as_lost(member.id) && member.id != adding;
    one.shares_a_flush = domain != kNoFlushDomain && members.is_shared(domain);
    // A cell that was to be healed may be all that has failed: then it is waited for too often.
    one.leaves = member.device->is_given_up() || poisoned.contains(member.id) ||
                 member.device->traffic().failed_writes.load(std::memory_order_relaxed) > 0;
    if (one.owing > 0 || (usable && one.leaves)) hanging.push_back(one);
  }
  return hanging;
}

std::set<DeviceId> plan_leaving(
    const std::vector<HangingDevice>& hanging, io::Nanos limit,
    const std::function<std::uint32_t(const std::set<DeviceId>&)>& lost_with,
    std::uint32_t parities) {
  std::set<DeviceId> leaving;
  std::set<DeviceId> lost;
  for (const HangingDevice& one : hanging) {
    const bool hangs = one.owing >= limit && !one.shares_a_flush;  // HG1
    if (hangs) leaving.insert(one.id);
    if (one.adds_loss && (hangs || one.leaves)) lost.insert(one.id);
  }
  if (lost_with(lost) > parities) return {};  // HG2
  return leaving;
}

}  // namespace hexad::core
