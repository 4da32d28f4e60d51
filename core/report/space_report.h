// Where the bytes of a store are, and for how many more there is room.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/api/object_room.h"
#include "core/api/types.h"
#include "core/cache/open_readers.h"
#include "core/clean/cleaner.h"
#include "core/jobs/checkpointer.h"
#include "core/read/store_reader.h"
#include "core/record/shape.h"
#include "core/report/object_room.h"
#include "core/space/log_blobs.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "io/executor.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

class SpaceReport {
 public:
  // All outlive it.
  struct Parts {
    io::Executor& executor;
    const StoreShape& shape;
    const Members& members;
    Space& space;
    const LogBlobs& log_blobs;
    const Counters& counters;
    StoreReader& reads;
    OpenReaders& readers;
    kv::TieredIndex& index;
    Checkpointer& checkpointer;
    Cleaner* cleaner;  // null when the store is read-only
    bool has_runs;     // false: all of the store ends with it
  };
  explicit SpaceReport(const Parts& parts)
      : parts_(parts), user_unit_(parts.shape.unit * parts.shape.k()) {}

  // kBreakdown: one pass over all records, which costs time with the number of objects. All of it
  // is exact. `go_on`: asked now and then; false ends it with kClosed. Empty: nobody wants it to
  // end. Any thread.
  Result<SpaceUsage> usage(SpaceDetail detail, const std::function<bool()>& go_on = {});
  // SpaceUsage::available alone. Reads nothing. Any thread.
  std::uint64_t available();
  // For objects of that size. Any thread.
  Result<ObjectRoom> room_for(std::uint64_t object_size);
  // How much space readers of old versions hold, and who holds the most of it; empty: nothing. Any
  // thread.
  std::string describe_held();

 private:
  struct Count;
  // Space that readers of old versions hold. `waiting`: what is freed and held for nobody.
  struct HeldByReaders {
    std::vector<HeldByReader> readers;
    std::uint64_t held = 0;     // user bytes
    std::uint64_t waiting = 0;  // user bytes
  };

  // What is free, and what for: units of stripes.
  struct RoomNow {
    Space::Room room;
    std::uint64_t to_come = 0;  // of zones that can be made yet
    HeldByReaders held;

    std::uint64_t available(std::uint64_t user_unit) const;  // units
  };

  Status add_collections(SpaceUsage& usage);
  Status add_records(Count& count, const std::function<bool()>& go_on);
  // `allocated`: what they take counts. Else the allocator has counted it.
  enum class Packs : std::uint8_t { kAllocated, kDeadOnly };
  void add_packs(SpaceUsage& usage, Packs what);
  RoomNow room_now();
  void add_devices(SpaceUsage& usage);
  HeldByReaders held_by_readers();
  // `to_compact`: user bytes that compaction would bring back, where more of it is known than the
  // cleaner has been told.
  PoolRoom pool_room(std::uint64_t to_compact);

  const Parts parts_;
  const std::uint64_t user_unit_;  // bytes of users in one unit of a stripe
};

}  // namespace hexad::core
