// What is remembered of a device across openings: errors that were counted, and how what it lacked
// was given to it. doc/format.md#device-record
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"

namespace hexad::core {

// In the order of doc/format.md: read, write and flush errors, checksums, time-outs.
inline constexpr std::size_t kDeviceErrorKinds = 5;
using DeviceErrorCounts = std::array<std::uint64_t, kDeviceErrorKinds>;

enum class FillKind : std::uint8_t {
  kCatchUp = 1,  // it was away
  kRebuild,      // a new device in the place of one that was lost
  kReplace,      // one in the place of a device that answered, which was copied
};
std::string_view to_string(FillKind kind);  // "catch-up", "rebuild", "replace"

// A device being given what it lacks.
struct DeviceFill {
  FillKind kind = FillKind::kCatchUp;
  std::int64_t began = 0;    // nanoseconds since 1970
  std::uint64_t cells = 0;   // that were written to it
  std::uint64_t bytes = 0;   // of those
  std::uint64_t copied = 0;  // bytes that it had from the device that it replaces
  friend bool operator==(const DeviceFill&, const DeviceFill&) = default;
};
// It lacks nothing that was there as of `lsn`.
struct DeviceFilled {
  DeviceFill fill;
  std::int64_t ended = 0;  // nanoseconds since 1970
  Epoch epoch = 0;         // of the checkpoint
  Lsn lsn = 0;             // of the checkpoint
  friend bool operator==(const DeviceFilled&, const DeviceFilled&) = default;
};

struct DeviceRecord {
  Uuid uuid;               // of the device: a new one in its place begins anew
  std::int64_t since = 0;  // from when on errors are counted, nanoseconds since 1970
  DeviceErrorCounts errors = {};
  std::optional<DeviceFilled> last;
  std::optional<DeviceFill> under_way;
  friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

std::string device_key(DeviceId device);
std::string encode_device(const DeviceRecord& record);
// Errors: kCorruption.
Result<DeviceRecord> decode_device(std::string_view encoded);

}  // namespace hexad::core
