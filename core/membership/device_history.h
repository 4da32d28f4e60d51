// What is remembered of the devices of an open store: errors, those before this opening among them,
// and how what they lacked was given to them. It changes in memory, and checkpoints write what has
// changed, so that a store that does nothing writes nothing.
//
// Why no record says more than is true (doc/invariants.md#coming-back, BK9): that a device has all
// that it lacked is in the run of the checkpoint whose root says so, and of no earlier one. A crash
// before that root leaves neither, after it both.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/api/types.h"
#include "core/record/device_record.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "io/clock.h"
#include "io/executor.h"

namespace hexad::core {

class DeviceHistory {
 public:
  // All outlive it. `records`: as the metadata has them; those of devices that others have replaced
  // do not count. `copied`: bytes that the device which this opening puts in the place of another
  // one had from that; nothing: there is none that answered.
  DeviceHistory(const Members& members, Space& space, io::Executor& executor,
                std::map<DeviceId, DeviceRecord> records, std::optional<std::uint64_t> copied);

  // For a checkpoint at `lsn`, by their keys, those that are not as the last checkpoint wrote them.
  // `whole`: devices that its root says are not behind any more. One checkpoint at a time.
  std::map<std::string, std::string> changes(const std::set<DeviceId>& whole, Lsn lsn, Epoch epoch);
  // A root names what changes() gave last.
  void written();
  // changes() would give something, though nothing else has changed. Any thread.
  bool has_changed();
  // A device that the store has not had is about to be one of its members.
  void note_added(DeviceId device, const Uuid& uuid);
  // A device is about to be taken in by the store that is open: what it is given from now on is a
  // fill of its own, unless it was amid one when it left.
  void note_return(DeviceId device);
  // What is known of the device that has the number, to begin with.
  struct Past {
    DeviceRecord base;
    DeviceErrorCounts forgotten = {};  // of this opening
  };
  // Another device is about to have the number, of which nothing is known but `past`; returns what
  // is known of the former one.
  Past change_places(DeviceId device, const Past& past);
  // Of a device that the store has not had.
  Past new_past(const Uuid& uuid) const;
  // Errors are counted from now on. `devices` empty: of all. Any thread.
  void clear_errors(const std::set<DeviceId>& devices);
  // Fills in what it knows. Any thread.
  void describe(StoreStatus& status);

 private:
  // What the other parts of the store say of a member just now.
  struct Now {
    const Member* member = nullptr;
    DeviceErrorCounts errors = {};  // since this opening
    bool behind = false;
    bool filling = false;
    bool usable = false;
    Space::Filled filled;
  };
  std::vector<Now> look() const;
  DeviceRecord record_of(const Now& now, const std::set<DeviceId>& whole, Lsn lsn, Epoch epoch,
                         std::int64_t time) const HEXAD_REQUIRES(mutex_);
  static bool is_worth_it(const DeviceRecord& record);

  const Members& members_;
  Space& space_;
  const io::Clock& clock_;
  const std::int64_t opened_;
  io::Mutex mutex_;  // a leaf
  // Of devices that the opening has put in the place of others that answered.
  std::map<DeviceId, std::uint64_t> copied_ HEXAD_GUARDED_BY(mutex_);
  // As of the opening, but for what clear_errors() has changed.
  std::map<DeviceId, DeviceRecord> base_ HEXAD_GUARDED_BY(mutex_);
  std::map<DeviceId, DeviceErrorCounts> forgotten_ HEXAD_GUARDED_BY(mutex_);  // of this opening
  // Of devices that have come back since the opening: when, and what they had been given before.
  struct Return {
    std::int64_t time = 0;
    Space::Filled before;
  };
  std::map<DeviceId, Return> returns_ HEXAD_GUARDED_BY(mutex_);
  // As the last checkpoint left it.
  std::map<DeviceId, DeviceRecord> written_ HEXAD_GUARDED_BY(mutex_);
  // By a checkpoint that is not through.
  std::map<DeviceId, DeviceRecord> pending_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
