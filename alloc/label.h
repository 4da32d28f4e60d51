// The label: who a device is and how it is laid out. Written at mkfs, when a device is added or
// grown, and never on the commit path. One copy at each end; the device is usable while one is
// readable. Bytes: doc/format.md, "Label".
//
// Crash: write_label() makes the copy at the head durable before it touches the one at the tail, so
// one copy is always whole; readers take the one with the higher generation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "alloc/device_layout.h"
#include "alloc/features.h"
#include "base/bytes.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/ids.h"
#include "io/clock.h"
#include "io/device.h"

namespace hexad::alloc {

// Of everything on the devices. A store of another version is refused without a write.
inline constexpr std::uint32_t kFormatVersion = 2;
// Incompatible feature bits of labels that this version understands. Log blocks are larger than the
// device's physical block.
inline constexpr std::uint64_t kLogBlockFeature = 1;
// The devices of the pool are said to be redundant themselves.
inline constexpr std::uint64_t kRedundantFeature = 2;
inline constexpr std::uint64_t kKnownLabelFeatures = kLogBlockFeature | kRedundantFeature;
// Bytes; leaves room for all other fields in a label copy.
inline constexpr std::size_t kMaxPoolOptions = 8 << 10;

struct Label {
  std::uint64_t generation = 1;  // grows with every rewrite of this device's label
  Features features;             // without those that the other fields make
  Uuid store;
  DeviceId device = 0;
  Uuid device_uuid;
  DeviceRole role = DeviceRole::kData;
  DeviceLayout layout;
  // The default profile, as plain numbers: this layer does not know what a codec is.
  std::uint8_t k = 0;
  std::uint8_t m = 0;
  std::uint8_t codec = 0;
  std::uint32_t packet_bytes = 0;  // of codecs that work on packets
  bool redundant_devices = false;  // all of the pool; else m is not 0
  ChecksumType checksum = ChecksumType::kCrc32c;
  std::uint32_t checksum_granularity = 0;  // bytes
  io::Nanos created = 0;                   // since 1970-01-01 UTC
  std::uint32_t device_count = 0;          // devices of all roles at mkfs
  std::string pool_options;                // opaque here, at most kMaxPoolOptions bytes

  bool operator==(const Label&) const = default;
};

// At most kHeaderSlotSize bytes. Preconditions: the layout passes check_layout(), pool_options fit.
std::string encode_label(const Label& label);

// Any input. Errors: kNotFound (no label magic here), kCorruption (checksum, a field out of range),
// kUnsupported (another format version, or an incompatible feature bit of a later one, named).
Result<Label> decode_label(ByteView slot);

struct LabelCopy {
  Label label;
  // Why the other copy was not as good: damaged, or older after a crash in write_label(). The
  // remedy is mend_label(), by whoever has the store open for writing.
  std::optional<Error> other_copy;
};

// Reads both copies and picks. The one at the tail is looked for where that at the head says the
// device ends or, without one, where the device does. Errors:
//   kInvalidArgument  not a hexad device; the message names a foreign signature where one is seen
//   kCorruption       both copies damaged, or of two devices; or the device is shorter than its
//                     label says
//   kUnsupported      see decode_label(); a label where versions before this one had it; or the
//                     device's blocks are too large for the layout
//   kIo               neither copy can be read
//   kExhausted        a copy could not be read for want of memory or the like
//   kUnavailable      the device does not answer
Result<LabelCopy> read_label(io::Device& device);

// Writes the copy at the head, flushes, writes the one at the tail, flushes. Errors: those of the
// device.
Status write_label(io::Device& device, const Label& label);
// Writes those copies again that are not `label`, the one that was found, one after the other.
// Errors: those of the writes.
Status mend_label(io::Device& device, const Label& label);

}  // namespace hexad::alloc
