// Ids of bodies, omaps and shared blobs: {low half of the epoch, a counter of 32 bits}. An epoch
// has one writer and is never used twice, so an id is never given out twice (R16), as long as the
// counter does not run over:
//   ID1 whoever has drawn half of an epoch's ids goes on in the next epoch, which is begun beside
//       the commits (half_spent())
//   ID2 nobody begins to draw when fewer than kKept are left (spent()), and nobody draws as many as
//       that between two looks
#pragma once

#include <atomic>
#include <cstdint>

#include "base/assert.h"
#include "base/ids.h"
#include "core/record/keys.h"

namespace hexad::core {

class BodyIds {
 public:
  static constexpr std::uint32_t kHalf = std::uint32_t{1} << 31;
  // More than the pages and extents that one transaction, or one record, can show: 4096 pages of at
  // most some thousand extents.
  static constexpr std::uint32_t kKept = std::uint32_t{1} << 28;

  // Those that are drawn from now on are of this epoch, which nobody else has; `drawn` of them have
  // been. Any thread.
  void begin(Epoch epoch, std::uint32_t drawn = 0) {
    last_.store(epoch << 32 | drawn, std::memory_order_release);
  }
  // Any thread. Precondition: not spent(), or only just (ID2).
  BodyId draw() {
    const BodyId id = last_.fetch_add(1, std::memory_order_acq_rel) + 1;
    HEXAD_ASSERT(counter_of(id) != 0);  // R16
    return id;
  }
  bool half_spent() const { return drawn() >= kHalf; }
  bool spent() const { return spent(last()); }
  static bool spent(BodyId last) { return counter_of(last) >= 0 - kKept; }
  std::uint32_t drawn() const { return counter_of(last()); }
  // The id that was drawn last, or {epoch, 0}. Another epoch may begin beside the caller: who
  // judges by it and says so looks once.
  BodyId last() const { return last_.load(std::memory_order_acquire); }

 private:
  static std::uint32_t counter_of(BodyId id) { return static_cast<std::uint32_t>(id); }

  std::atomic<std::uint64_t> last_{0};  // a BodyId
};

}  // namespace hexad::core
