// Which states readers are looking at: space freed after the oldest of them is not reused (R9).
//
// Who reads for long, of copies of all records that it will look at, narrows its pin: from then on
// it needs no more than the stripes that were born at or before the newest of those records, and
// were freed behind its state. All else that is freed meanwhile can be used again. The argument:
//
//   PN5 a record with LSN n names stripes that were born at or before n: they are published with
//       it, or before. An unplaced blob whose transaction has LSN n may be given its place later;
//       such a stripe counts as born at the first LSN of those in it (Space::publish)
//   PN6 `upto` is at least the LSN of every record that the holder has copied: that of its view,
//       which may be above that of its pin. A stripe born above it is in none of them, whoever
//       frees it
//   PN7 the slot is wide before it is free and until it is narrowed; so a reclaimer that sees a pin
//       sees a range at least as wide as its holder needs
//   PN8 a narrow pin that stands in the way of a commit may be ended, unless its holder is reading:
//       both change `state` by compare and exchange. Whoever is ended reads no more
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
#include <vector>

#include "alloc/zone_set.h"
#include "base/ids.h"
#include "io/executor.h"

namespace hexad::core {

class ReadPins {
  enum class State : std::uint8_t { kIdle, kReading, kEnded };
  // 0: free; else the LSN plus one. On a cache line of its own.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> pinned{0};
    std::atomic<Lsn> upto{kMaxLsn};  // wide
    std::atomic<State> state{State::kIdle};
  };

 public:
  // What reclaim() finds.
  struct Limits {
    Lsn wide = 0;                               // the oldest of wide pins, or the limit
    Lsn oldest = 0;                             // of all pins, or the limit
    std::vector<alloc::ReadRange> narrow = {};  // what the narrow ones need; sorted
  };

  // Pins at once without a lock; more of them share one, and are always wide.
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
    // What is held for it, unless it has been ended.
    alloc::ReadRange needed() const {
      return {lsn_, slot_ == nullptr ? kMaxLsn : slot_->upto.load()};
    }
    // From now on only copies of records are read, all of LSN `upto` or below (PN6).
    void narrow(Lsn upto) {
      if (slot_ != nullptr) slot_->upto.store(upto);
    }
    // While it is there what was pinned can be read, one at a time, and nobody ends the pin (PN8).
    class Reading {
     public:
      explicit Reading(Pin& pin) : slot_(pin.slot_) {
        State idle = State::kIdle;
        ended_ = slot_ != nullptr && !slot_->state.compare_exchange_strong(idle, State::kReading);
      }
      Reading(const Reading&) = delete;
      Reading& operator=(const Reading&) = delete;
      ~Reading() {
        if (slot_ != nullptr && !ended_) slot_->state.store(State::kIdle);
      }
      bool ended() const { return ended_; }  // nothing may be read

     private:
      Slot* slot_;
      bool ended_ = false;
    };

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

  // Calls `reclaim` with what is pinned, and `limit`. One at a time.
  template <typename Reclaim>
  void reclaim(Lsn limit, const Reclaim& reclaim) {
    const io::Lock lock(mutex_);
    limit_.store(std::max(limit_.load(), limit));  // PN3
    Limits limits{limit, limit};
    for (const Slot& slot : *slots_) {
      const std::uint64_t pinned = slot.pinned.load();  // PN4
      if (pinned == 0 || slot.state.load() == State::kEnded) continue;
      const Lsn upto = slot.upto.load();
      limits.oldest = std::min<Lsn>(limits.oldest, pinned - 1);
      if (upto == kMaxLsn) {
        limits.wide = std::min<Lsn>(limits.wide, pinned - 1);
      } else {
        limits.narrow.push_back({pinned - 1, upto});
      }
    }
    if (!others_.empty()) {
      limits.wide = std::min(limits.wide, *others_.begin());
      limits.oldest = std::min(limits.oldest, limits.wide);
    }
    std::sort(limits.narrow.begin(), limits.narrow.end());
    limits.narrow.erase(std::unique(limits.narrow.begin(), limits.narrow.end()),
                        limits.narrow.end());
    reclaim(limits);
  }

  // Ends the narrow pins of the oldest state that has any whose holder is not reading just now.
  // False: there are none.
  bool end_oldest() {
    const io::Lock lock(mutex_);
    Lsn oldest = kMaxLsn;
    const auto may_end = [](const Slot& slot) {
      return slot.pinned.load() != 0 && slot.upto.load() != kMaxLsn &&
             slot.state.load() == State::kIdle;
    };
    for (const Slot& slot : *slots_) {
      if (may_end(slot)) oldest = std::min<Lsn>(oldest, slot.pinned.load() - 1);
    }
    bool any = false;
    for (Slot& slot : *slots_) {
      if (!may_end(slot) || slot.pinned.load() != oldest + 1) continue;
      State idle = State::kIdle;
      any |= slot.state.compare_exchange_strong(idle, State::kEnded);
    }
    return any;
  }

 private:
  void release(Slot* slot, Lsn lsn) {
    if (slot != nullptr) {
      slot->state.store(State::kIdle);
      slot->upto.store(kMaxLsn);  // PN7
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
  std::multiset<Lsn> others_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
