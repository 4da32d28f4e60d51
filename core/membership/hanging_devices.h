// Which devices a store goes on without since they do not answer: a plan, without time or I/O.
//
//   HG1 only a device with a flush domain of its own: those that share one stand or fall together
//       (R11), and are waited for
//   HG2 never so many that more than m data devices are lost: then all of those that hang at the
//       same time are waited for, since what has struck them is one event, and may pass. Lost are
//       those, too, that are about to leave: that are given up, or have failed
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/ids.h"
#include "core/space/members.h"
#include "io/clock.h"

namespace hexad::core {

// A device that has requests under way and answers none, or that is in use and about to leave.
struct SilentDevice {
  DeviceId id = 0;
  io::Nanos silence = 0;
  bool adds_loss = false;       // a usable data device that has everything
  bool shares_a_flush = false;  // with other devices
  bool leaves = false;          // it is given up, or has failed a write
};

// Those among them that are not in use any more, or not yet, may hold up whoever has written there.
std::vector<SilentDevice> silent_devices(const Members& members);

// Those that have been silent for `limit` or longer and may be left behind. `lost`: the data
// devices that do not count as it is, of which `parities` may be lost.
std::set<DeviceId> plan_leaving(const std::vector<SilentDevice>& silent, io::Nanos limit,
                                std::uint32_t lost, std::uint32_t parities);

}  // namespace hexad::core
