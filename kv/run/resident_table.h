// Where the pieces of runs lie that are kept on a fast device (kv/run/resident_pieces.h): 16 bytes
// for each, in one table that never grows.
//
//   RT1 at most three quarters of the slots are taken, and between the slot that its hash says and
//       the one where an entry is there is none that is free
//
// Not thread-safe: the owner locks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hexad::kv {

// Of a piece: a run, by a number from 1, and an offset in its file.
struct ResidentKey {
  static constexpr unsigned kOffsetBits = 40;
  static constexpr std::uint64_t kMostRuns = (std::uint64_t{1} << 24) - 1;
  static constexpr std::uint64_t kMostOffset = (std::uint64_t{1} << kOffsetBits) - 1;

  std::uint64_t bits = 0;

  static ResidentKey of(std::uint64_t run, std::uint64_t offset) {
    return {run << kOffsetBits | offset};
  }
  std::uint64_t run() const { return bits >> kOffsetBits; }
  bool operator==(const ResidentKey&) const = default;
};

// A stretch of what was ever written, counted from its beginning.
struct ResidentPlace {
  static constexpr std::uint64_t kAlignment = 64;  // of positions, bytes
  static constexpr std::uint64_t kMostPosition = ((std::uint64_t{1} << 40) - 1) * kAlignment;
  static constexpr std::uint64_t kMostBytes = (1 << 24) - 1;

  std::uint64_t bits = 0;

  // Preconditions: position is aligned; neither is above its limit.
  static ResidentPlace of(std::uint64_t position, std::uint64_t bytes) {
    return {position / kAlignment << 24 | bytes};
  }
  std::uint64_t position() const { return (bits >> 24) * kAlignment; }
  std::uint64_t bytes() const { return bits & kMostBytes; }
  bool operator==(const ResidentPlace&) const = default;
};

class ResidentTable {
 public:
  // Room for at least `entries`, as far as so many bytes of memory allow.
  ResidentTable(std::uint64_t entries, std::uint64_t most_memory);
  // So many a table of so much memory has room for at most.
  static std::uint64_t most_entries(std::uint64_t memory) { return most_slots(memory) / 4 * 3; }

  // Null: not there. Valid until the next change.
  const ResidentPlace* find(ResidentKey key) const;
  // Replaces. Precondition: the key is there, or not full().
  void put(ResidentKey key, ResidentPlace place);
  void erase(ResidentKey key);
  // Cost: everything.
  void erase_if(const std::function<bool(ResidentKey, ResidentPlace)>& gone);
  void for_each(const std::function<void(ResidentKey, ResidentPlace)>& visit) const;

  bool full() const { return count_ >= capacity(); }
  std::uint64_t count() const { return count_; }
  std::uint64_t capacity() const { return slots_.size() / 4 * 3; }
  std::uint64_t memory() const { return slots_.size() * sizeof(Slot); }
  void check_invariants() const;  // for tests

 private:
  struct Slot {
    ResidentKey key;  // no bits: free
    ResidentPlace place;
  };
  static std::uint64_t most_slots(std::uint64_t memory);
  std::size_t home(ResidentKey key) const;
  std::size_t slot_of(ResidentKey key) const;

  std::vector<Slot> slots_;  // a power of two
  std::uint64_t count_ = 0;
};

}  // namespace hexad::kv
