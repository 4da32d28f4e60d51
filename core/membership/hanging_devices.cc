#include "core/membership/hanging_devices.h"

namespace hexad::core {

std::vector<SilentDevice> silent_devices(const Members& members) {
  std::vector<SilentDevice> silent;
  for (const DeviceId id : members.usable_ids()) {
    const Member& member = *members.find(id);
    const io::Nanos silence = member.device->silent_for();
    if (silence == 0) continue;
    const FlushDomain domain = members.flush_domain(member.device.get());
    SilentDevice one;
    one.id = id;
    one.silence = silence;
    one.adds_loss = member.role == alloc::DeviceRole::kData && !members.is_behind(id);
    one.shares_a_flush = domain != kNoFlushDomain && members.is_shared(domain);
    silent.push_back(one);
  }
  return silent;
}

std::set<DeviceId> plan_leaving(const std::vector<SilentDevice>& silent, io::Nanos limit,
                                std::uint32_t lost, std::uint32_t parities) {
  std::set<DeviceId> leaving;
  for (const SilentDevice& one : silent) {
    if (one.silence < limit || one.shares_a_flush) continue;  // HG1
    leaving.insert(one.id);
    if (one.adds_loss) ++lost;
  }
  if (lost > parities) return {};  // HG2
  return leaving;
}

}  // namespace hexad::core
