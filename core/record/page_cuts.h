// Pages of an object that were cut off at once, by truncate() or zero(), too many to delete them
// in the transaction that did it. Its record says which they are; the background takes them back.
// doc/decisions/026-cut-pages.md
//
//   O1  a page in a cut of the object's record shows nothing, whatever is under its key
//   O2  a page that is there and in a cut is marked (under the key `k` of its body), so it is taken
//       back; and what is marked of an object's body lies within the cuts of its record
//   O3  a page comes out of a cut only with a new image of the record, in the same transaction. So
//       a record that was read with a state holds for the pages of every later state in which the
//       record is the same, though less and less of what it cuts is there.
//
// So the record and the marks may part: marks shrink as pages go, and the record follows when a
// transaction writes it the next time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hexad::core {

// Behind the last page that any object can have.
inline constexpr std::uint32_t kEndOfPages = 1U << 24;
// Of one object, waiting to be taken back.
inline constexpr std::size_t kMaxPageCuts = 256;

struct PageRange {
  std::uint32_t from = 0;
  std::uint32_t end = 0;  // exclusive

  bool empty() const { return from >= end; }
  auto operator<=>(const PageRange&) const = default;
};

// Sorted, none empty, a gap between any two.
using PageCuts = std::vector<PageRange>;

bool is_well_formed(const PageCuts& cuts);
// Where the cut that has the page ends; nothing: none has it.
std::optional<std::uint32_t> end_of_cut(const PageCuts& cuts, std::uint32_t page);
inline bool is_cut(const PageCuts& cuts, std::uint32_t page) {
  return !cuts.empty() && end_of_cut(cuts, page).has_value();
}
// The first pages of the range that no cut has; empty: there are none.
PageRange first_uncut(const PageCuts& cuts, const PageRange& range);
// Joins those that it touches. Cost of both: O(n).
void add_cut(PageCuts& cuts, const PageRange& range);
void remove_cut(PageCuts& cuts, std::uint32_t page);

}  // namespace hexad::core
