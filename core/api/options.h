// Options: what a user may choose when a store is made, and when it is opened.
//
// FormatOptions are written into the labels when a store is made, and so are MemoryStoreOptions of
// a store in memory; RuntimeOptions are given at each opening. All are plain values; validate()
// reports all problems at once; Store::effective_options() says where each value came from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/units.h"
#include "compression/policy.h"
#include "ec/profile.h"

namespace hexad {

// A set of defaults for one kind of hardware.
enum class Preset : std::uint8_t {
  kNvme,             // data on NVMe, fast tier on the same or better: the default
  kHddWithFastMeta,  // data on disks, fast tier on NVMe: larger units, checksum blocks and buffers
  kTiny,             // devices and memory of some MiB, for tests and small machines
};
// Returns the preset that is called "nvme", "hdd" or "tiny".
//
// Errors: kInvalidArgument.
Result<Preset> parse_preset(std::string_view text);
// Returns "nvme", "hdd" or "tiny".
std::string_view to_string(Preset preset);

// The unit of allocation where neither user nor devices ask for another one, bytes.
inline constexpr std::uint64_t kDefaultMinAlloc = 4_KiB;

// What Store::format() makes a store of. It is fixed for the life of the store unless a field says
// otherwise.
struct FormatOptions {
  // Makes the defaults, which are those of Preset::kNvme, without devices.
  FormatOptions() = default;
  // Makes the defaults of a preset, without devices.
  explicit FormatOptions(Preset preset);

  // Paths of the data devices, files, block devices, disks that are reserved for the machine that
  // has the pool ("reserved:/dev/disk/by-id/...") or images of a Ceph cluster ("rbd:POOL/IMAGE"):
  // at least k+m, and at most 256 with those of `fast_directories`. A path that does not exist
  // becomes a file of `device_size` bytes, preallocated, or such an image.
  std::vector<std::string> devices;
  // For each of `devices`, in order, the name of what it shares with some of the others and fails
  // with: an enclosure, a controller, a machine. Empty: nothing is said of any. A stripe then has
  // as few cells in one of these failure domains as their number allows, and the loss of a whole
  // one, however many devices are in it, is survived: what does not allow that is refused. 1 to 63
  // letters, digits and . _ - : each.
  std::vector<std::string> failure_domains;
  std::uint64_t device_size = 1_GiB;  // bytes of each file that is made, 8 MiB to 1 PiB
  // Directories on the fast device; made if they are missing. Each gets a log file, and the first
  // one the index. Empty: the log is on data devices alone, and there is no index: the metadata is
  // read from where it lies, on the data devices.
  std::vector<std::string> fast_directories;
  // True: overwrite devices that carry another file system, or another store, instead of refusing.
  bool force = false;
  // Called while devices are made ready, many times per second, on the calling thread: bytes of
  // their logs that are zeros by now, and of those that are to be. False: end it, and what was made
  // is gone again; but not once something that was there before has changed, such as a device that
  // `force` overwrites. Empty: go on.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress = {};

  // k, m and the code; 4+2 and Vandermonde of ISA-L by default. m = 0, no parity: for devices that
  // are redundant themselves.
  ec::Profile profile;
  // Your word that each of the devices, and each that is added later, keeps its bytes in several
  // places itself: a RAID array, an EBS volume, a zvol, an RBD image. Profiles with m = 0 need it,
  // unless the devices say so of themselves. It is kept with the store.
  bool redundant_devices = false;
  // The unit of allocation in bytes: 512 bytes to 1 MiB, and a multiple of the physical block of
  // every data device. 0: 4 KiB, or a larger physical block; or as much as all of them write
  // without reading what is there before, where one says that this is more (an image whose data is
  // erasure-coded), and it is 64 KiB at most.
  std::uint64_t min_alloc = 0;
  ChecksumType checksum = ChecksumType::kCrc32c;  // the checksum of all stored data
  // Bytes under one checksum: 4, 16 or 64 KiB, and not less than the physical block of a data
  // device.
  std::uint64_t checksum_block = 16_KiB;
  // The policy of the collection "default", and of every other one when it is created; each
  // collection can be given another one later (Transaction::set_policy()).
  compression::Policy compression;
  // Bytes of each copy of the log, 1 MiB to 64 GiB; 0: raw capacity / 64, at least 16 MiB and at
  // most 1 GiB.
  std::uint64_t log_size = 0;
  // Bytes that a zone has on each of its devices: a multiple of `min_alloc`, at least 8 of them,
  // and at most 16 GiB; 0: by the size of the devices.
  std::uint64_t slab_size = 0;

