// The blobs of an open store of which bytes could not be read: what the metadata has of them, and
// what has been found since and is to be written there.
//
//   DN1  a read that fails leaves a note here and goes on: no device, no wait, no memory under the
//        lock
//   DN2  it has at most kMostDamage entries; of what is found beyond that only the number is kept
//   DN3  an entry that has changed while it was written is written again
//
// A hint: an entry that a crash takes away comes back when somebody reads the blob. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "alloc/zone.h"
#include "core/record/damage_record.h"
#include "io/executor.h"

namespace hexad::core {

inline constexpr std::size_t kMostDamage = 1000;

class DamageList {
 public:
  explicit DamageList(io::Executor& executor) : mutex_(executor) {}

  using Entry = std::pair<DamagedBlob, DamageRecord>;

  // From the metadata, before other threads; beyond kMostDamage nothing.
  void load(const DamagedBlob& blob, DamageRecord record);
  // True: it is news, and is to be written.
  bool note(const DamagedBlob& blob, DamageRecord record);
  // By place.
  std::vector<Entry> entries() const;
  // These are no more damage: their records go. True: something is to be written.
  bool drop(std::span<const DamagedBlob> gone);
  // Health does not count them any more. True: something is to be written.
  bool acknowledge(std::span<const DamagedBlob> blobs);

  // What the metadata should have and has not: the record, or nothing where it should have none.
  struct Change {
    DamagedBlob blob;
    std::optional<DamageRecord> record;
    std::uint64_t edition = 0;
  };
  // At most so many. Empty: all is written.
  std::vector<Change> changes(std::size_t most) const;
  void note_written(std::span<const Change> changes);

  struct Count {
    std::uint64_t open = 0;       // not acknowledged
    std::uint64_t unwritten = 0;  // changes
    std::uint64_t dropped = 0;    // found since the opening and not kept (DN2)
  };
  Count count() const;
  bool empty() const;

  // Pack stripes that a scrub could not judge or put right: the blobs in them are to be read one by
  // one. Of the present pass; beyond a bound they are passed by.
  void suspect(const alloc::Extent& stripe);
  bool is_suspect(const alloc::Extent& stripe) const;
  void clear_suspects();

 private:
  struct Kept {
    DamageRecord record;
    std::uint64_t edition = 0;
    bool written = false;  // the metadata has this record; of one that is gone: it has none
    bool gone = false;
  };

  mutable io::Mutex mutex_;  // a leaf
  std::map<DamagedBlob, Kept> kept_ HEXAD_GUARDED_BY(mutex_);
  std::set<std::pair<alloc::ZoneId, std::uint32_t>> suspects_ HEXAD_GUARDED_BY(mutex_);
  std::uint64_t editions_ HEXAD_GUARDED_BY(mutex_) = 0;
  std::uint64_t dropped_ HEXAD_GUARDED_BY(mutex_) = 0;
};

}  // namespace hexad::core
