// The values that go in and out of a store.
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

namespace hexad {

inline constexpr std::size_t kMaxNameSize = 1024;  // bytes, of an object or collection
inline constexpr std::uint64_t kMaxObjectSize = (1ULL << 44) - 1;  // bytes
// The sizes of all objects of a collection together, holes included.
inline constexpr std::uint64_t kMaxCollectionBytes = 1ULL << 62;
// What Store::get() returns at once; a sparse object may be larger than any memory.
inline constexpr std::uint64_t kMaxGetSize = 4ULL << 30;     // bytes
inline constexpr std::size_t kMaxAttributeBytes = 64 << 10;  // of one object, names and values
inline constexpr std::size_t kMaxOmapKey = 1024;             // bytes
inline constexpr std::uint64_t kMaxOmapValue = 64ULL << 20;  // bytes
inline constexpr const char* kDefaultCollection = "default";

using Attributes = std::map<std::string, std::string, std::less<>>;

// The attribute that says what an object's bytes are, like "image/png". The store shows it with
// ObjectStat and makes nothing else of it.
inline constexpr const char* kContentType = "content-type";

// What is known about an object's bytes and how they will be used. Any set of flags, but the two
// about compression exclude each other, and so do the two about lifetime. Compression heeds the
// first two (compression/policy.h, Mode); the others are kept and shown, and change nothing yet.
// Values are on disk; never reused.
enum class Hint : std::uint16_t {
  kNone = 0,
  kCompressible = 1 << 0,
  kIncompressible = 1 << 1,
  kSequentialRead = 1 << 2,
  kRandomRead = 1 << 3,
  kSequentialWrite = 1 << 4,
  kRandomWrite = 1 << 5,
  kAppendOnly = 1 << 6,
  kImmutable = 1 << 7,
  kShortLived = 1 << 8,
  kLongLived = 1 << 9,
};

constexpr Hint operator|(Hint a, Hint b) {
  return static_cast<Hint>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
constexpr Hint operator&(Hint a, Hint b) {
  return static_cast<Hint>(static_cast<std::uint16_t>(a) & static_cast<std::uint16_t>(b));
}
// Whether `hints` has all flags of `wanted`.
constexpr bool has_hint(Hint hints, Hint wanted) { return (hints & wanted) == wanted; }
// Known flags only, and none that exclude each other.
constexpr bool is_valid(Hint hints) {
  return static_cast<std::uint16_t>(hints) < (1 << 10) &&
         !has_hint(hints, Hint::kCompressible | Hint::kIncompressible) &&
         !has_hint(hints, Hint::kShortLived | Hint::kLongLived);
}

struct ObjectStat {
  std::uint64_t size = 0;     // bytes
  Lsn version = 0;            // of the last change by a user
  std::int64_t mtime = 0;     // nanoseconds since 1970
  std::uint64_t stored = 0;   // bytes after compression, before coding
  std::uint64_t extents = 0;  // how many
  Hint hint = Hint::kNone;
  std::string content_type;  // its attribute kContentType; empty: it has none
  bool has_omap = false;     // it may have no keys any more
  std::string placement;     // "none", "inline", "log" (to be packed), "pack", "stripe", "list"
};

// What a page of a collection's names is to hold. Names are compared bytewise; none of the three
// texts is longer than a name may be.
struct ListOptions {
  std::string prefix;  // only names that begin with it
  // Only what lies behind it in the order asked for; it need not exist. A common prefix, as a page
  // names them, stands for everything below it. Empty: from the beginning.
  std::string start_after;
  // Names that contain it behind `prefix` are rolled up, from the first place on, into one entry
  // for all that are the same as far as its end. Empty: none.
  std::string delimiter;
  // Entries, of names and of common prefixes. 0: an empty page without `next`, when the collection
  // is there. More than kMaxListPage counts as that: a page is one state, which is not held long.
  std::uint64_t limit = 1000;
  bool reverse = false;  // descending
};

inline constexpr std::uint64_t kMaxListPage = 100'000;  // entries

struct ListEntry {
  // Into memory of the page that the entry came with: valid while that page, or one copied or moved
  // from it, is there. Make a std::string of it to keep it longer.
  std::string_view name;
  std::uint64_t size = 0;  // bytes
  Lsn version = 0;
  bool common_prefix = false;  // then only `name` counts
};

struct ListPage {
  std::vector<ListEntry> entries;  // in the order asked for
  // What to pass as start_after for the next page, which has an entry unless names are removed
  // meanwhile; empty when this was the last.
  std::optional<std::string> next;
  // Where the names are. Copies of a page share it, since nobody changes it.
  std::shared_ptr<const void> text;
};

// The most that a collection may hold; 0: as much as fits.
struct Quota {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  // of all objects together, by their sizes, holes included

  bool operator==(const Quota&) const = default;
};

struct CollectionInfo {
  std::string name;
  std::uint32_t id = 0;
  compression::Policy compression = {};
  Quota quota = {};
  // Exact, and kept with every transaction: asking costs no walk over the objects.
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  // the sizes of all objects together, holes included
};

// What the objects of a collection take; a walk over all of them.
struct CollectionUsage {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;    // as CollectionInfo has it
  std::uint64_t stored = 0;   // bytes after compression, before coding; holes take none
  std::uint64_t extents = 0;  // how many, as all below with those of omaps
  std::uint64_t omap_entries = 0;
  std::uint64_t compressed_original = 0;  // user bytes that are stored compressed
  std::uint64_t compressed = 0;           // those bytes after compression
};

// Bytes of an object.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  bool operator==(const ByteRange&) const = default;
};

// One of the ranges of a read_ranges(): where it goes.
struct RangeInto {
  std::uint64_t offset = 0;  // in the object, bytes
  MutByteView into;          // as long as what is wanted; ranges share no memory
  std::uint64_t read = 0;    // filled in: how many bytes are there, fewer at the object's end
};

struct RangeChecksum {
  std::uint64_t value = 0;   // a crc32c in the low 32 bits, or an xxh3-64 (base/checksum.h)
  std::uint64_t length = 0;  // bytes it covers, fewer than wanted at the object's end
  Lsn version = 0;           // of the object that it was taken from
};

enum class Health : std::uint8_t { kOk, kDegraded, kUnavailable };

struct DeviceStatus {
  DeviceId id = 0;
  std::string path;
  std::string role;        // "data", "log"
  std::string state;       // "ok", "missing", "stale", "failed", "foreign", "damaged label"
  std::string detail;      // why, when not ok; what to do
  std::uint64_t size = 0;  // bytes
  std::uint32_t physical_block = 0;  // bytes
  bool direct = false;               // O_DIRECT in use
  bool holds_log = false;
  // How a completed write becomes durable: "write" (nothing more is needed), "own flush", "shared
  // flush" (one for all devices of the domain). Empty when not attached.
  std::string durability;
  // Devices with the same number have one volatile cache; they count as one failure domain. -1: no
  // such cache.
  std::int64_t flush_domain = -1;
  // Since this opening.
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  // Those bytes by what they were for: user, parity, log, super, zero, run, merge, heal, other.
  std::map<std::string, std::uint64_t> written_for;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::map<std::string, std::uint64_t> writes_for;  // the writes, by the same causes
  std::uint64_t flushes = 0;  // flush requests, and writes that are durable by themselves
};

// One kind of background work of an open store.
struct JobStatus {
  std::string name;         // "checkpoint"
  std::string purpose;      // in words
  bool running = false;     // a step of it is under way
  double seconds = 0;       // for how long, when it is
  std::uint64_t steps = 0;  // that did something, since the store was opened
  // How far it is with what it is at, in `unit`; total 0: it is at nothing, or cannot say.
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::string unit;
  std::string problem;  // of the last step; empty: none
};

struct StoreStatus {
  Uuid uuid;
  Health health = Health::kOk;
  std::uint32_t faults_tolerated = 0;  // further device losses that lose nothing
  Epoch epoch = 0;
  Lsn last_lsn = 0;
  Lsn checkpoint_lsn = 0;
  std::uint64_t log_used = 0;  // bytes
  std::uint64_t log_size = 0;
  std::string io_queue;  // "io_uring", "threads", ...
  // Devices and index are memory of this process (Store::in_memory()): nothing outlives the store.
  bool memory_only = false;
  bool read_only = false;
  std::string read_only_reason;  // empty unless the store turned read-only by itself
  std::vector<DeviceStatus> devices;
  std::vector<std::string> notes;  // what recovery did, fallbacks in use
  // What somebody should look at, one sentence each: devices that this opening has given up, and
  // devices that keep the store waiting now.
  std::vector<std::string> warnings;
  std::vector<JobStatus> jobs;  // none unless the store is open for writing
};

struct DeviceSpace {
  DeviceId id = 0;
  std::string path;
  std::uint64_t capacity = 0;  // bytes in slabs
  std::uint64_t used = 0;      // bytes allocated
};

// From the allocator and the records, never from counters. Bytes.
struct SpaceUsage {
  std::uint64_t capacity = 0;  // user bytes that would fit: data units x k
  std::uint64_t available = 0;
  // Kept free for checkpoints, so that a full store takes deletes; not in `available`.
  std::uint64_t internally_reserved = 0;
  std::uint64_t used = 0;       // raw, parity included
  std::uint64_t stored = 0;     // user bytes as users see them, of clones each; shared omaps once
  std::uint64_t allocated = 0;  // data units x k of live objects; what clones share once
  std::uint64_t compressed_original = 0;
  std::uint64_t compressed = 0;  // those bytes after compression
  std::uint64_t compressed_allocated = 0;
  std::uint64_t metadata = 0;           // index on the fast tier
  std::uint64_t internal_metadata = 0;  // the same in runs: data units x k, as `allocated`
  std::uint64_t objects = 0;
  std::vector<DeviceSpace> per_device;
};

struct OmapEntry {
  std::string key;
  std::uint64_t size = 0;  // bytes of the value
  Bytes value;             // when it was asked for