  // Returns OK, or kInvalidArgument with every problem on a line of its own in the message.
  Status validate() const;
};

// What Store::format() has made of them.
struct FormatReport {
  std::vector<std::string> notes;  // what cannot be promised, one sentence each
  std::uint64_t min_alloc = 0;     // the unit of allocation, bytes
};

// What Store::in_memory() makes a store of: k+m devices of memory. Everything else is as
// FormatOptions have it by default.
struct MemoryStoreOptions {
  ec::Profile profile;  // k, m and the code; 4+2 and Vandermonde of ISA-L by default
  // The user bytes that there is room for at least, as large objects without compression take it;
  // 1 MiB to 64 TiB.
  //
  // Memory is taken for what is written: user bytes and their parity, whole units of 4 KiB for
  // small objects, and the log on m+1 devices, each up to a 32nd of the capacity (16 MiB to 256
  // MiB). Space of removed objects is used again, but not returned to the operating system before
  // the store ends.
  std::uint64_t capacity = 1_GiB;
  // The policy of the collection "default", and of every other one when it is created.
  compression::Policy compression = {};

  // Returns OK, or kInvalidArgument with every problem on a line of its own in the message.
  Status validate() const;
};

// What a store is opened for.
enum class Access : std::uint8_t {
  kReadWrite,  // reading and writing
  // Reading only: nothing is written anywhere. Recovery happens in memory, no epoch is drawn, and
  // devices that are away stay healthy.
  kReadOnly,
};

// What an opening for writing does about a device that is there and cannot be written: its file
// system is read-only, it is immutable, permission is missing, or its path is no file or block
// device.
enum class Unwritable : std::uint8_t {
  kRefuse,  // opening fails, and nothing has changed anywhere
  // The device leaves the pool, like one that is lost: what is written from then on is not on it,
  // until an opening for writing finds it again.
  kLose,
};

// What an opening for writing does that finds at most m data devices and no trace of what became of
// the others (profiles with k <= m only, doc/promises.md).
enum class SplitRisk : std::uint8_t {
  kRefuse,  // opening fails with kUnavailable, and nothing has changed anywhere
  // Opening goes on without the others. If they are written too, by a process that saw these fail
  // or by another opening of this kind, there are two stores of one name, each with commits that
  // the other lacks. They are recognised, and never joined.
  kTake,
};

// When devices that have come back get what was written while they were away.
enum class CatchUp : std::uint8_t {
  kInBackground,  // from the opening on, beside everything else
  kWhenAsked,     // by Store::catch_up() alone
};

// When a device that has left the store while it is open is taken in again.
enum class Returns : std::uint8_t {
  // When it answers again, at the path where it was: it is looked at some seconds after it left,
  // some minutes where it has come back lately, then less and less often, at last every ten
  // minutes. One that has come back three times and left again within a day stays away until it is
  // asked for.
  kByThemselves,
  kWhenAsked,  // by Store::bring_back_device() alone, or the next opening
};

// What a read does about a device that answers late. (One that does not answer within 5 s is gone
// round in any case.)
enum class HedgedReads : std::uint8_t {
  kOff,  // it waits
  // When an answer takes longer than all but one of 200 reads of the device did, the same bytes are
  // rebuilt from k other cells, and what comes first counts. At most one such extra read of a
  // device for 50 others.
  kBudgeted,
  // All other cells are read each time, and the first k that answer count: the shortest times, for
  // k + m times the reads where objects are small.
  kAlways,
};
// Returns "off", "budgeted" or "always".
std::string_view to_string(HedgedReads mode);
// Returns what is called "off", "budgeted" or "always".
//
// Errors: kInvalidArgument.
Result<HedgedReads> parse_hedged_reads(std::string_view text);

// What happens to a bus error (SIGBUS) in the index on a fast directory.
//
// The index is a file that is mapped into memory. Where another program cuts it, or its medium
// fails, a thread that reads it there gets SIGBUS, which ends the process.
enum class BusErrors : std::uint8_t {
  // hexad installs no handler.
  kLeave,
  // A line on standard error says which file it was and what to do (io/bus_errors.h).
  kExplain,
};

// Which devices are made durable together.
enum class FlushSharing : std::uint8_t {
  // Devices that are known to have one cache below them (files on one ext4 or xfs with barriers,
  // partitions of one disk) share one flush.
  kWhereSafe,
  kNever,  // each device is flushed for itself
};

// When a durable commit is answered; in every case its cells are durable on all live devices.
enum class LogDurability : std::uint8_t {
  // When its log block is durable on m+1 data devices, and on the fast devices that hold the log:
  // losing up to m data devices does not lose it.
  kFull,
  // When its log block is durable on the fast devices that hold the log, and wherever else that
  // costs no further round: in memory, or in one cache with those or with its cells. The others are
  // being written; they are durable within 50 ms, or later commits wait for them. In that time the
  // loss of the fast devices together with a crash loses the commit. Without a fast device: as
  // kFull.
  kFast,
  // As kFull, and the log is written only when the cells are durable: two rounds of I/O instead of
  // one. Recovery then never has to verify cells; for comparison, and for devices that lie.
  kDataFirst,
};
// Returns "full", "fast" or "data-first".
std::string_view to_string(LogDurability durability);
// Returns the durability that is called "full", "fast" or "data-first".
//
// Errors: kInvalidArgument.
Result<LogDurability> parse_log_durability(std::string_view text);

// How Store::open() opens a store, for as long as it is open.
struct RuntimeOptions {
  // Makes the defaults, which are those of Preset::kNvme.
  RuntimeOptions() = default;
  // Makes the defaults of a preset.
  explicit RuntimeOptions(Preset preset);

