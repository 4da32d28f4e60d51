// The values that go into a store and come out of it: limits, options, answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "compression/policy.h"
#include "core/api/object_room.h"

namespace hexad {

// The longest name of an object or a collection, in bytes; the shortest has one.
inline constexpr std::size_t kMaxNameSize = 1024;
// The largest size of an object, in bytes, holes included: 16 TiB - 1.
inline constexpr std::uint64_t kMaxObjectSize = (1ULL << 44) - 1;
// The most that the sizes of all objects of a collection may add up to, in bytes, holes included.
inline constexpr std::uint64_t kMaxCollectionBytes = 1ULL << 62;
// The most bytes that one call of Store returns in memory that it allocates itself, as Store::get()
// does. A sparse object may be larger than any memory.
inline constexpr std::uint64_t kMaxGetSize = 4ULL << 30;
// The most bytes that the names and values of all attributes of an object may have together.
inline constexpr std::size_t kMaxAttributeBytes = 64 << 10;
// The longest key of an omap, in bytes; the shortest has one.
inline constexpr std::size_t kMaxOmapKey = 1024;
// The largest value of an omap, in bytes; its header is one.
inline constexpr std::uint64_t kMaxOmapValue = 64ULL << 20;
// The name of the collection that every store is made with.
inline constexpr const char* kDefaultCollection = "default";

// Attributes of an object: names of 1 to 255 bytes, and values of any bytes.
using Attributes = std::map<std::string, std::string, std::less<>>;

// The name of the attribute that says what the bytes of an object are: its value is a media type
// such as "image/png". The store shows it in ObjectStat::content_type, and does not interpret it.
inline constexpr const char* kContentType = "content-type";

// What is known about the bytes of an object and how they will be used; a set of flags.
//
// Any set is valid, but the two flags about compression exclude each other, and so do the two about
// lifetime. Compression uses the first two (compression::Mode); the others are stored and shown,
// and change nothing yet. The values are on disk, and are never reused.
enum class Hint : std::uint16_t {
  kNone = 0,                  // nothing is known
  kCompressible = 1 << 0,     // compression is expected to make the bytes fewer
  kIncompressible = 1 << 1,   // compression is expected to be in vain: media, archives, ciphertext
  kSequentialRead = 1 << 2,   // will be read from start to end
  kRandomRead = 1 << 3,       // will be read in pieces at any offset
  kSequentialWrite = 1 << 4,  // will be written from start to end
  kRandomWrite = 1 << 5,      // will be overwritten in pieces at any offset
  kAppendOnly = 1 << 6,       // will only grow at the end
  kImmutable = 1 << 7,        // will not be changed
  kShortLived = 1 << 8,       // will be removed soon
  kLongLived = 1 << 9,        // will be kept long
};

// Returns the flags that are in one of the sets.
constexpr Hint operator|(Hint a, Hint b) {
  return static_cast<Hint>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
// Returns the flags that are in both sets.
constexpr Hint operator&(Hint a, Hint b) {
  return static_cast<Hint>(static_cast<std::uint16_t>(a) & static_cast<std::uint16_t>(b));
}
// Returns true if `hints` has all flags of `wanted`.
constexpr bool has_hint(Hint hints, Hint wanted) { return (hints & wanted) == wanted; }
// Returns true if all flags are known, and none exclude each other.
constexpr bool is_valid(Hint hints) {
  return static_cast<std::uint16_t>(hints) < (1 << 10) &&
         !has_hint(hints, Hint::kCompressible | Hint::kIncompressible) &&
         !has_hint(hints, Hint::kShortLived | Hint::kLongLived);
}

// What is known of an object without its bytes.
struct ObjectStat {
  std::uint64_t size = 0;     // bytes, holes included
  Lsn version = 0;            // the LSN of the last transaction that changed the object
  std::int64_t mtime = 0;     // when that was, in nanoseconds since 1970-01-01 00:00 UTC
  std::uint64_t stored = 0;   // bytes after compression, before erasure coding
  std::uint64_t extents = 0;  // how many extents the object has
  Hint hint = Hint::kNone;    // the hints of the object
  std::string content_type;   // the value of its attribute kContentType; empty: it has none
  // True if the object has been given an omap, which may have no keys any more.
  bool has_omap = false;
  // Where the data is stored:
  //
  // - "none": there is none
  // - "inline": in the metadata
  // - "log": in the log, until a checkpoint packs it
  // - "pack": in a stripe that several can share
  // - "stripe": in a stripe of its own
  // - "list": the object has several extents
  std::string placement;
};

// What a page of a listing of the names of a collection is to hold.
//
// Names are compared bytewise. None of the three texts may be longer than kMaxNameSize.
struct ListOptions {
  std::string prefix;  // list only names that begin with it
  // List only what stands behind this name in the order asked for; it need not exist. A common
  // prefix, as a page has them, stands for all names below it. Empty: list from the beginning.
  std::string start_after;
  // Roll up names that contain this text behind `prefix`: all names that are the same as far as the
  // end of its first occurrence become one entry, a common prefix. Empty: roll up nothing.
  std::string delimiter;
  // The most entries, names and common prefixes together; more than kMaxListPage counts as that. 0:
  // an empty page without `next`, if the collection exists.
  std::uint64_t limit = 1000;
  bool reverse = false;  // list in descending order
};

// The most entries of a page: a page shows one state of the store, which is not held for long.
inline constexpr std::uint64_t kMaxListPage = 100'000;

// One entry of a page of a listing.
struct ListEntry {
  // The name of the object, or the common prefix.
  //
  // It points into memory of the page that the entry came with, and is valid while that page, or
  // one copied or moved from it, exists. Make a std::string of it to keep it longer.
  std::string_view name;
  std::uint64_t size = 0;      // bytes of the object
  Lsn version = 0;             // of the object
  bool common_prefix = false;  // true: a common prefix, of which only `name` counts
};

// A page of a listing.
struct ListPage {
  std::vector<ListEntry> entries;  // in the order asked for
  // What to pass as ListOptions::start_after for the next page, which has an entry unless names are
  // removed meanwhile; nothing when this was the last page.
  std::optional<std::string> next;
  // The memory that the names are in. Copies of a page share it; it is never changed.
  std::shared_ptr<const void> text;
};

// The most that a collection may hold; 0 means no limit.
struct Quota {
  std::uint64_t objects = 0;  // how many objects
  std::uint64_t bytes = 0;    // the sizes of all objects together, holes included

  // Returns true if all fields are equal.
  bool operator==(const Quota&) const = default;
};

// A collection and what it holds.
struct CollectionInfo {
  std::string name;                      // bytes, not necessarily text
  std::uint32_t id = 0;                  // its number; never used again by another collection
  compression::Policy compression = {};  // how data that is written into it is compressed
  Quota quota = {};                      // the most that it may hold
  // How many objects it holds: exact, kept with every transaction, not counted when asked.
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  // the sizes of all objects together, holes included; exact, too
};

// What the objects of a collection take, counted by a walk over all of them.
struct CollectionUsage {
  std::uint64_t objects = 0;              // how many objects
  std::uint64_t bytes = 0;                // their sizes, as CollectionInfo::bytes
  std::uint64_t stored = 0;               // bytes after compression, before erasure coding
  std::uint64_t extents = 0;              // how many, those of omap values included
  std::uint64_t omap_entries = 0;         // keys of all omaps
  std::uint64_t compressed_original = 0;  // user bytes that are stored compressed
  std::uint64_t compressed = 0;           // those bytes after compression
};

// A range of the bytes of an object.
struct ByteRange {
  std::uint64_t offset = 0;  // bytes from the start of the object
  std::uint64_t length = 0;  // bytes

  // Returns true if both fields are equal.
  bool operator==(const ByteRange&) const = default;
};

// One of the ranges of Store::read_ranges(), and where its bytes go.
struct RangeInto {
  std::uint64_t offset = 0;  // bytes from the start of the object
  MutByteView into;          // as long as the range; ranges share no memory
  std::uint64_t read = 0;    // filled in: how many bytes there are, fewer at the end of the object
};

// A checksum of a range of an object.
struct RangeChecksum {
  std::uint64_t value = 0;   // a crc32c in the low 32 bits, or an xxh3-64 (base/checksum.h)
  std::uint64_t length = 0;  // bytes that it covers, fewer than asked for at the end of the object
  Lsn version = 0;           // the version of the object that was read
};

// How many data devices a store has, compared with what its profile wants, and whether something is
// lost all the same.
enum class Health : std::uint8_t {
  kOk,           // all
  kDegraded,     // fewer, and enough to read everything: at most m are away
  kUnavailable,  // too few: more than m are away
  // Enough, and yet bytes of objects could not be read (StoreStatus::damaged_blobs).
  kDamaged,
};

// Errors of a device over several openings.
struct DeviceErrors {
  // Since when they are counted, in nanoseconds since 1970-01-01 UTC: not before the opening that
  // was the first to remember something of the device, nor before others were forgotten. 0: there
  // are none.
  std::int64_t since = 0;
  std::uint64_t read_errors = 0;      // as in DeviceStatus, all five of them
  std::uint64_t write_errors = 0;     // likewise
  std::uint64_t flush_errors = 0;     // likewise
  std::uint64_t checksum_errors = 0;  // likewise
  std::uint64_t timeouts = 0;         // likewise

  // Returns true if there are any of any kind.
  bool any() const {
    return read_errors > 0 || write_errors > 0 || flush_errors > 0 || checksum_errors > 0 ||
           timeouts > 0;
  }
};

// A device was given what it lacked, and lacked nothing any more.
struct DeviceCompletion {
  // "catch-up" (it had been away), "rebuild" (a new device in the place of one that was lost),
  // "replace" (a new device in the place of one that answered, and was copied). Empty: none yet.
  std::string kind;
  Epoch epoch = 0;                 // when it was complete
  Lsn lsn = 0;                     // it lacked nothing of what was stored up to this one
  std::uint64_t cells = 0;         // cells that were rebuilt on it, of one stripe each
  std::uint64_t bytes = 0;         // bytes of those
  std::uint64_t bytes_copied = 0;  // bytes copied from the device that it replaces
  std::int64_t began = 0;          // nanoseconds since 1970-01-01 UTC
  std::int64_t ended = 0;          // likewise; what lies between was not all work
};

// A device of a store, or a device that was named and is not used.
struct DeviceStatus {
  DeviceId id = 0;   // its index in the device table of the store
  std::string path;  // where it was found; empty if it was not
  std::string role;  // "data" or "log"; empty if it is not a device of this store
  // Whether it is used:
  //
  // - "ok": it is
  // - "missing": it is not there
  // - "behind": it has come back, is used, and still lacks `missing_bytes` of what was written
  //   while it was away
  // - "filling": it is used, and still lacks `missing_bytes` of what another device held that was
  //   lost and is drained: they are being built again here
  // - "draining": it is used, and what lies on it is moved to other devices (Store::drain_device())
  // - "away": it is there, and has left the store; an opening for writing takes it in again, or
  //   Store::bring_back_device()
  // - "stale": it is there, and has lost what had been written to it
  // - "failed": it has failed since this opening; taken in again likewise
  // - "damaged": its label is damaged, and still says which device it is
  // - "unreadable": it cannot be opened, or has no readable label
  // - "foreign": it belongs to another store, or is no member of this one
  // - "duplicate": another device has the same identity, as a copy has
  std::string state;
  // It is to go (Store::drain_device()): also of one that is not in use, which has another state.
  bool draining = false;
  // The failure domain of a data device: what fails with it. Empty: the store has none.
  std::string failure_domain;
  std::string detail;               // why it is not ok, and what to do; may be empty
  std::uint64_t missing_bytes = 0;  // bytes of cells that it lacks, while it is behind or filling
  // Of its six header slots, a label and two roots at either end, how many were damaged or out of
  // date when they were looked at last, by the opening, fsck or a scrub, and are so still.
  std::uint32_t bad_header_slots = 0;
  std::uint64_t size = 0;            // bytes
  std::uint32_t slabs = 0;           // parts of it that zones are made of; data devices
  std::uint32_t slabs_used = 0;      // of those, the ones that belong to a zone
  std::uint32_t physical_block = 0;  // bytes that the device writes at once
  bool direct = false;               // true if it is used with O_DIRECT
  bool holds_log = false;            // true if it has a copy of the log
  // How a completed write becomes durable: "write" (nothing more is needed), "own flush", or
  // "shared flush" (one for all devices of the flush domain). Empty if the device is not used.
  std::string durability;
  // The number of its flush domain: devices with the same number have one volatile cache, and count
  // as one failure domain. -1: it has no such cache.
  std::int64_t flush_domain = -1;
  std::uint64_t bytes_read = 0;     // since this opening, as all numbers below
  std::uint64_t bytes_written = 0;  // for whatever purpose
  // The bytes written, by purpose: "user", "parity", "log", "super", "zero", "run", "merge",
  // "clean", "heal", "other".
  std::map<std::string, std::uint64_t> written_for;
  std::uint64_t reads = 0;                          // read requests
  std::uint64_t writes = 0;                         // write requests
  std::map<std::string, std::uint64_t> writes_for;  // write requests, by the same purposes
  std::uint64_t flushes = 0;  // flush requests, and writes that are durable by themselves
  // What has gone wrong with it since this opening, whatever became of it: most of it is made good
  // by the other devices. What is not the device's fault (no memory, no space) is not counted.
  std::uint64_t read_errors = 0;   // reads that failed
  std::uint64_t write_errors = 0;  // writes that failed
  // Flushes that failed, and of `write_errors` those that were to be durable by themselves.
  std::uint64_t flush_errors = 0;
  // Reads that gave other bytes than were written; twice where they were read again to be sure.
  std::uint64_t checksum_errors = 0;
  // Reads and repairs that had no answer in time, mostly within 5 s, and were gone round.
  std::uint64_t timeouts = 0;
  // The same, this opening and those before it, since the device was put in or the errors were
  // forgotten (Store::clear_device_errors()). What was counted since the last checkpoint is lost in
  // a crash, and what was counted while it was open for reading only is not kept.
  DeviceErrors errors_total;
  DeviceCompletion last_completion;  // of it, the last one

  // Returns true if it has had an error of any kind since this opening.
  bool has_had_errors() const {
    return read_errors > 0 || write_errors > 0 || flush_errors > 0 || checksum_errors > 0 ||
           timeouts > 0;
  }
};

// One kind of background work of an open store.
struct JobStatus {
  std::string name;         // such as "checkpoint"
  std::string purpose;      // what it does, in words
  bool running = false;     // true while a step of it runs
  double seconds = 0;       // how long that step has been running
  std::uint64_t steps = 0;  // steps that did something, since the store was opened
  std::uint64_t done = 0;   // how much of its present work is done, in `unit`
  std::uint64_t total = 0;  // how much that is in all; 0: there is none, or it cannot say
  std::string unit;         // of `done` and `total`, such as "bytes"
  std::string problem;      // why the last step failed; empty: it did not
};

// One of the layers in which reads look, one after the other, and what it has answered since this
// opening. All layers of a store are in StoreStatus::layers.
struct LayerStatus {
  // Which one. What reads need of the metadata, the quickest first:
  //
  // - "records": records of objects that were read, in memory
  // - "memtable": what was committed since the last checkpoint, in memory
  // - "index": all metadata, on the fast tier
  // - "run blocks": pieces of runs in memory: filters, blocks of their indexes and of data
  // - "fast blocks": pieces of runs on the fast device, in place of an index that does not fit
  // - "runs": pieces of runs, on the data devices
  //
  // And what they need of user bytes:
  //
  // - "data blocks": user bytes that were read, in memory
  // - "data": user bytes on the data devices
  std::string name;
  bool in_use = true;  // false: it is asked for nothing now, and what is counted is from before
  std::uint64_t bytes = 0;  // that it holds now; of devices: user bytes that are allocated
  std::uint64_t room = 0;   // the most that it may hold, bytes; 0: nothing but its neighbours' room
  // What was looked for here and found, or found not to be there: keys, pieces, or reads of user
  // bytes.
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;    // what the next layer was asked for instead
  std::uint64_t timed = 0;     // so many answers were timed: one of many where it is memory
  std::uint64_t timed_ns = 0;  // how long these took in all, nanoseconds
};

// How long the free space lasts if it goes on as it went lately.
struct FillForecast {
  std::uint64_t available = 0;  // user bytes that fit now (SpaceUsage::available)
  double observed_seconds = 0;  // so far back the rate was measured: at most an hour
  double bytes_per_hour = 0;    // that `available` has become less by; negative: it has become more
  // Hours until nothing is available at that rate. Nothing: there is no such time, or it is not
  // known; `note` says which.
  std::optional<double> hours_to_full = std::nullopt;
  std::string note;  // a clause for people
};

// The state of a store and of its devices.
struct StoreStatus {
  Uuid uuid;                           // of the store, drawn when it was made
  Health health = Health::kOk;         // whether enough data devices are there
  std::uint32_t faults_tolerated = 0;  // how many more data devices may be lost without losing data
  std::uint32_t parity_cells = 0;      // m of the profile
  // At most so many cells of a stripe are on the devices of one failure domain
  // (DeviceStatus::failure_domain); 0: the store was made without failure domains. At most
  // parity_cells, so that a store that is whole loses nothing with a whole domain.
  std::uint32_t domain_cells = 0;
  // The devices are said to be redundant themselves, each of them. A profile without parity relies
  // on that, and each data device is needed.
  bool redundant_devices = false;
  // Stored pieces of objects of which bytes could not be read, and that nobody has acknowledged.
  // Store::damage() says whose they are, and looks whether they still are lost.
  std::uint64_t damaged_blobs = 0;
  Epoch epoch = 0;             // of this opening, or of the last change of its devices
  Lsn last_lsn = 0;            // the last durable transaction
  Lsn checkpoint_lsn = 0;      // the last transaction that the index has
  std::uint64_t log_used = 0;  // bytes of one copy of the log that are in use
  std::uint64_t log_size = 0;  // bytes of one copy of the log
  std::string io_queue;        // how I/O is done: "io_uring", "threads", ...
  // True for Store::in_memory(): devices and index are memory of this process, and nothing outlives
  // the store.
  bool memory_only = false;
  bool read_only = false;             // true if nothing can be committed
  std::string read_only_reason;       // empty unless the store turned read-only by itself
  std::vector<DeviceStatus> devices;  // the devices of the store, then those that are not used
  std::vector<std::string> notes;     // what recovery did, fallbacks in use
  // What needs attention, one sentence each: devices that this opening has left behind, and devices
  // that keep the store waiting now.
  std::vector<std::string> warnings;
  std::vector<JobStatus> jobs;  // background work; empty unless the store is open for writing
  // Where look-ups of metadata go that memory does not answer:
  //
  // - "index": to the index on the fast tier, which has all of it
  // - "fast blocks": to the runs, of which the fast device keeps what is asked for again: the index
  //   does not fit
  // - "runs": to the runs, on the data devices
  //
  // Empty: the store is not open.
  std::string metadata_on;
  std::vector<LayerStatus> layers;  // empty: the store is not open
  FillForecast fill;                // of a store that is open
};

// Space of one data device.
struct DeviceSpace {
  DeviceId id = 0;             // as DeviceStatus::id
  std::string path;            // as DeviceStatus::path
  std::uint64_t capacity = 0;  // bytes in slabs
  std::uint64_t used = 0;      // bytes allocated
};

// Free space by the length of its runs: where a run of many units is, data of that size lies in one
// piece.
struct FreeRuns {
  std::uint64_t from = 0;   // user bytes of the shortest run of this kind; the next kind's is twice
  std::uint64_t runs = 0;   // how many there are
  std::uint64_t bytes = 0;  // user bytes in them
};

// An open reader of an old version, for which space is held that was freed since it came.
struct HeldByReader {
  std::string collection;   // of the object that it reads
  std::string name;         // ... as it was called then
  std::int64_t opened = 0;  // nanoseconds since 1970-01-01 UTC
  std::uint64_t held = 0;   // user bytes; what several readers need counts for one of them
};

// How much of SpaceUsage is to be found out.
enum class SpaceDetail : std::uint8_t {
  kTotals,     // what the store keeps count of; the rest is 0
  kBreakdown,  // all of it, by a walk over all objects
};

// The space of a store, in bytes.
struct SpaceUsage {
  // What a walk over all objects has counted is there: SpaceDetail::kBreakdown.
  bool broken_down = false;
  std::uint64_t capacity = 0;   // user bytes that would fit into the empty store: data units x k
  std::uint64_t available = 0;  // user bytes that fit now
  // Kept free for checkpoints, so that a full store accepts deletes; not in `available`.
  std::uint64_t internally_reserved = 0;
  std::uint64_t used = 0;  // bytes allocated on all data devices, parity included
  // The sizes of all objects together, holes included: each clone counts. What compression makes of
  // them is `stored` of ObjectStat and of CollectionUsage.
  std::uint64_t user_bytes = 0;
  // The values of all omaps; an omap that clones share counts once. Only where `broken_down`.
  std::uint64_t omap_bytes = 0;
  std::uint64_t allocated = 0;  // data units x k of live objects; what clones share counts once
  // These three only where `broken_down`.
  std::uint64_t compressed_original = 0;   // user bytes that are stored compressed
  std::uint64_t compressed = 0;            // those bytes after compression
  std::uint64_t compressed_allocated = 0;  // of `allocated`, the part of those bytes
  std::uint64_t metadata = 0;              // the index on the fast tier
  std::uint64_t internal_metadata = 0;     // the metadata on data devices: data units x k
  std::uint64_t objects = 0;               // how many objects there are; not bytes
  // Of `allocated`, what shows nobody anything: bytes of objects that have been removed or
  // overwritten beside others that live, padding, footers. A stripe comes back when nothing in it
  // is alive. Of stripes that one object has for itself only where `broken_down`.
  std::uint64_t dead = 0;
  // Of `dead`, what comes back, about, when a commit finds no space: what lives beside it is moved,
  // and what is shown of blobs that were overwritten in part is written again, as long as there is
  // room to move it to.
  std::uint64_t reclaimable = 0;
  // As Store::room_for(), but for objects of the sizes that there are, in the same proportions.
  // Nothing: there are none with any bytes, or it is not `broken_down`.
  std::optional<std::uint64_t> usable_for_mix = std::nullopt;
  std::optional<std::uint64_t> available_for_mix = std::nullopt;
  // Of objects of 1 KiB, 2 KiB, ... 1 MiB, and a byte more than these, those that the empty store
  // holds the fewest bytes of. Smaller ones take more for each byte: what a name takes, too.
  ObjectRoom least;
  // Of `allocated`, what is set aside for small objects on their way, or in the log.
  std::uint64_t promised = 0;
  // Freed, in `available`, and free once the next blocks of the log are written.
  std::uint64_t waiting = 0;
  // Freed, but not in `available` yet: readers of old versions look at it.
  std::uint64_t held_by_readers = 0;
  std::vector<HeldByReader> readers;  // that it is held for, the one that was opened first first
  std::vector<FreeRuns>
      free_runs;  // of the zones that there are, the shortest first; no empty kind
  // 0: the free space of every zone is in one piece; 1: no two free units touch.
  double fragmentation = 0;
  // Mean length of the stripes of user data that were written over the life of the store, by that
  // which they would have had, had there always been a free run of that length; 1: there was.
  double granted_of_wanted = 1;
  std::vector<DeviceSpace> per_device;  // of the data devices
};

// An entry of the omap of an object.
struct OmapEntry {
  std::string key;         // 1 to kMaxOmapKey bytes
  std::uint64_t size = 0;  // bytes of the value
  Bytes value;             // empty unless OmapOptions::values

  // Returns true if all fields are equal.
  bool operator==(const OmapEntry&) const = default;
};

// What a page of an omap is to hold: entries by key, behind `start_after` and before `end`.
struct OmapOptions {
  std::string start_after;     // list only keys behind it; empty: from the first
  std::string end;             // list only keys before it; empty: to the last
  std::uint64_t limit = 1000;  // the most entries; more than kMaxListPage counts as that
  bool values = true;          // false: keys and sizes alone
};

// A page of an omap.
struct OmapPage {
  std::vector<OmapEntry> entries;  // in bytewise order of their keys
  std::string next;  // OmapOptions::start_after of the next page; empty: this was the last
};

// A counter of a store; doc/counters.md has their names and meanings.
struct Counter {
  std::string name;              // lower case, with underscores
  std::uint64_t total = 0;       // over the life of the store, saved by checkpoints
  std::uint64_t since_open = 0;  // since this opening
};

// One thing that a check has found.
struct Finding {
  std::string subject;    // what it is about, such as "object default/a" or "device 2"
  std::string problem;    // what is wrong with it
  bool repaired = false;  // true if it is right again
};

// Returns how many of the findings have not been repaired.
inline std::uint64_t unrepaired(const std::vector<Finding>& findings) {
  return static_cast<std::uint64_t>(std::count_if(
      findings.begin(), findings.end(), [](const Finding& finding) { return !finding.repaired; }));
}

// What Store::fsck() has found.
struct FsckReport {
  std::vector<Finding> findings;      // empty if everything is right
  std::uint64_t objects_checked = 0;  // how many objects
  std::uint64_t stripes_checked = 0;  // how many stripes
  std::uint64_t bytes_checked = 0;    // compared with their checksums; 0 unless FsckOptions::deep
  // Of all devices' labels and roots, how many copies are damaged or out of date; each of them is a
  // finding, and those that were repaired count.
  std::uint64_t bad_header_slots = 0;
  // Deep, of a store that is open for reading: cells of the last commits that are not whole, as a
  // crash leaves them. No findings: the other cells make up for them, and the next opening for
  // writing writes them again, but for a snapshot, in which they stay so.
  std::uint64_t torn_cells = 0;
  bool complete = true;  // false: FsckOptions::progress ended it before it was through
  // Returns how many findings have not been repaired.
  std::uint64_t errors() const { return unrepaired(findings); }
};

// What Store::fsck() is to do.
struct FsckOptions {
  bool deep = false;    // true: also verify every checksum, and encode parity again
  bool repair = false;  // true: also repair what can be; needs a store that is open for writing
  // Is called with what has been looked at so far, at the beginning, behind every key of the
  // metadata and every stripe that objects share, and between others of its steps, on the thread
  // that called Store::fsck(). When it returns false, fsck ends there, with what it has found. It
  // may not use the store.
  std::function<bool(const FsckReport&)> progress = {};
};

// What a scrub has done so far.
struct ScrubReport {
  std::vector<Finding> findings;       // cells on devices that are away are none
  std::uint64_t stripes_checked = 0;   // how many stripes
  std::uint64_t bytes_checked = 0;     // read from devices and compared with their checksums
  std::uint64_t bytes_expected = 0;    // about, of a whole pass: what was in use when it began
  std::uint64_t bad_header_slots = 0;  // as in FsckReport; looked at when a pass ends
  std::string next;  // where to go on, for ScrubOptions::from; empty: the pass is complete
  // Returns how many findings have not been repaired.
  std::uint64_t errors() const { return unrepaired(findings); }
};

// How Store::scrub() is to run.
struct ScrubOptions {
  // The most bytes that are read per second, on average; 0: as fast as the devices give them.
  std::uint64_t rate = 0;
  // Where to begin: ScrubReport::next of a scrub that was stopped; empty: at the beginning.
  std::string from = {};
  // Is called with what has been done so far; returns false to stop the scrub.
  //
  // It is called behind every few MiB, and ten times a second while the scrub waits for its rate,
  // on the thread that called Store::scrub().
  std::function<bool(const ScrubReport&)> progress = {};
};

// What Store::catch_up() has done so far.
struct CatchUpReport {
  std::uint64_t bytes_missing = 0;  // of cells that devices still lack
  std::uint64_t bytes_total = 0;    // of those that they lacked when it began
  std::vector<Finding> findings;    // what could not be given back, and why
};

// How Store::catch_up() is to run.
struct CatchUpOptions {
  // The most bytes that are read per second, on average; 0: as fast as the devices give them.
  std::uint64_t rate = 0;
  // Is called with what has been done so far, behind every few MiB; returns false to stop.
  std::function<bool(const CatchUpReport&)> progress = {};
};

// What Store::move_slabs() has done so far.
struct MoveReport {
  std::uint64_t slabs_moved = 0;  // each of one zone, from one device to another
  std::uint64_t slabs_left = 0;   // that are to be moved still
  std::uint64_t bytes_moved = 0;  // bytes of cells that were copied
  std::string problem;            // why there are any left; empty: none are, or it was stopped
};

// How Store::move_slabs() is to run.
struct MoveOptions {
  // The most bytes that are copied per second, on average; 0: as fast as the devices give them.
  std::uint64_t rate = 0;
  // Is called with what has been done so far, behind every few MiB; returns false to stop. What it
  // calls of the store itself must not write: a commit that finds no space waits for this very
  // move.
  std::function<bool(const MoveReport&)> progress = {};
};

}  // namespace hexad
