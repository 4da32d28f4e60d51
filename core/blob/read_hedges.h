// When a read of a device is so late that the same bytes are read from others as well, and how many
// such reads there may be. Pure but for the numbers that it keeps. Any thread, no locks.
//
// An answer is late when it takes longer than all but one of 200 reads of that device did, or,
// where these are many times what the pool's devices take as a rule, longer than that: so a device
// that is slow now and then is not waited for, and one that is slower than the others by its nature
// is.
//
// After "The Tail at Scale" (Dean and Barroso, 2013), which calls them hedged requests.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "base/ids.h"
#include "core/api/options.h"
#include "io/clock.h"
#include "io/device.h"
#include "io/read_times.h"

namespace hexad::core {

class ReadHedges {
 public:
  static constexpr io::Nanos kNever = std::numeric_limits<io::Nanos>::max();
  static constexpr std::uint64_t kMostUnderWay = 32;
  // One extra read for so many others.
  static constexpr std::int64_t kReadsPerExtra = 50;

  explicit ReadHedges(HedgedReads mode) : mode_(mode) {}

  bool is_on() const { return mode_ != HedgedReads::kOff; }
  // All other cells are read, and not only as many as are needed.
  bool wants_all() const { return mode_ == HedgedReads::kAlways; }
  // A device that owes so many answers is not gone round, nor asked for others' sake: those that
  // are late keep their places in the queue that all devices share.
  static bool is_crowded(const io::Device& device) {
    return device.traffic().under_way.load(std::memory_order_relaxed) >= kMostUnderWay;
  }
  // For how long an answer of this device is waited for before others are asked; kNever: too little
  // is known yet of it and of all others. Cost: a few atomic loads; every 64th time, a sort of the
  // devices' figures.
  io::Nanos patience(DeviceId id, const io::ReadTimes& times);
  // So many reads went out that are no extra ones.
  void note_reads(std::uint32_t reads);
  // Whether so many extra ones may go out; then they count as sent.
  bool take(std::uint32_t extra);

 private:
  static constexpr std::size_t kDevices = 64;  // that the pool's figure is made from
  // After any quiet time at most so many extra reads come one after another.
  static constexpr std::int64_t kMostSaved = 64 * kReadsPerExtra;

  void find_typical();

  const HedgedReads mode_;
  std::array<std::atomic<io::Nanos>, kDevices> usual_{};  // by id, modulo; 0: not known
  std::atomic<io::Nanos> typical_{0};                     // the median of those
  std::atomic<std::uint32_t> asked_{0};
  std::atomic<std::int64_t> saved_{8 * kReadsPerExtra};  // reads without an extra one
};

}  // namespace hexad::core
