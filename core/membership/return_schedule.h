// When devices that have left a store that is open are looked at again, and which of them stay away
// until somebody asks for them: a plan, without time or I/O.
//
//   RS1 a device that is away is looked at first some seconds after it left, and then, as long as
//       it is not taken in, each time after twice as long as the time before, at last every ten
//       minutes
//   RS2 one that came back within the last day waits longer for its first look: six times as long
//       for each time
//   RS3 one that has come back three times within a day, and has left within that day again, is not
//       looked at any more until it is asked for
//   RS4 one that is refused, and may not be taken in as it is, is looked at all the same: who
//       attaches the right one need not say so
//   RS5 being asked for forgets all that was before, and so does another device in its place
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "io/clock.h"

namespace hexad::core {

// A device that has left, and could be taken in.
struct AwayDevice {
  DeviceId id = 0;
  Uuid uuid;
};

class ReturnSchedule {
 public:
  static constexpr io::Nanos kFirstWait = 5'000'000'000;
  static constexpr io::Nanos kLongestWait = 600'000'000'000;
  static constexpr io::Nanos kMoreForEachReturn = 6;
  static constexpr std::size_t kMostReturns = 3;
  static constexpr io::Nanos kWithin = 86'400'000'000'000;
  // For one that could not be looked at, since others had to be waited for.
  static constexpr io::Nanos kInAMoment = 1'000'000'000;

  // What is known of one that is away.
  struct Standing {
    bool stays_away = false;             // RS3
    io::Nanos next = 0;                  // when it is looked at, where it does not stay away
    std::optional<std::string> refused;  // why, at the last look
  };

  // These are away at `now`, and no others. One that was not before has left just now.
  void update(const std::vector<AwayDevice>& away, io::Nanos now);
  // When the first of those that are away is due; nothing: none of them is.
  std::optional<io::Nanos> next() const;
  // The one that has been due for longest; nothing: none is.
  std::optional<DeviceId> due(io::Nanos now) const;

  // What became of a look. Of devices that are not away: nothing.
  void note_not_there(DeviceId id, io::Nanos now);
  void note_refused(DeviceId id, const std::string& why, io::Nanos now);
  void put_off(DeviceId id, io::Nanos now);
  // It has been used again, if only for a moment: so it counts (RS3).
  void note_back(DeviceId id, io::Nanos now);

  // RS5. It is due after the first wait from now on, where it is away.
  void ask_for(DeviceId id, io::Nanos now);
  // Nothing: it is not away.
  std::optional<Standing> standing(DeviceId id) const;

 private:
  struct Known {
    Uuid uuid;
    bool away = false;
    bool stays_away = false;
    io::Nanos next = 0;
    io::Nanos wait = 0;  // that led to `next`
    std::optional<std::string> refused = {};
    std::vector<io::Nanos> returns = {};  // the last ones, the oldest first; at most kMostReturns
  };
  Known* away(DeviceId id);
  static void leave(Known& known, io::Nanos now);
  static void wait_longer(Known& known, io::Nanos now);

  std::map<DeviceId, Known> known_;
};

}  // namespace hexad::core