  Access access = Access::kReadWrite;  // what the store is opened for
  // Bytes in the memtable at which a checkpoint starts, 64 KiB to 64 GiB; it also starts when the
  // log is half full.
  std::uint64_t memtable_size = 128_MiB;
  // The most bytes of payload of one transaction, 64 KiB to 1 GiB; more is kTooBig: use a writer.
  std::uint64_t max_transaction = 64_MiB;
  // The most bytes of payload of all transactions that are not answered yet (buffered ones: not
  // durable yet), `max_transaction` to 64 GiB; commit() and submit() wait beyond.
  std::uint64_t max_in_flight = 256_MiB;
  std::uint64_t stream_buffer = 16_MiB;  // memory of one writer or reader, 1 MiB to 4 GiB
  // Memory for records and user bytes that were read, and for pieces of runs where those answer in
  // place of the index, with all it costs: 1 MiB to 1 PiB; 0: no records or bytes are kept. Pieces
  // of runs have 16 MiB for themselves where this is less.
  std::uint64_t cache_size = 256_MiB;
  FlushSharing flush_sharing = FlushSharing::kWhereSafe;  // which devices share a flush
  Unwritable unwritable_devices = Unwritable::kRefuse;    // what to do about unwritable devices
  LogDurability log_durability = LogDurability::kFull;    // when a durable commit is answered
  SplitRisk split_risk = SplitRisk::kRefuse;  // what to do where the others may have been written
  BusErrors bus_errors = BusErrors::kLeave;   // what to do about a bus error in the index
  CatchUp catch_up = CatchUp::kInBackground;  // when devices get what they missed
  Returns returns = Returns::kByThemselves;   // when devices that have left are taken in again
  HedgedReads hedged_reads = HedgedReads::kOff;  // what to do about a device that answers late
  // Seconds that a device may owe the answer to a request, whatever else it answers, and not
  // counting what it works through first: then it is left behind like one that has failed, and
  // commits go on without it; 1 to 3600, or 0: they wait for it. Never more devices than the
  // profile survives, nor one that shares its cache with others: those are waited for.
  std::uint64_t device_patience = 60;
  // Seconds that a data device may be away while the store is open, 10 to 31,536,000 (a year): then
  // it is drained, as by Store::drain_device(), so that what it held is built again on the others,
  // if these are k + m and have room; status() warns where they are not. With CatchUp::kWhenAsked
  // they get room, and the bytes by catch_up(). One that comes back before it is empty is drained
  // no more. 0: nothing is done before somebody asks.
  std::uint64_t drain_lost_after = 0;

  // Returns OK, or kInvalidArgument with every problem on a line of its own in the message.
  Status validate() const;
};

// A new device in the place of one that is lost, or is to go while it still answers.
struct Replacement {
  DeviceId device = 0;  // the number of the one that goes (DeviceStatus::id)
  std::string path;     // of the new one; a file that is not there is made
  // What is copied from one that answers, in bytes per second at most; 0: as fast as it goes.
  std::uint64_t rate = 0;
  // Called while the new one is made ready and one that answers is copied, many times per second,
  // on the calling thread: bytes that have been copied, and those that are to be in all; of one
  // that does not answer, of its log that are zeros by now and are to be. False, once: end it.
  // Empty: go on.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress = {};
};

// An option of an open store, its value, and where that came from.
struct EffectiveOption {
  std::string name;    // as the field of RuntimeOptions or FormatOptions is called
  std::string value;   // as text, with its unit
  std::string origin;  // "default", "given", "label" (chosen when the store was made), "computed"
};

}  // namespace hexad
