#include "alloc/bitmap.h"

#include <algorithm>
#include <bit>
#include <string>

#include "alloc/device_layout.h"
#include "base/assert.h"

namespace hexad::alloc {

namespace {

constexpr std::uint64_t kAllSet = ~std::uint64_t{0};

// Bits [first, first + count) of a word; count from 1 to 64.
constexpr std::uint64_t mask(unsigned first, unsigned count) {
  return (count == 64 ? kAllSet : (std::uint64_t{1} << count) - 1) << first;
}

// Calls visit(word index, mask of the bits of the run in it) for every word the run touches.
template <typename Visit>
void for_each_word(UnitRun run, const Visit& visit) {
  std::uint64_t unit = run.unit;
  while (unit < run.end()) {
    const auto first = static_cast<unsigned>(unit % 64);
    const auto count = static_cast<unsigned>(std::min<std::uint64_t>(64 - first, run.end() - unit));
    visit(static_cast<std::size_t>(unit / 64), mask(first, count));
    unit += count;
  }
}

Error taken_twice(UnitRun run, const char* what) {
  return Error{
      ErrorCode::kCorruption,
      "units " + std::to_string(run.unit) + ".." + std::to_string(run.end() - 1) + ": " + what, ""};
}

}  // namespace

UnitBitmap::UnitBitmap(std::uint32_t size) : UnitBitmap(size, {}) {}

UnitBitmap::UnitBitmap(std::uint32_t size, std::span<const std::uint64_t> words)
    : size_(size),
      groups_(std::bit_ceil(
          std::max<std::size_t>((std::size_t{size} + kGroupUnits - 1) / kGroupUnits, 1))),
      words_(groups_ * kGroupWords, 0),
      tree_(2 * groups_) {
  HEXAD_ASSERT(size <= kMaxSlabUnits);
  HEXAD_ASSERT(words.empty() || words.size() == word_count(size));
  std::copy(words.begin(), words.end(), words_.begin());
  // B2: the end of the last word in use, and all words behind it.
  if (size_ % 64 != 0) words_[size_ / 64] |= mask(size_ % 64, 64 - size_ % 64);
  std::fill(words_.begin() + static_cast<std::ptrdiff_t>(word_count(size_)), words_.end(), kAllSet);
  summarize_all();
  for (const std::uint64_t word : words_) free_ += static_cast<std::uint32_t>(std::popcount(~word));
}

UnitBitmap::Summary UnitBitmap::summarize_group(std::size_t group) const {
  Summary summary;
  std::uint32_t run = 0;  // free run that ends where we stand
  bool at_head = true;    // no taken unit seen yet
  for (std::size_t w = 0; w < kGroupWords; ++w) {
    const std::uint64_t word = words_[group * kGroupWords + w];
    unsigned bit = 0;
    while (bit < 64) {
      const auto free = std::min(static_cast<unsigned>(std::countr_zero(word >> bit)), 64 - bit);
      run += free;
      bit += free;
      if (bit == 64) break;
      if (at_head) summary.head = run;
      at_head = false;
      summary.longest = std::max(summary.longest, run);
      run = 0;
      bit += static_cast<unsigned>(std::countr_one(word >> bit));
    }
  }
  if (at_head) summary.head = run;
  summary.tail = run;
  summary.longest = std::max(summary.longest, run);
  return summary;
}

UnitBitmap::Summary UnitBitmap::join(const Summary& left, const Summary& right,
                                     std::uint32_t half_units) {
  Summary both;
  both.head = left.head == half_units ? half_units + right.head : left.head;
  both.tail = right.tail == half_units ? half_units + left.tail : right.tail;
  both.longest = std::max({left.longest, right.longest, left.tail + right.head});
  return both;
}

void UnitBitmap::summarize_all() {
  for (std::size_t group = 0; group < groups_; ++group) {
    tree_[groups_ + group] = summarize_group(group);
  }
  for (std::size_t node = groups_ - 1; node > 0; --node) {
    const auto depth = static_cast<unsigned>(std::bit_width(node));  // the root has depth 1
    const auto half = static_cast<std::uint32_t>((groups_ >> depth) * kGroupUnits);
    tree_[node] = join(tree_[2 * node], tree_[2 * node + 1], half);
  }
}

void UnitBitmap::update(UnitRun run) {
  std::size_t first = run.unit / kGroupUnits;
  std::size_t last = static_cast<std::size_t>((run.end() - 1) / kGroupUnits);
  for (std::size_t group = first; group <= last; ++group) {
    tree_[groups_ + group] = summarize_group(group);
  }
  first = (groups_ + first) / 2;
  last = (groups_ + last) / 2;
  for (std::uint32_t half = kGroupUnits; first > 0; first /= 2, last /= 2, half *= 2) {
    for (std::size_t node = first; node <= last; ++node) {
      tree_[node] = join(tree_[2 * node], tree_[2 * node + 1], half);
    }
  }
}

std::uint32_t UnitBitmap::largest_free_run() const { return tree_[1].longest; }

std::uint32_t UnitBitmap::free_run_count() const {
  // A run starts at every clear bit that follows a set one.
  std::uint32_t runs = 0;
  std::uint64_t before = 1;
  for (const std::uint64_t word : words_) {
    runs += static_cast<std::uint32_t>(std::popcount(~word & (word << 1 | before)));
    before = word >> 63;
  }
  return runs;
}

// A walk over nodes from left to right. `run` free units end where the walk stands, all of them at
// or after `from`; a node that begins before `from` is walked through its children.
struct UnitBitmap::Search {
  const UnitBitmap& bitmap;
  std::uint32_t units;
  std::uint32_t from;
  std::uint32_t run = 0;

