// Which devices a store goes on without since they do not answer, or keep one request to
// themselves: a plan, without time or I/O.
//
//   HG1 only a device with a flush domain of its own: those that share one stand or fall together
//       (R11), and are waited for
//   HG2 never so many that more is lost than the profile survives: then all of those that hang at
//       the same time are waited for, since what has struck them is one event, and may pass. Lost
//       are those, too, that are about to leave: that are given up, or have failed. Not one that is
//       being added where m = 0: nothing is lost with it (P13)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "core/space/members.h"
#include "io/clock.h"

namespace hexad::core {

// A device that owes an answer, whatever else it answers, or that is in use and about to leave.
struct HangingDevice {
  DeviceId id = 0;
  io::Nanos owing = 0;          // io::Device::owing_for()
  bool adds_loss = false;       // a usable data device that has everything, and counts
  bool shares_a_flush = false;  // with other devices
  bool leaves = false;          // it is given up, or has failed a write
};

// Those among them that are not in use any more, or not yet, may hold up whoever has written there.
// `adding`: nothing is lost with it (P13 of alloc/root_choice.h).
std::vector<HangingDevice> hanging_devices(const Members& members,
                                           std::optional<DeviceId> adding = {});

// Those that have owed an answer for `limit` or longer and may be left behind. `lost_with`: how
// many cells a zone has lost at most with these devices lost, too, of which `parities` may be lost
// (Space::lost_cells()).
std::set<DeviceId> plan_leaving(
    const std::vector<HangingDevice>& hanging, io::Nanos limit,
    const std::function<std::uint32_t(const std::set<DeviceId>&)>& lost_with,
    std::uint32_t parities);

}  // namespace hexad::core
