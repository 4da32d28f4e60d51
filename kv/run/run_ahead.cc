#include "kv/run/run_ahead.h"

#include <algorithm>
#include <variant>
#include <vector>

namespace hexad::kv {

// Null: not there, and wanted, unless it is a large value's.
template <typename Part>
const Part* RunAhead::find(const RunSource& source, RunPieceKind kind,
                           const RunBlockAddress& address) {
  const Place place{&source, address.offset};
  std::shared_ptr<const RunPiece>& held = held_[place];
  if (held == nullptr) held = source.find(kind, address, RunCache::Asking::kQuiet);
  if (held == nullptr) {
    held_.erase(place);
    if (address.stored <= kRunReadAhead) wanted_[place] = {kind, address};
    return nullptr;
  }
  return std::get_if<Part>(held.get());
}

// As RunReader::get().
RunAhead::Met RunAhead::look_up(const RunSource& source, std::string_view key, Until until) {
  const RunFooter& footer = source.footer();
  if (footer.levels == 0) return Met::kNothing;
  RunChild child = footer.root;
  for (std::size_t above = footer.levels; above-- > 0;) {
    if (above == 0) {
      const auto* filter = find<RunFilter>(source, RunPieceKind::kFilter, *child.filter);
      if (filter == nullptr) return Met::kMissingAbove;
      if (!filter->may_contain(key)) return Met::kNothing;
      if (until == Until::kFilter) return Met::kMissingData;
    }
    const RunBlockAddress address = child.block;
    const auto* index = find<RunBlock>(source, RunPieceKind::kIndex, address);
    if (index == nullptr) return Met::kMissingAbove;
    const std::size_t at = index->lower_bound(key);
    if (at == index->count()) return Met::kNothing;
    Result<RunChild> below = source.child(address, *index, at, run_child_kind(above));
    if (!below.ok()) return Met::kNothing;
    child = std::move(below).value();
  }
  const auto* data = find<RunBlock>(source, RunPieceKind::kData, child.block);
  if (data == nullptr) return Met::kMissingData;
  const std::size_t at = data->lower_bound(key);
  return at < data->count() && data->key_equals(at, key) ? Met::kKey : Met::kNothing;
}

void RunAhead::get(std::span<const std::string_view> keys) {
  while (!keys.empty()) {
    std::vector<std::string_view> open(keys.begin(),
                                       keys.begin() + std::min(keys.size(), kKeysAtOnce));
    keys = keys.subspan(open.size());
    held_.clear();
    for (int round = 0; round < kMostRounds && !open.empty(); ++round) {
      wanted_.clear();
      std::erase_if(open, [this](std::string_view key) {
        bool all_known = true;
        for (const std::shared_ptr<RunReader>& run : runs_) {
          const Met met = look_up(run->source(), key, all_known ? Until::kData : Until::kFilter);
          if (met == Met::kMissingAbove || met == Met::kMissingData) all_known = false;
          if (met == Met::kMissingData || met == Met::kKey) break;
        }
        return all_known;
      });
      if (!read_wanted()) break;
    }
  }
}

// `choose`: which entry of an index to go down from; its count: none.
template <typename Choose>
void RunAhead::descend(const Choose& choose) {
  for (int round = 0; round < kMostRounds; ++round) {
    wanted_.clear();
    for (const std::shared_ptr<RunReader>& run : runs_) {
      const RunSource& source = run->source();
      RunBlockAddress next = source.footer().root.block;
      std::size_t above = source.footer().levels;
      while (above > 0) {
        const auto* index = find<RunBlock>(source, RunPieceKind::kIndex, next);
        if (index == nullptr) break;
        const std::size_t at = choose(*index);
        if (at == index->count()) break;
        const Result<RunChild> child = source.child(next, *index, at, run_child_kind(--above));
        if (!child.ok()) break;
        next = child->block;
        if (above == 0) find<RunBlock>(source, RunPieceKind::kData, next);
      }
    }
    if (!read_wanted()) return;
  }
}

void RunAhead::seek(std::string_view key) {
  descend([key](const RunBlock& index) { return index.lower_bound(key); });
}

void RunAhead::seek_to(Edge edge) {
  descend([edge](const RunBlock& index) { return edge == Edge::kFirst ? 0 : index.count() - 1; });
}

bool RunAhead::read_wanted() {
  if (wanted_.empty()) return false;
  std::vector<RunSource::Wanted> wanted;
  wanted.reserve(wanted_.size());
  for (const auto& [place, one] : wanted_) wanted.push_back({place.source, one.kind, one.address});
  const bool all = RunSource::read_together(wanted, RunAdmit::kAll).ok();
  for (RunSource::Wanted& one : wanted) {
    if (one.piece != nullptr) held_[{one.source, one.address.offset}] = std::move(one.piece);
  }
  return all;
}

}  // namespace hexad::kv
