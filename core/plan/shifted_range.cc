#include "core/plan/shifted_range.h"

#include "core/record/object_extents.h"

namespace hexad::core {

void add_shifted(ExtentList& to, const ExtentList& extents, const ShiftedRange& range,
                 std::uint32_t page) {
  const std::uint64_t first = std::max(range.to_offset, std::uint64_t{page} * kPageSpan);
  const std::uint64_t behind = std::min(range.to_end(), (std::uint64_t{page} + 1) * kPageSpan);
  if (first >= behind) return;
  for (const Extent& extent : extents) {
    const std::uint64_t begin = std::max(extent.offset, range.back(first));
    const std::uint64_t end = std::min(extent.end(), range.back(behind));
    if (begin >= end) continue;
    Extent shown = slice(extent, begin, end - begin);
    shown.offset = range.there(begin);
    insert(to, std::move(shown));
  }
}

}  // namespace hexad::core
