// The units of a zone, one bit each (1 = taken), with a tree of summaries over groups of 512 bits:
// free units at the start, at the end, and the longest free run. Finding the first run of a
// length costs O(log units) however full the zone is; so does a change; the longest run is known.
// Not thread-safe: the caller locks. check_invariants():
//   B1  every summary equals the one computed from the bits below it
//   B2  bits beyond size() are set, so that no run reaches past the end
//   B3  free_count() equals the number of clear bits
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "alloc/zone.h"
#include "base/error.h"

namespace hexad::alloc {

class UnitBitmap {
 public:
  // All free. `size`: units, at most kMaxSlabUnits. Memory: about 1.3 bits per unit.
  explicit UnitBitmap(std::uint32_t size);
  // From raw words as words() returns them; bits beyond `size` are ignored.
  // Precondition: words.size() == word_count(size).
  UnitBitmap(std::uint32_t size, std::span<const std::uint64_t> words);

  static std::size_t word_count(std::uint32_t size) { return (std::size_t{size} + 63) / 64; }

  std::uint32_t size() const { return size_; }
  std::uint32_t free_count() const { return free_; }
  std::uint32_t used_count() const { return size_ - free_; }
  // Length of the longest free run. O(1).
  std::uint32_t largest_free_run() const;
  // Number of free runs: with free_count(), the mean length of a hole. O(units / 64).
  std::uint32_t free_run_count() const;

  // The first free run of `units` that begins at or after `from`, else the first of all (next fit
  // with wrap). Nothing when there is none, or when `units` is 0.
  std::optional<std::uint32_t> find_free(std::uint32_t units, std::uint32_t from = 0) const;

  // True when the run lies inside and all of it is free (taken). False for an empty run.
  bool all_free(UnitRun run) const;
  bool all_used(UnitRun run) const;
  std::uint32_t used_in(UnitRun run) const;  // taken units of a run that lies inside
  bool is_used(std::uint32_t unit) const;    // precondition: unit < size()

  // Takes free units, gives taken ones back. Errors, without effect: kInvalidArgument (empty or
  // outside), kCorruption (a unit of the run is taken (free) already: double allocation or free).
  Status set(UnitRun run);
  Status clear(UnitRun run);
  // The same for any state before; returns how many units changed. Precondition: run inside.
  std::uint32_t force_set(UnitRun run);
  std::uint32_t force_clear(UnitRun run);

  // Bit u % 64 of word u / 64 is unit u; bits beyond size() are set.
  std::vector<std::uint64_t> words() const;

  // Every run of taken units, in order. O(units / 64 + runs).
  std::vector<UnitRun> used_runs() const;
  // Every free run, likewise.
  std::vector<UnitRun> free_runs() const;

  // B1 to B3. Errors: kCorruption naming the invariant.
  Status check_invariants() const;

 private:
  struct Summary {
    std::uint32_t head = 0;     // free units at the start
    std::uint32_t tail = 0;     // free units at the end
    std::uint32_t longest = 0;  // of any free run
    bool operator==(const Summary&) const = default;
  };
  static constexpr std::uint32_t kGroupUnits = 512;
  static constexpr std::size_t kGroupWords = kGroupUnits / 64;

  // Walks the tree from left to right with the length of the free run that ends where it stands.
  struct Search;

  Summary summarize_group(std::size_t group) const;
  static Summary join(const Summary& left, const Summary& right, std::uint32_t half_units);
  void summarize_all();
  void update(UnitRun run);
  enum class Use : std::uint8_t { kFree, kUsed };
  std::vector<UnitRun> runs_of(Use use) const;
  Status check_run(UnitRun run) const;
  std::optional<std::uint32_t> find_from(std::uint32_t units, std::uint32_t from) const;

  std::uint32_t size_;
  std::uint32_t free_ = 0;
  std::size_t groups_;                // leaves of the tree, a power of two
  std::vector<std::uint64_t> words_;  // groups_ * kGroupWords
  std::vector<Summary> tree_;         // node 1 is the root, children of i are 2i and 2i + 1
};

}  // namespace hexad::alloc
