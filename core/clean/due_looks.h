// When the cleaner looks for something to do: by what has died since it last did, and by whether
// little was left then. Any thread, no lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace hexad::core {

// `died`: bytes that have since the opening. `stripe`: bytes of the longest one.
class DueLooks {
 public:
  // Enough has died since the last look, or some and little is left: `is_low` looks at all slabs,
  // and is not asked after every commit.
  template <typename IsLow>
  bool due(std::uint64_t died, std::uint64_t stripe, const IsLow& is_low) {
    const std::uint64_t looked = looked_at_.load(std::memory_order_acquire);
    if (looked == 0) return true;
    const std::uint64_t since = died + 1 - looked;
    if (since >= 2 * stripe) return true;
    const std::uint64_t next = next_check_.load(std::memory_order_relaxed);
    if (since < next) return false;
    next_check_.store(since + stripe / 8, std::memory_order_relaxed);
    return is_low();
  }
  template <typename IsLow>
  void begin(std::uint64_t died, std::uint64_t stripe, const IsLow& is_low) {
    looked_at_.store(died + 1, std::memory_order_release);
    next_check_.store(stripe / 8, std::memory_order_relaxed);
    was_low_.store(is_low(), std::memory_order_relaxed);
  }
  bool was_low() const { return was_low_.load(std::memory_order_relaxed); }

  // How much had died when a store at rest was last done, and whether enough has since.
  void note_rest(std::uint64_t died) { rested_at_.store(died, std::memory_order_release); }
  std::uint64_t rested_at() const { return rested_at_.load(std::memory_order_acquire); }
  bool rest_due(std::uint64_t died, std::uint64_t stripe) const {
    return died - rested_at() >= stripe / 4;
  }

  // All counts as new.
  void ask_again() {
    asked_.store(true, std::memory_order_release);
    looked_at_.store(0, std::memory_order_release);
    rested_at_.store(0, std::memory_order_release);
  }
  // Whether somebody has since the last call.
  bool take_asked() { return asked_.exchange(false, std::memory_order_acq_rel); }

 private:
  std::atomic<std::uint64_t> looked_at_{0};  // at the last look, plus one
  std::atomic<std::uint64_t> rested_at_{0};
  std::atomic<std::uint64_t> next_check_{0};  // so many bytes after the look is_low() is asked
  std::atomic<bool> was_low_{false};
  std::atomic<bool> asked_{false};
};

}  // namespace hexad::core
