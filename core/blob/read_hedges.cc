#include "core/blob/read_hedges.h"

#include <algorithm>
#include <cstddef>

namespace hexad::core {

io::Nanos ReadHedges::patience(DeviceId id, const io::ReadTimes& times) {
  if (mode_ == HedgedReads::kAlways) return 0;
  const io::Nanos usual = times.usual();
  if (usual == 0) {
    const io::Nanos others = typical_.load(std::memory_order_relaxed);
    return others == 0 ? kNever : 2 * others;
  }
  usual_[id % kDevices].store(usual, std::memory_order_relaxed);
  constexpr std::uint32_t kBetween = 64;
  if (asked_.fetch_add(1, std::memory_order_relaxed) % kBetween == 0) find_typical();
  const io::Nanos typical = typical_.load(std::memory_order_relaxed);
  return std::min(usual, std::max(typical, 2 * times.median()));
}

void ReadHedges::find_typical() {
  std::array<io::Nanos, kDevices> known;
  std::size_t count = 0;
  for (const std::atomic<io::Nanos>& usual : usual_) {
    const io::Nanos one = usual.load(std::memory_order_relaxed);
    if (one != 0) known[count++] = one;
  }
  if (count == 0) return;
  // The lower one of two.
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  std::nth_element(known.begin(), middle, known.begin() + static_cast<std::ptrdiff_t>(count));
  typical_.store(*middle, std::memory_order_relaxed);
}

void ReadHedges::note_reads(std::uint32_t reads) {
  if (mode_ != HedgedReads::kBudgeted) return;
  std::int64_t saved = saved_.load(std::memory_order_relaxed);
  while (saved < kMostSaved &&
         !saved_.compare_exchange_weak(saved, std::min(kMostSaved, saved + reads),
                                       std::memory_order_relaxed)) {
  }
}

bool ReadHedges::take(std::uint32_t extra) {
  if (mode_ == HedgedReads::kAlways) return true;
  const std::int64_t price = extra * kReadsPerExtra;
  std::int64_t saved = saved_.load(std::memory_order_relaxed);
  while (saved >= price) {
    if (saved_.compare_exchange_weak(saved, saved - price, std::memory_order_relaxed)) return true;
  }
  return false;
}

}  // namespace hexad::core
