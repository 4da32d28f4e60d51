#include "core/record/page_cuts.h"

#include <algorithm>
#include <iterator>

namespace hexad::core {

namespace {

// The first one that ends behind the page.
template <typename Cuts>
auto find(Cuts& cuts, std::uint32_t page) {
  return std::partition_point(cuts.begin(), cuts.end(),
                              [page](const PageRange& cut) { return cut.end <= page; });
}

}  // namespace

bool is_well_formed(const PageCuts& cuts) {
  std::uint64_t free_from = 0;
  for (const PageRange& cut : cuts) {
    if (cut.empty() || cut.end > kEndOfPages || cut.from < free_from) return false;
    free_from = std::uint64_t{cut.end} + 1;
  }
  return true;
}

std::optional<std::uint32_t> end_of_cut(const PageCuts& cuts, std::uint32_t page) {
  const auto at = find(cuts, page);
  if (at == cuts.end() || at->from > page) return std::nullopt;
  return at->end;
}

PageRange first_uncut(const PageCuts& cuts, const PageRange& range) {
  PageRange found = range;
  auto at = find(cuts, found.from);
  if (at != cuts.end() && at->from <= found.from) {
    found.from = at->end;
    ++at;  // the next one begins behind a gap
  }
  if (at != cuts.end()) found.end = std::min(found.end, at->from);
  return found.empty() ? PageRange{} : found;
}

void add_cut(PageCuts& cuts, const PageRange& range) {
  if (range.empty()) return;
  PageRange joined = range;
  const auto first = std::partition_point(
      cuts.begin(), cuts.end(), [&](const PageRange& cut) { return cut.end < range.from; });
  auto behind = first;
  for (; behind != cuts.end() && behind->from <= range.end; ++behind) {
    joined.from = std::min(joined.from, behind->from);
    joined.end = std::max(joined.end, behind->end);
  }
  cuts.insert(cuts.erase(first, behind), joined);
}

void remove_cut(PageCuts& cuts, std::uint32_t page) {
  const auto at = find(cuts, page);
  if (at == cuts.end() || at->from > page) return;
  const PageRange behind{page + 1, at->end};
  at->end = page;
  if (behind.empty()) {
    if (at->empty()) cuts.erase(at);
  } else if (at->empty()) {
    *at = behind;
  } else {
    cuts.insert(std::next(at), behind);
  }
}

}  // namespace hexad::core
