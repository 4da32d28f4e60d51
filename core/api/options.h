// What a user may choose. FormatOptions are frozen in the labels when a store is made, and so are
// MemoryStoreOptions of one in memory; RuntimeOptions are given at each opening. All are plain
// values; validate() reports all problems at once; effective_options() of an open store says where
// each value came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/units.h"
#include "compression/policy.h"
#include "ec/profile.h"

namespace hexad {

enum class Preset : std::uint8_t {
  kNvme,             // data on NVMe, fast tier on the same or better: the default
  kHddWithFastMeta,  // data on disks: larger units and extents
  kTiny,             // megabytes, for tests and small boxes
};
Result<Preset> parse_preset(std::string_view text);  // "nvme", "hdd", "tiny"
std::string_view to_string(Preset preset);

struct FormatOptions {
  FormatOptions() = default;
  explicit FormatOptions(Preset preset);

  // Paths of files or block devices, at least k+m. A path that does not exist becomes a file of
  // `device_size` bytes, preallocated.
  std::vector<std::string> devices;
  std::uint64_t device_size = 1_GiB;  // bytes
  // Directories on the fast device. Each gets a log file and the first one the index.
  std::vector<std::string> fast_directories;
  // Overwrites devices that carry another file system, or another store, instead of refusing.
  bool force = false;

  ec::Profile profile;              // default 4+2, ISA-L Vandermonde
  std::uint64_t min_alloc = 4_KiB;  // bytes; a multiple of every device's physical block
  ChecksumType checksum = ChecksumType::kCrc32c;
  std::uint64_t checksum_block = 16_KiB;  // bytes under one checksum: 4, 16 or 64 KiB
  compression::Policy compression;        // of the collection "default"; changeable later
  std::uint64_t log_size = 0;   // bytes per copy; 0: clamp(raw capacity / 64, 16 MiB, 1 GiB)
  std::uint64_t slab_size = 0;  // bytes; 0: by device size

  // Every problem, one per line in the message; kInvalidArgument.
  Status validate() const;
};

// What Store::in_memory() makes: a store on k+m devices of memory. All else is as FormatOptions
// have it when nobody chooses.
struct MemoryStoreOptions {
  ec::Profile profile;  // default 4+2, ISA-L Vandermonde
  // Bytes of users that there is room for at least, as large objects without compression take it.
  // Of memory it takes what is written: user bytes and their parity, of small objects whole units
  // of 4 KiB, and on m+1 devices the log, up to a 32nd of this (16 MiB to 256 MiB) each. Space of
  // removed objects is used again, but not given back to the operating system.
  std::uint64_t capacity = 1_GiB;
  compression::Policy compression = {};  // of the collection "default"; changeable later

  // Every problem, one per line in the message; kInvalidArgument.
  Status validate() const;
};

enum class Access : std::uint8_t {
  kReadWrite,
  // Nothing is written anywhere: recovery happens in memory, no epoch is drawn, devices that are
  // away stay healthy.
  kReadOnly,
};

// A device that is there and cannot be opened for writing: its file system is read-only, it is
// immutable, permission is missing, its path is no file or block device.
enum class Unwritable : std::uint8_t {
  kRefuse,  // opening for writing fails, and nothing has changed anywhere
  // It leaves the pool for good, like one that is lost: what is written from then on is not on it.
  kLose,
};

// What an opening for writing does that finds at most m data devices and no trace of what became of
// the others (profiles with k <= m only, doc/promises.md).
enum class SplitRisk : std::uint8_t {
  kRefuse,
  // Goes on without them. If they are written too, by a process that saw these fail, or by another
  // opening of this kind, there are two stores of one name, each with commits that the other lacks.
  // They are recognised, and never joined.
  kTake,
};

// The index on a fast directory is a file that is mapped into memory. Where it is cut by somebody,
// or its medium fails, whoever reads it there gets SIGBUS, which ends the process.
enum class BusErrors : std::uint8_t {
  kLeave,    // hexad installs no handler
  kExplain,  // a line on standard error says which file it was and what to do, see io/bus_errors.h
};

enum class FlushSharing : std::uint8_t {
  // Devices that are known to have one cache below them (files on one ext4 or xfs with barriers,
  // partitions of one disk) are made durable together, by one flush.
  kWhereSafe,
  kNever,  // each device flushes for itself
};

// When a durable commit is answered. In every case its cells are durable on all live devices.
enum class LogDurability : std::uint8_t {
  // Its log block is on m+1 devices: nothing that loses up to m of them takes it back.
  kFull,
  // Its log block is on the fast devices that hold the log; the other copies are being written and
  // follow within 50 ms, or later commits wait for them. In that time the loss of the fast devices,
  // together with a crash, takes it back. Without a fast device: as kFull.
  kFast,
  // As kFull, and the log is written only when the cells are durable: two rounds of I/O instead of
  // one. Recovery never has to prove cells then; for comparison, and for devices that lie.
  kDataFirst,
};
std::string_view to_string(LogDurability durability);  // "full", "fast", "data-first"
Result<LogDurability> parse_log_durability(std::string_view text);

struct RuntimeOptions {
  RuntimeOptions() = default;
  explicit RuntimeOptions(Preset preset);

  Access access = Access::kReadWrite;
  // A checkpoint starts when the memtable holds this many bytes (or the log is half full).
  std::uint64_t memtable_size = 128_MiB;
  // Payload and records of one transaction held in memory; beyond: kTooBig, use a writer.
  std::uint64_t max_transaction = 64_MiB;
  // Bytes of payload between submit() and completion, over all callers; submit() waits beyond.
  std::uint64_t max_in_flight = 256_MiB;
  // Memory of one streamed writer or reader, bytes.
  std::uint64_t stream_buffer = 16_MiB;
  // Memory for records and user bytes that were read, all it costs included; 0: none is kept.
  std::uint64_t cache_size = 256_MiB;
  FlushSharing flush_sharing = FlushSharing::kWhereSafe;
  Unwritable unwritable_devices = Unwritable::kRefuse;
  LogDurability log_durability = LogDurability::kFull;
  SplitRisk split_risk = SplitRisk::kRefuse;
  BusErrors bus_errors = BusErrors::kLeave;
  Status validate() const;
};

// One line of effective_options().
struct EffectiveOption {
  std::string name;
  std::string value;
  std::string origin;  // "default", "given", "label", "computed"
};

}  // namespace hexad