  std::optional<std::uint32_t> visit(std::size_t node, std::uint32_t start, std::uint32_t length) {
    if (start + length <= from) return std::nullopt;
    if (start >= from) {
      const Summary& summary = bitmap.tree_[node];
      if (run + summary.head >= units) return start - run;
      if (summary.longest < units) {
        run = summary.head == length ? run + length : summary.tail;
        return std::nullopt;
      }
    }
    if (node >= bitmap.groups_) return visit_group(start);
    const std::uint32_t half = length / 2;
    if (auto found = visit(2 * node, start, half)) return found;
    return visit(2 * node + 1, start + half, half);
  }

  std::optional<std::uint32_t> visit_group(std::uint32_t start) {
    for (std::uint32_t unit = std::max(start, from); unit < start + kGroupUnits;) {
      const std::uint64_t word = bitmap.words_[unit / 64];
      const unsigned bit = unit % 64;
      const auto free = std::min(static_cast<unsigned>(std::countr_zero(word >> bit)), 64 - bit);
      run += free;
      unit += free;
      if (run >= units) return unit - run;
      if (bit + free == 64) continue;
      run = 0;
      unit += static_cast<std::uint32_t>(std::countr_one(word >> (bit + free)));
    }
    return std::nullopt;
  }
};

std::optional<std::uint32_t> UnitBitmap::find_from(std::uint32_t units, std::uint32_t from) const {
  if (from >= size_) return std::nullopt;
  Search search{*this, units, from};
  return search.visit(1, 0, static_cast<std::uint32_t>(groups_ * kGroupUnits));
}

std::optional<std::uint32_t> UnitBitmap::find_free(std::uint32_t units, std::uint32_t from) const {
  if (units == 0 || units > largest_free_run()) return std::nullopt;
  if (auto found = find_from(units, from)) return found;
  return from == 0 ? std::nullopt : find_from(units, 0);
}

std::uint32_t UnitBitmap::used_in(UnitRun run) const {
  std::uint32_t used = 0;
  for_each_word(run, [&](std::size_t word, std::uint64_t bits) {
    used += static_cast<std::uint32_t>(std::popcount(words_[word] & bits));
  });
  return used;
}

bool UnitBitmap::all_free(UnitRun run) const {
  return run.units != 0 && run.end() <= size_ && used_in(run) == 0;
}

bool UnitBitmap::all_used(UnitRun run) const {
  return run.units != 0 && run.end() <= size_ && used_in(run) == run.units;
}

bool UnitBitmap::is_used(std::uint32_t unit) const {
  HEXAD_ASSERT(unit < size_);
  return (words_[unit / 64] >> (unit % 64) & 1) != 0;
}

Status UnitBitmap::check_run(UnitRun run) const {
  if (run.units != 0 && run.end() <= size_) return {};
  return Error{ErrorCode::kInvalidArgument,
               "units " + std::to_string(run.unit) + " + " + std::to_string(run.units) +
                   " are empty or outside the " + std::to_string(size_) + " of the zone",
               ""};
}

Status UnitBitmap::set(UnitRun run) {
  HEXAD_TRY(check_run(run));
  if (used_in(run) != 0) return taken_twice(run, "allocated twice");
  force_set(run);
  return {};
}

Status UnitBitmap::clear(UnitRun run) {
  HEXAD_TRY(check_run(run));
  if (used_in(run) != run.units) return taken_twice(run, "freed but not allocated");
  force_clear(run);
  return {};
}

std::uint32_t UnitBitmap::force_set(UnitRun run) {
  HEXAD_ASSERT(run.end() <= size_);
  if (run.units == 0) return 0;
  const std::uint32_t changed = run.units - used_in(run);
  for_each_word(run, [&](std::size_t word, std::uint64_t bits) { words_[word] |= bits; });
  free_ -= changed;
  update(run);
  return changed;
}

std::uint32_t UnitBitmap::force_clear(UnitRun run) {
  HEXAD_ASSERT(run.end() <= size_);
  if (run.units == 0) return 0;
  const std::uint32_t changed = used_in(run);
  for_each_word(run, [&](std::size_t word, std::uint64_t bits) { words_[word] &= ~bits; });
  free_ += changed;
  update(run);
  return changed;
}

std::vector<std::uint64_t> UnitBitmap::words() const {
  return {words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(word_count(size_))};
}

std::vector<UnitRun> UnitBitmap::used_runs() const { return runs_of(Use::kUsed); }

std::vector<UnitRun> UnitBitmap::free_runs() const { return runs_of(Use::kFree); }

std::vector<UnitRun> UnitBitmap::runs_of(Use use) const {
  const bool used = use == Use::kUsed;
  std::vector<UnitRun> runs;
  bool in_run = false;
  for (std::uint32_t unit = 0; unit < size_;) {
    // Bits in which the word differs from what the run so far would continue.
    const std::uint64_t word =
        (in_run == used ? ~words_[unit / 64] : words_[unit / 64]) >> (unit % 64);
    const unsigned left = 64 - unit % 64;
    const auto same = std::min(static_cast<unsigned>(std::countr_zero(word)), left);
    unit += same;
    if (same == left || unit >= size_) continue;
    if (in_run) {
      runs.back().units = unit - runs.back().unit;
    } else {
      runs.push_back({unit, 0});
    }
    in_run = !in_run;
  }
  if (in_run) runs.back().units = size_ - runs.back().unit;
  return runs;
}

Status UnitBitmap::check_invariants() const {
  const UnitBitmap fresh(size_, words());
  const auto broken = [](const char* what) {
    return Error{ErrorCode::kCorruption, std::string("unit bitmap: ") + what, ""};
  };
  if (fresh.tree_ != tree_) return broken("B1: a summary differs from its bits");
  if (fresh.words_ != words_) return broken("B2: a bit beyond the end is clear");
  if (fresh.free_ != free_) return broken("B3: the free count is wrong");
  return {};
}

}  // namespace hexad::alloc
