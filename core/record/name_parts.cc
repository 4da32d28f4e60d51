#include "core/record/name_parts.h"

#include <algorithm>

#include "base/assert.h"

namespace hexad::core {
namespace {

// Of two ends of ranges the one that comes first.
std::string_view first_end(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  return std::min(a, b);
}

// The last part that begins at or before the name.
NameParts::const_iterator part_of(const NameParts& parts, std::string_view name) {
  HEXAD_ASSERT(!parts.empty() && parts.front().from.empty());
  const auto behind = std::upper_bound(
      parts.begin(), parts.end(), name,
      [](std::string_view wanted, const NamePart& part) { return wanted < part.from; });
  return behind - 1;
}

}  // namespace

std::string NameRange::end_key() const {
  if (!end.empty()) return object_key(space, end);
  const std::optional<std::string> behind = prefix_end(object_prefix(space));
  HEXAD_ASSERT(behind.has_value());  // it begins with a letter
  return *behind;
}

CollectionId space_of(const NameParts& parts, std::string_view name) {
  return part_of(parts, name)->space;
}

std::vector<NameRange> ranges_of(const NameParts& parts, std::string_view from,
                                 std::string_view end) {
  std::vector<NameRange> ranges;
  if (!end.empty() && end <= from) return ranges;
  for (auto part = part_of(parts, from); part != parts.end(); ++part) {
    const std::string_view begin = std::max<std::string_view>(part->from, from);
    if (!end.empty() && begin >= end) break;
    const auto next = part + 1;
    const std::string_view part_end = next == parts.end() ? std::string_view() : next->from;
    ranges.push_back({part->space, std::string(begin), std::string(first_end(part_end, end))});
  }
  return ranges;
}

NameParts joined(const std::vector<NameRange>& ranges) {
  NameParts parts;
  std::string_view end;
  for (const NameRange& range : ranges) {
    HEXAD_ASSERT(range.from == end && (parts.empty() || !end.empty()));
    end = range.end;
    if (!parts.empty() && parts.back().space == range.space) continue;
    parts.push_back({range.from, range.space});
  }
  HEXAD_ASSERT(end.empty() && !parts.empty());
  return parts;
}

NameParts with_range_of(const NameParts& parts, const NameParts& other, std::string_view from,
                        std::string_view end) {
  std::vector<NameRange> ranges;
  if (!from.empty()) ranges = ranges_of(parts, {}, from);
  for (NameRange& range : ranges_of(other, from, end)) ranges.push_back(std::move(range));
  if (!end.empty()) {
    for (NameRange& range : ranges_of(parts, end)) ranges.push_back(std::move(range));
  }
  return joined(ranges);
}

}  // namespace hexad::core
