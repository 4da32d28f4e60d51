// Where the pieces of runs lie that are kept on a fast device (kv/run/resident_pieces.h): 16 bytes
// for each, in one table. It gets another size a part at a time, while it is used.
//
//   RT1 at most three quarters of the slots are taken, and between the slot that its hash says and
//       the one where an entry is there is none that is free
//   RT2 while it moves into other slots, an entry is in those from before or in the new ones, and
//       never in both; new entries come into the new ones
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

  struct Slot {
    ResidentKey key;  // no bits: free
    ResidentPlace place;
  };
  using Slots = std::vector<Slot>;

  // --- another size ---
  // How many slots a table for `entries` has, as the constructor makes it.
  static std::uint64_t slots_for(std::uint64_t entries, std::uint64_t most_memory);
  std::uint64_t slots() const { return now_.slots.size(); }
  // From now on it moves into `fresh`, all of them free, a power of two of at least 64. Meanwhile
  // full() is by their number. Precondition: it does not move.
  void begin_move(Slots&& fresh);
  bool moves() const { return !before_.slots.empty(); }
  // Moves what is in so many of the slots from before, but for what is not `kept`, and what has no
  // room. True: there is more. False: all has moved; `emptied` gets the slots from before.
  bool move_some(std::uint64_t slots, const std::function<bool(ResidentPlace)>& kept,
                 Slots& emptied);
  // The entries in slots [from, from + count), where it does not move. For who looks at all of them
  // a part at a time.
  void visit(std::uint64_t from, std::uint64_t count,
             const std::function<void(ResidentKey, ResidentPlace)>& visit) const;

  // Null: not there. Valid until the next change.
  const ResidentPlace* find(ResidentKey key) const;
  // Replaces. Precondition: the key is there, or not full().
  void put(ResidentKey key, ResidentPlace place);
  void erase(ResidentKey key);
  // Cost: everything.
  void erase_if(const std::function<bool(ResidentKey, ResidentPlace)>& gone);
  void for_each(const std::function<void(ResidentKey, ResidentPlace)>& visit) const;

  bool full() const { return count() >= capacity(); }
  std::uint64_t count() const { return now_.count + before_.count; }
  std::uint64_t capacity() const { return now_.slots.size() / 4 * 3; }
  std::uint64_t memory() const { return (now_.slots.size() + before_.slots.size()) * sizeof(Slot); }
  void check_invariants() const;  // for tests

 private:
  struct Part {
    Slots slots;  // a power of two; before_: or none
    std::uint64_t count = 0;

    std::size_t home(ResidentKey key) const;
    std::size_t slot_of(ResidentKey key) const;
    const Slot* find(ResidentKey key) const;
    Slot* find(ResidentKey key);
    void add(ResidentKey key, ResidentPlace place);  // precondition: not there, a slot is free
    bool erase(ResidentKey key);                     // whether it was there
    void erase_if(const std::function<bool(ResidentKey, ResidentPlace)>& gone);
    void for_each(const std::function<void(ResidentKey, ResidentPlace)>& visit) const;
    void check_invariants() const;
  };
  static std::uint64_t most_slots(std::uint64_t memory);

  Part now_;
  Part before_;              // what has not moved yet (RT2)
  std::uint64_t moved_ = 0;  // slots of before_, from its beginning, which are free
};

}  // namespace hexad::kv
