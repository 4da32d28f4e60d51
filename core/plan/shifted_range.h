// A range of one object's bytes that another object shows at a place of its own, and what that
// means for pages: which of the one come to lie in which of the other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "core/record/page_cuts.h"
#include "core/record/record.h"

namespace hexad::core {

// Bytes [offset, offset + length) of the source are [to_offset, to_offset + length) of the
// destination. All of an object: the default.
struct ShiftedRange {
  std::uint64_t offset = 0;
  std::uint64_t length = std::uint64_t{kEndOfPages} * kPageSpan;
  std::uint64_t to_offset = 0;

  bool operator==(const ShiftedRange&) const = default;

  std::uint64_t end() const { return offset + length; }
  std::uint64_t to_end() const { return to_offset + length; }
  // Where a byte of the range goes. Precondition: it is one, or the range's end.
  std::uint64_t there(std::uint64_t byte) const { return byte - offset + to_offset; }
  std::uint64_t back(std::uint64_t byte) const { return byte - to_offset + offset; }
  // The pages of the destination that show something of this one, two at most; none: it lies
  // outside.
  PageRange shown_by(std::uint32_t page) const {
    const std::uint64_t from = std::max(offset, std::uint64_t{page} * kPageSpan);
    const std::uint64_t until = std::min(end(), (std::uint64_t{page} + 1) * kPageSpan);
    return from < until ? pages_of(there(from), there(until)) : PageRange{};
  }
  // The pages of the source that this one of the destination shows something of, two at most.
  PageRange sources_of(std::uint32_t page) const {
    const std::uint64_t from = std::max(to_offset, std::uint64_t{page} * kPageSpan);
    const std::uint64_t until = std::min(to_end(), (std::uint64_t{page} + 1) * kPageSpan);
    return from < until ? pages_of(back(from), back(until)) : PageRange{};
  }
  // All pages of the source that have a part of the range.
  PageRange pages() const { return pages_of(offset, end()); }
  // Of these, the first that pages of the destination from this one on show something of; the end
  // of them: none is.
  std::uint32_t first_source(std::uint32_t page) const {
    const std::uint64_t from = std::max(to_offset, std::uint64_t{page} * kPageSpan);
    return from < to_end() ? pages_of(back(from), end()).from : pages().end;
  }
  // The pages of the destination that show the range and nothing else.
  PageRange whole_pages() const {
    return {static_cast<std::uint32_t>(divide_up(to_offset, kPageSpan)),
            static_cast<std::uint32_t>(to_end() / kPageSpan)};
  }

 private:
  static PageRange pages_of(std::uint64_t from, std::uint64_t until) {
    return {static_cast<std::uint32_t>(from / kPageSpan),
            static_cast<std::uint32_t>(divide_up(until, kPageSpan))};
  }
};

// What the page of the destination shows of `extents`, which are of one page of the source.
// Whatever is there is a hole.
void add_shifted(ExtentList& to, const ExtentList& extents, const ShiftedRange& range,
                 std::uint32_t page);

}  // namespace hexad::core
