// The root: the commit point of checkpoints, of membership changes and of opening for writing. The
// same root goes to both ends of every live device; two slots at each end, of which the one that
// does not hold the end's newest root is written, so a torn write never takes the newest away.
// Bytes: doc/format.md, "Root". Which root wins, and why: alloc/root_choice.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "alloc/features.h"
#include "alloc/header_slot.h"
#include "alloc/zone.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "io/device.h"

namespace hexad::alloc {

inline constexpr std::uint32_t kMaxDevices = 256;
// Numbers are never reused, so they pass the number of devices; tables by number stay small.
inline constexpr DeviceId kMaxDeviceId = 0xffff;

// Values are on disk; never reused.
enum class MemberState : std::uint8_t { kLive = 1, kLeft = 2 };

// One row of the device table. Rows are sorted by id.
struct RootDevice {
  DeviceId id = 0;
  Uuid uuid;
  DeviceRole role = DeviceRole::kData;
  MemberState state = MemberState::kLive;
  Lsn left_lsn = 0;      // kLeft: the last LSN that counted on this device; else 0
  Epoch left_epoch = 0;  // kLeft: epoch of the root that first said so; else 0
  // A root of this epoch and sequence, by this writer, is known to have been durable on this device
  // when the root that carries this row was composed. Showing only older ones, the device has lost
  // writes; showing one of that epoch by another writer, it has another history. 0: not known, in
  // roots from before 2026-11-26 (sequence and nonce).
  Epoch confirmed_epoch = 0;
  std::uint64_t confirmed_sequence = 0;
  std::uint64_t confirmed_nonce = 0;
  // kLive: it has come back, and still lacks cells, which the zones' images note. It counts as lost
  // wherever it matters how many more may fail.
  bool behind = false;
  // Behind, and lacks cells only in slabs that zones have moved to it from devices that were lost
  // (Root::lost_in_zone).
  bool filling = false;
  // A data device that is to go: it is given no more slabs, and those it has move to others.
  bool draining = false;
  // How many it has, of a data device that was added to the store, or took the place of one with
  // another number of them. 0: as many as the pool options of every label say of the device that
  // the store was made with.
  std::uint32_t slabs = 0;
  // The failure domain of a data device (alloc/failure_domains.h); empty: its own.
  std::string domain = {};

  bool operator==(const RootDevice&) const = default;
};

// Where the manifest lies. Nil (units == 0) in a store that has never made a checkpoint. The zone's
// slots stand here so that opening need not search slab headers.
struct ManifestAddress {
  Extent extent;
  std::uint64_t length = 0;  // bytes of the manifest itself
  std::uint32_t crc = 0;     // crc32c of those bytes
  std::vector<ZoneSlot> slots;
  // crc32c of each cell, data before parity; none in roots from before 2026-11-26.
  std::vector<std::uint32_t> cell_sums;

  bool is_nil() const { return extent.units == 0; }
  bool operator==(const ManifestAddress&) const = default;
};

// The last log block that recovery does not need, named so that no block of another lap or epoch is
// mistaken for its successor. The fields are kv's LogPoint; the default is the log of a new store.
struct LogTrim {
  std::uint64_t position = ~std::uint64_t{0};  // of the block, virtual byte offset in the ring
  std::uint64_t end = 0;                       // first byte after it
  std::uint32_t crc = 0;                       // of the block
  Epoch epoch = 0;
  Lsn lsn = 0;  // the last one up to and including the block

  bool operator==(const LogTrim&) const = default;
};

// An opening for writing that went on without knowing what had become of the other devices
// (alloc/root_choice.h, P9). Who has it goes on from here; others may go on from the same root.
struct Fork {
  // The place in the order of roots of the one that it went on from.
  Epoch from_epoch = 0;
  std::uint32_t from_left = 0;  // devices that had left
  std::uint64_t from_sequence = 0;
  Epoch first_epoch = 0;  // of what came after; drawn by chance, so nobody else has it

  bool operator==(const Fork&) const = default;
};
inline constexpr std::uint32_t kMaxForks = 24;

// One opening for writing, or the making of a store: the epochs that it has used, and a number
// drawn by chance that its roots and log blocks carry. An epoch has one writer (P2), so two of one
// epoch with different numbers are of stores that went on apart (alloc/root_choice.h, P11).
struct Writer {
  Epoch first_epoch = 0;
  Epoch last_epoch = 0;
  std::uint64_t nonce = 0;  // not 0

