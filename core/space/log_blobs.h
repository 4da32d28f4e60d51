// The unplaced blobs: what the groups since the last checkpoint have decided about blobs whose
// records name only a transaction (Placement::kLog). Each is either still a payload, in the log and
// in memory, or has a place in a stripe. The next checkpoint gives every payload a place and writes
// records that name stripes into the index; then the entries here are forgotten.
//
// Invariants
//   YB1 the blob is found from the moment its transaction has its LSN until the checkpoint that
//       covers it has been applied and nobody reads a state from before that; so whoever sees a
//       record with the blob, and may see it, finds it
//   YB2 a place, once known, stays; the bytes in memory go away with that
//   YB3 payload_bytes() and packing_bytes() are sums over payloads that are neither placed nor dead
//   YB4 whoever plans a transaction reads states, too, newer than the visible one: it holds a pin
//       from before it reads until its releases are noted here, so that a checkpoint which ends
//       meanwhile forgets nothing that a record it has read still names
//   YB5 a record that is made of several lists looks at all of them as of one moment: groups are
//       sealed meanwhile, and a blob that two of them show must not have two names in one list
//
// Any thread. A leaf: no other lock is taken under its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "core/api/shared_bytes.h"
#include "core/record/log_record.h"
#include "core/space/promised_units.h"
#include "io/executor.h"

namespace hexad::core {

// An unplaced blob's stored bytes and what its stripe's footer says about it.
struct UnplacedBlob {
  LogPlace place;
  SharedBytes stored;
  std::string owner;         // the object's key
  std::uint64_t offset = 0;  // in the object, bytes
  std::uint32_t units = 0;   // of a stripe of its own: what it was promised
  alloc::Extent where;       // not empty: units that are its own already
};

class LogBlobs {
 public:
  LogBlobs(io::Executor& executor, const RecordShape& shape) : shape_(shape), mutex_(executor) {}

  // A transaction has its LSN: until the group has decided, its blobs are read from memory.
  void expect(const std::vector<UnplacedBlob>& blobs);
  // The blob rides in the log. True: it is dead already, and whoever reserved space for it gives
  // that back.
  bool add_payload(UnplacedBlob blob);
  // Blobs that get their places. Returns what they were promised while they were payloads, unless
  // that has been taken.
  PromisedUnits set_places(const std::vector<UnplacedPlace>& places);
  // A transaction has its LSN that gives the blob up. Returns what it was promised, nothing when it
  // has a place, is not known yet, or that has been taken.
  PromisedUnits release(const LogPlace& place);

  struct Found {
    std::optional<UnplacedPlace> place;
    SharedBytes stored;  // when there is no place
    bool dead = false;   // somebody has given it up
  };
  // Nothing: no transaction with it has an LSN.
  std::optional<Found> find(const LogPlace& place) const;
  // Counts what becomes known of places.
  using Moment = std::uint64_t;
  static constexpr Moment kNow = ~Moment{0};
  Moment moment() const;
  // The blob with its place in it when that is known (and as long as the blob), else as it is.
  // With `as_of`: when it was known then.
  Blob resolve(Blob blob, Moment as_of = kNow) const;
  ExtentList resolve(ExtentList extents, Moment as_of = kNow) const;
  void resolve_all(ExtentList& extents, Moment as_of = kNow) const;

  // Payloads without a place, the oldest first: until `bytes` of them, or until what a record says
  // of their places may be longer than `record_bytes`; always one when there is any. Units that are
  // reserved for them go along, in UnplacedBlob::units, whatever becomes of the blobs meanwhile.
  std::vector<UnplacedBlob> take_payloads(std::uint64_t bytes, std::uint64_t record_bytes);
  // They stay payloads after all, and the units are theirs again. Returns what those were promised
  // that have been given up meanwhile.
  PromisedUnits return_payloads(const std::vector<UnplacedBlob>& taken);
  std::uint64_t payload_bytes() const;
  // The blobs that have no place, ascending; dead ones included.
  std::vector<LogPlace> payloads() const;
  // What records that give all of them a place take at most.
  std::uint64_t packing_bytes() const;

  // Records up to `covered` are in the index with their places, so that no payload of theirs is
  // left; whoever may still read those records from memory has a pin at or below `newest_reader`.
  void retire(Lsn covered, Lsn newest_reader);
  // No pin lies below `limit`.
  void forget(Lsn limit);

 private:
  // All that a UnplacedPlace says of a blob in a pack stripe; thousands of them are kept.
  struct PackedAt {
    alloc::ZoneId zone = 0;
    std::uint32_t unit = 0;
    std::uint32_t cell = 0;
    std::uint32_t cell_offset = 0;
    std::uint32_t stored = 0;
  };
  // One blob, from its LSN on.
  struct Entry {
    std::uint32_t index = 0;  // in its transaction
    bool dead = false;
    // Bytes of which its group has not decided yet, and none where only its release is known; then
    // the payload in the log, or the place in a stripe that is shared or its own.
    std::variant<SharedBytes, std::unique_ptr<UnplacedBlob>, PackedAt,
                 std::unique_ptr<UnplacedPlace>>
        state;
    Moment placed = 0;  // since when it has one

    bool has_place() const { return state.index() >= 2; }
    UnplacedBlob* payload();
  };
  using Entries = std::vector<Entry>;  // of one transaction, by index

  struct Retirement {
    Lsn covered = 0;
    Lsn newest_reader = 0;
  };

  // In or out of the sums of YB3.
  void count(const UnplacedBlob& blob, int sign) HEXAD_REQUIRES(mutex_);
  // Null: nothing is known of it.
  const Entry* find_entry(const LogPlace& place) const HEXAD_REQUIRES(mutex_);
  static Entry& entry_in(Entries& entries, std::uint32_t index);
  static std::optional<UnplacedPlace> place_of(const LogPlace& place, const Entry& entry);
  void resolve_one(Blob& blob, Moment as_of) const HEXAD_REQUIRES(mutex_);

  const RecordShape& shape_;
  mutable io::Mutex mutex_;
  std::map<Lsn, Entries> transactions_ HEXAD_GUARDED_BY(mutex_);
  std::vector<Retirement> retirements_ HEXAD_GUARDED_BY(mutex_);
  Moment moment_ HEXAD_GUARDED_BY(mutex_) = 0;
  std::uint64_t payload_bytes_ HEXAD_GUARDED_BY(mutex_) = 0;
  std::uint64_t packing_bytes_ HEXAD_GUARDED_BY(mutex_) = 0;
};

// An unplaced blob's record when its place is known.
Blob placed_blob(const Blob& unplaced, const UnplacedPlace& place);

}  // namespace hexad::core
