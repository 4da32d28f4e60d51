// Which states readers are looking at: space freed after the oldest of them is not reused (R9).
//
// Readers write their LSN into a slot that is theirs for the time being and take no lock; whoever
// reclaims looks at all slots. The argument for the two meeting each other, all four steps being
// sequentially consistent:
//
//   PN1 the reader writes its LSN s into the slot
//   PN2 the reader reads the limit; where that is above s, it starts again
//   PN3 the reclaimer raises the limit to f
//   PN4 the reclaimer reads the slots
//
// If PN1 comes before PN4, the reclaimer sees s and keeps what was freed after s. Otherwise PN3
// comes before PN2, and the reader sees f: with f <= s nothing that it can see was freed at f or
// before; with f > s it lets go and takes a newer state. That one is at least f, since only what is
// durable is reclaimed, so it starts again at most once per reclaim().
//
// Which slot is taken depends on where the caller's stack lies and decides nothing but the time it
// takes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "base/ids.h"
#include "io/executor.h"

namespace hexad::core {

class ReadPins {
  // 0: free; else the LSN plus one. On a cache line of its own.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> pinned{0};
  };

 public:
  // Pins at once without a lock; more of them share one.
  static constexpr std::size_t kSlots = 64;

  explicit ReadPins(io::Executor& executor) : mutex_(executor) {}

  // Holds one state until destroyed. Movable.
  class Pin {
   public:
    Pin() = default;
    Pin(Pin&& other) noexcept
        : pins_(std::exchange(other.pins_, nullptr)), slot_(other.slot_), lsn_(other.lsn_) {}
    Pin& operator=(Pin&& other) noexcept {
      std::swap(pins_, other.pins_);
      std::swap(slot_, other.slot_);
      std::swap(lsn_, other.lsn_);
      return *this;
    }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin() {
      if (pins_ != nullptr) pins_->release(slot_, lsn_);
    }
    Lsn lsn() const { return lsn_; }

   private:
    friend class ReadPins;
    Pin(ReadPins* pins, Slot* slot, Lsn lsn) : pins_(pins), slot_(slot), lsn_(lsn) {}
    ReadPins* pins_ = nullptr;
    Slot* slot_ = nullptr;  // null: among the others
    Lsn lsn_ = 0;
  };

  // Pins the state that `newest` returns. It never goes back and is at least the limit of every
  // reclaim() that has begun; it is called several times, at times under the lock.
  template <typename Newest>
  Pin pin(const Newest& newest) {
    const Lsn first = newest();
    const auto start = reinterpret_cast<std::uintptr_t>(&first) * std::uint64_t{0x9E3779B97F4A7C15};
    for (std::size_t i = 0; i < kSlots; ++i) {
      Slot& slot = (*slots_)[((start >> 40) + i) % kSlots];
      std::uint64_t expected = 0;
      if (!slot.pinned.compare_exchange_strong(expected, first + 1)) continue;  // PN1
      Lsn lsn = first;
      while (limit_.load() > lsn) {  // PN2
        lsn = newest();
        slot.pinned.store(lsn + 1);  // PN1
      }
      return Pin(this, &slot, lsn);
    }
    const io::Lock lock(mutex_);
    const Lsn lsn = newest();
    others_.insert(lsn);
    return Pin(this, nullptr, lsn);
  }

  // Calls `reclaim` with the smaller of `limit` and the oldest pinned LSN. One at a time.
  template <typename Reclaim>
  void reclaim(Lsn limit, const Reclaim& reclaim) {
    const io::Lock lock(mutex_);
    limit_.store(std::max(limit_.load(), limit));  // PN3
    Lsn oldest = limit;
    for (const Slot& slot : *slots_) {
      const std::uint64_t pinned = slot.pinned.load();  // PN4
      if (pinned != 0) oldest = std::min<Lsn>(oldest, pinned - 1);
    }
    if (!others_.empty()) oldest = std::min(oldest, *others_.begin());
    reclaim(oldest);
  }

 private:
  void release(Slot* slot, Lsn lsn) {
    if (slot != nullptr) {
      slot->pinned.store(0, std::memory_order_release);
      return;
    }
    const io::Lock lock(mutex_);
    others_.erase(others_.find(lsn));
  }

  // On the heap: an engine may stand where the stack keeps no such alignment.
  std::unique_ptr<std::array<Slot, kSlots>> slots_ = std::make_unique<std::array<Slot, kSlots>>();
  std::atomic<Lsn> limit_{0};  // of all reclaim() so far
  io::Mutex mutex_;            // one reclaim() at a time; others_
  std::multiset<Lsn> others_;
};

}  // namespace hexad::core