  bool operator==(const OmapEntry&) const = default;
};

// A page of an omap: entries by key, from behind `start_after` to before `end`.
struct OmapOptions {
  std::string start_after;  // empty: from the first
  std::string end;          // empty: to the last
  std::uint64_t limit = 1000;
  bool values = true;  // false: keys and sizes alone
};

struct OmapPage {
  std::vector<OmapEntry> entries;
  std::string next;  // start_after of the next page; empty: this was the last
};

struct Counter {
  std::string name;
  std::uint64_t total = 0;  // cumulative over the life of the store, saved by checkpoints
  std::uint64_t since_open = 0;
};

struct FsckOptions {
  bool deep = false;    // also every checksum, and parity re-encoded
  bool repair = false;  // needs a store open for writing
};

struct Finding {
  std::string subject;  // "object default/a", "zone 3 unit 17", "device 2"
  std::string problem;
  bool repaired = false;
};

inline std::uint64_t unrepaired(const std::vector<Finding>& findings) {
  return static_cast<std::uint64_t>(std::count_if(
      findings.begin(), findings.end(), [](const Finding& finding) { return !finding.repaired; }));
}

struct FsckReport {
  std::vector<Finding> findings;
  std::uint64_t objects_checked = 0;
  std::uint64_t stripes_checked = 0;
  std::uint64_t bytes_checked = 0;  // deep only
  // Findings not repaired.
  std::uint64_t errors() const { return unrepaired(findings); }
};

// What a scrub has done so far.
struct ScrubReport {
  std::vector<Finding> findings;  // cells on devices that are away are none
  std::uint64_t stripes_checked = 0;
  std::uint64_t bytes_checked = 0;   // read from devices and compared with their checksums
  std::uint64_t bytes_expected = 0;  // of a whole pass, about: what was taken when it began
  std::string next;                  // where to go on (ScrubOptions::from); empty: it is complete
  // Findings not repaired.
  std::uint64_t errors() const { return unrepaired(findings); }
};

struct ScrubOptions {
  // Bytes that are read per second at most, on average; 0: as fast as the devices give them.
  std::uint64_t rate = 0;
  // ScrubReport::next of a scrub that was stopped; empty: from the beginning.
  std::string from = {};
  // Called behind every few MiB, and ten times a second while the rate makes it wait; false: stop
  // here. On the thread of the scrub.
  std::function<bool(const ScrubReport&)> progress = {};
};

}  // namespace hexad