  bool operator==(const Writer&) const = default;
};
// The last ones; who came before them is forgotten.
inline constexpr std::uint32_t kMaxWriters = 16;

// Incompatible feature of a root: the metadata has forward keys, and lists of extents have marks. A
// program that does not know them would take the lists for damaged. Every opening for writing sets
// it. doc/format.md#forward-keys
inline constexpr std::uint64_t kForwardKeysFeature = 4;

struct Root {
  Uuid store;
  Epoch epoch = 0;             // from 1
  std::uint64_t sequence = 0;  // from 1, grows with every root that is sent out
  // Epochs up to this one may have been used by somebody: whoever opens for writing takes a higher
  // one. At least `epoch`. See alloc/root_choice.h.
  Epoch promised_epoch = 0;
  Features features;                  // without those that the other fields make
  std::vector<RootDevice> devices;    // sorted by id, at most kMaxDevices
  std::vector<DeviceId> log_devices;  // in the order of use; extents stand in their labels
  LogTrim log_trim;                   // replay needs no block up to and including this one
  Lsn checkpoint_lsn = 0;             // replay starts above it
  Lsn recorded_watermark = 0;         // R9; at least the true one at some earlier time
  // Fence (R8, R12): log blocks of epochs before `epoch` count up to this LSN and no further.
  Lsn previous_epoch_end = 0;
  ManifestAddress manifest;
  bool clean_close = false;
  ZoneId next_zone = 0;      // ids reserved: none at or above it is in use
  DeviceId next_device = 0;  // no device has had this number, or a higher one
  // While a device is filling: of the slabs of one zone, at most so many lie on devices that had
  // left or were behind, or lack cells on one that is filling. 0 while none is.
  std::uint32_t lost_in_zone = 0;
  // FD1 of alloc/failure_domains.h; 0: the store was made without failure domains, and has none.
  std::uint32_t domain_cells = 0;
  std::vector<Fork> forks;  // oldest first, at most kMaxForks; almost always none
  // Oldest first, at most kMaxWriters; the last one's is this root. None: of before 2026-11-26.
  std::vector<Writer> writers;

  // nullptr when the table does not have the device.
  const RootDevice* find(DeviceId id) const;
  RootDevice* find(DeviceId id);
  // Rows with role kData, whatever their state.
  std::uint32_t data_device_count() const;
  // Rows of devices that have left.
  std::uint32_t left_count() const;
  // Of its writer; 0: not known.
  std::uint64_t nonce() const { return writers.empty() ? 0 : writers.back().nonce; }
  bool operator==(const Root&) const = default;
};

// The order of roots: by epoch; within one, whose writer is one, by the number of devices that have
// left, for that only grows; then by sequence. Roots that still tie are told apart by checkpoint,
// trim point and promise. Why: alloc/root_choice.h, "Ties".
bool is_newer(const Root& a, const Root& b);

// At most kHeaderSlotSize bytes. Preconditions: check_root() is ok.
std::string encode_root(const Root& root);
// Any input. Errors: kNotFound (no root here), kCorruption, kUnsupported (feature bits).
Result<Root> decode_root(ByteView slot);
// Rows sorted and unique, bounds kept, log devices in the table. Errors: kInvalidArgument.
Status check_root(const Root& root);
// Whether a store can go on from this: each of its numbers leaves room below what a root may hold
// for more openings than there are. Errors: kCorruption; no writer comes that far.
Status check_room_to_go_on(const Root& root);

// The valid roots of a device, newest first, equal ones once: none to four. An unreadable, torn or
// empty slot counts as no root, and is noted in `bad` where that is given; one that could not be
// read, and not by the device's fault, is an error: it may hold the newest. Errors: kIo when no
// slot can be read; kUnsupported (feature bits).
Result<std::vector<Root>> read_roots(const LaidOutDevice& device,
                                     std::vector<std::string>* bad = nullptr);

// Writes `root` durably to both ends, at each to the slot that does not hold the end's newest valid
// root, having read all; at an end without one, to slot sequence % 2. Written means: at both (P10
// of alloc/root_choice.h). Errors: those of the device.
Status write_root(const LaidOutDevice& device, const Root& root);

// The same on several devices that share one I/O queue, in parallel: one round of reads, one of
// durable writes. One status per device, in order.
std::vector<Status> write_root(const std::vector<LaidOutDevice>& devices, const Root& root);

}  // namespace hexad::alloc
