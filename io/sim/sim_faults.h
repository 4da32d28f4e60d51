// Faults that a simulated disk can be told to have. Each is counted when it strikes, so that a test
// can see that it did.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "io/device.h"
#include "io/rng.h"

namespace hexad::io {

enum class FaultKind : std::uint8_t {
  // Reads. Only the first reports an error.
  kReadError,
  kReadFlip,         // one bit of what is returned
  kReadFlipStored,   // one bit on the disk, for good
  kReadZeros,        // what is returned
  kReadStale,        // what each block held before its last write (SimDiskOptions::keep_previous)
  kReadMisdirected,  // bytes of another place of the disk
  // Writes. "Before", "partly" and "after" is when the error struck: with how much effect.
  kWriteErrorBefore,
  kWriteErrorPartly,
  kWriteErrorAfter,
  kWriteNoSpace,      // kNoSpace, no effect
  kWriteTorn,         // reported as success, a part is missing
  kWriteLost,         // reported as success, no effect
  kWriteMisdirected,  // reported as success, lands elsewhere
  // Flushes.
  kFlushError,  // what it should have covered is never covered by a later one (D4)
  kFlushLies,   // reported as success, covers nothing
  // Any request.
  kDeviceError,  // fails without effect
  kRefused,      // the same, with the error of errno `amount` (0: ENOMEM)
  kHang,         // completes when SimDisk::release_hung() is called
  kSlow,         // takes `amount` times as long
};
inline constexpr std::size_t kFaultKinds = static_cast<std::size_t>(FaultKind::kSlow) + 1;

// What there is to say of a fault but for its effect, which is in io/sim/sim_device.cc.
struct FaultFacts {
  std::string_view name;
  std::optional<IoOp> of = {};  // of requests of this kind alone
};
constexpr FaultFacts facts_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kReadError:
      return {"read error", IoOp::kRead};
    case FaultKind::kReadFlip:
      return {"read flip", IoOp::kRead};
    case FaultKind::kReadFlipStored:
      return {"stored flip", IoOp::kRead};
    case FaultKind::kReadZeros:
      return {"read zeros", IoOp::kRead};
    case FaultKind::kReadStale:
      return {"stale read", IoOp::kRead};
    case FaultKind::kReadMisdirected:
      return {"misdirected read", IoOp::kRead};
    case FaultKind::kWriteErrorBefore:
      return {"write error", IoOp::kWrite};
    case FaultKind::kWriteErrorPartly:
      return {"partial write error", IoOp::kWrite};
    case FaultKind::kWriteErrorAfter:
      return {"late write error", IoOp::kWrite};
    case FaultKind::kWriteNoSpace:
      return {"no space", IoOp::kWrite};
    case FaultKind::kWriteTorn:
      return {"torn write", IoOp::kWrite};
    case FaultKind::kWriteLost:
      return {"lost write", IoOp::kWrite};
    case FaultKind::kWriteMisdirected:
      return {"misdirected write", IoOp::kWrite};
    case FaultKind::kFlushError:
      return {"flush error", IoOp::kFlush};
    case FaultKind::kFlushLies:
      return {"lying flush", IoOp::kFlush};
    case FaultKind::kDeviceError:
      return {"device error"};
    case FaultKind::kRefused:
      return {"refused"};
    case FaultKind::kHang:
      return {"hang"};
    case FaultKind::kSlow:
      return {"slow"};
  }
  return {};
}

constexpr std::string_view to_string(FaultKind kind) { return facts_of(kind).name; }
// Can a request of this kind have this fault?
constexpr bool strikes(FaultKind kind, IoOp op) { return facts_of(kind).of.value_or(op) == op; }

struct Fault {
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};

  FaultKind kind = FaultKind::kReadError;
  std::uint64_t offset = 0;  // bytes: only requests that touch [offset, offset + length)
  std::uint64_t length = kForever;
  std::uint64_t after = 0;  // so many matching requests pass first
  std::uint64_t times = 1;  // then so many are struck
  // kRefused: an errno value. kSlow: the factor. kWriteTorn, kWriteErrorPartly: the unit of tearing
  // in bytes, 0 for any multiple of 512.
  std::uint64_t amount = 0;
};

// The faults of one disk.
class FaultList {
 public:
  void inject(const Fault& fault) { faults_.push_back(fault); }
  void clear() { faults_.clear(); }
  // The fault that strikes this request, if any: the oldest that matches. Counts it.
  std::optional<Fault> next(const IoRequest& request);
  void count(FaultKind kind) { ++counts_[static_cast<std::size_t>(kind)]; }
  std::uint64_t struck(FaultKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

 private:
  std::vector<Fault> faults_;
  std::array<std::uint64_t, kFaultKinds> counts_{};
};

}  // namespace hexad::io
