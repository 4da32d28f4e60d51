#include "core/check/damage_search.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/check/record_walk.h"

namespace hexad::core {

namespace {

bool order(const Damage& a, const Damage& b) {
  return std::tie(a.collection, a.name, a.omap_key, a.offset) <
         std::tie(b.collection, b.name, b.omap_key, b.offset);
}

Result<bool> any_has(MetaView& view, const std::vector<OmapId>& omaps, const std::string& key) {
  for (const OmapId omap : omaps) {
    HEXAD_TRY_ASSIGN(const auto value, view.get(omap_key(omap, key)));
    if (value.has_value()) return true;
  }
  return false;
}

}  // namespace

DamageSearch::DamageSearch(const Parts& parts, std::vector<DamageList::Entry> noted,
                           std::function<bool()> go_on)
    : parts_(parts), go_on_(std::move(go_on)) {
  for (DamageList::Entry& entry : noted) noted_.insert(std::move(entry));
}

Result<DamageSearch::Outcome> DamageSearch::run() {
  if (noted_.empty()) return std::move(outcome_);
  // Behind the entries, so that nothing is missed that was noted by then (DM2).
  HEXAD_TRY_ASSIGN(ReadState state, parts_.reads.read_state());
  MetaView& view = *state.view;
  HEXAD_TRY(look_at_collections(view));
  RecordWalk walk(view, parts_.shape, [this] { return step(); });
  HEXAD_TRY(walk.over_pages([this](const PageKey& key, const ExtentList& extents) -> Status {
    std::vector<Shown> shown = shown_in(extents);
    if (!shown.empty()) pages_[key.body][key.page] = std::move(shown);
    return {};
  }));
  HEXAD_TRY(walk.over_entries([this](std::string_view entry, const ObjectRecord& record) -> Status {
    HEXAD_TRY_ASSIGN(const OmapKey key, parse_omap_key(entry));
    std::vector<Shown> shown = shown_by(record);
    if (!shown.empty()) values_[key.omap][std::string(key.key)] = std::move(shown);
    return {};
  }));
  HEXAD_TRY(walk.over_objects([&](std::string_view key, const ObjectRecord& record) {
    return look_at_object(view, key, record);
  }));
  state.view.reset();
  outcome_.pin = std::move(state.pin);
  HEXAD_TRY(judge());
  std::sort(outcome_.found.begin(), outcome_.found.end(),
            [](const Found& a, const Found& b) { return order(a.damage, b.damage); });
  return std::move(outcome_);
}

// The part of it that lies in `lost`, a range of the blob, in the object.
std::optional<ByteRange> DamageSearch::common(const Shown& shown, const ByteRange& lost) {
  const std::uint64_t from = std::max(shown.blob_offset, lost.offset);
  const std::uint64_t to = std::min(shown.blob_offset + shown.length, lost.offset + lost.length);
  if (from >= to) return std::nullopt;
  return ByteRange{shown.offset + (from - shown.blob_offset), to - from};
}

Status DamageSearch::step() {
  constexpr std::uint64_t kSteps = 1024;
  if (++steps_ % kSteps != 0) return {};
  if (!go_on_()) {
    return Error{ErrorCode::kClosed, "damage was being looked for, and the store was closed", ""};
  }
  return {};
}

std::vector<DamageSearch::Shown> DamageSearch::shown_in(const ExtentList& extents) {
  std::vector<Shown> shown;
  for (const Extent& extent : parts_.log_blobs.resolve(extents)) {
    if (extent.is_inline() || extent.blob.placement == Placement::kLog) continue;
    const DamagedBlob blob = damaged_blob(extent.blob);
    if (noted_.count(blob) == 0) continue;
    blobs_.emplace(blob, extent.blob);
    shown.push_back({extent.offset, extent.length, extent.blob_offset, blob});
  }
  return shown;
}

Status DamageSearch::look_at_collections(MetaView& view) {
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor_over(kCollectionKeys));
  while (cursor.valid()) {
    HEXAD_TRY_ASSIGN(CollectionRecord record, decode_collection(cursor.value()));
    HEXAD_TRY_ASSIGN(const std::string_view name, parse_collection_key(cursor.key()));
    collections_.emplace_back(name, std::move(record));
    HEXAD_TRY(cursor.next());
  }
  return {};
}

std::optional<std::string> DamageSearch::collection_of(const ObjectKey& key) const {
  for (const auto& [name, record] : collections_) {
    if (record.space_of(key.name) == key.space) return name;
  }
  return std::nullopt;
}

// All that an object or a value shows.
std::vector<DamageSearch::Shown> DamageSearch::shown_by(const ObjectRecord& record) {
  if (record.body == 0) return shown_in(record.extents);
  std::vector<Shown> shown;
  const auto pages = pages_.find(record.body);
  if (pages == pages_.end()) return shown;
  for (const auto& [page, of_page] : pages->second) {
    if (is_cut(record.cuts, page)) continue;
    shown.insert(shown.end(), of_page.begin(), of_page.end());
  }
  return shown;
}

Status DamageSearch::look_at_object(MetaView& view, std::string_view object,
                                    const ObjectRecord& record) {
  HEXAD_TRY_ASSIGN(const ObjectKey key, parse_object_key(object));
  std::vector<Shown> shown = shown_by(record);
  if (shown.empty() && !may_have_values(record)) return {};
  const std::optional<std::string> collection = collection_of(key);
  if (!collection.has_value()) return {};
  HEXAD_TRY(add_values(view, record, {*collection, std::string(key.name), {}, {}}));
  add({*collection, std::string(key.name), {}, std::move(shown)});
  return {};
}

bool DamageSearch::may_have_values(const ObjectRecord& record) const {
  if (record.omap != 0 && values_.count(record.omap) != 0) return true;
  return std::any_of(record.layers.begin(), record.layers.end(),
                     [this](OmapId layer) { return values_.count(layer) != 0; });
}

// Those of a layer that no newer one hides or has otherwise.
Status DamageSearch::add_values(MetaView& view, const ObjectRecord& record, const Owner& object) {
  std::vector<OmapId> newer;
  std::vector<OmapId> layers = record.layers;
  if (record.omap != 0) layers.insert(layers.begin(), record.omap);
  for (const OmapId layer : layers) {
    const auto values = values_.find(layer);
    if (values != values_.end()) {
      for (const auto& [key, shown] : values->second) {
        HEXAD_TRY_ASSIGN(const bool hidden, any_has(view, newer, key));
        if (!hidden) add({object.collection, object.name, key, shown});
      }
    }
    newer.push_back(layer);
  }
  return {};
}

void DamageSearch::add(Owner owner) {
  if (!owner.shown.empty()) owners_.push_back(std::move(owner));
}

// Reads what is shown again.
Status DamageSearch::judge() {
  std::map<DamagedBlob, std::vector<ByteRange>> lost;
  std::set<DamagedBlob> unknown;
  for (const auto& [name, blob] : blobs_) {
    HEXAD_TRY(step());
    Result<std::vector<ByteRange>> ranges = parts_.blobs.find_lost(blob);
    if (!ranges.ok()) unknown.insert(name);
    lost[name] = ranges.ok() ? std::move(ranges).value() : std::vector<ByteRange>{{0, blob.raw}};
  }
  std::set<DamagedBlob> still = unknown;
  for (const Owner& owner : owners_) {
    for (const Shown& shown : owner.shown) {
      for (const ByteRange& range : lost[shown.blob]) {
        const std::optional<ByteRange> part = common(shown, range);
        if (!part.has_value()) continue;
        still.insert(shown.blob);
        const DamageRecord& record = noted_.at(shown.blob);
        outcome_.found.push_back(
            {{owner.collection, owner.name, owner.omap_key, part->offset, part->length,
              record.first_seen, record.problem, record.acknowledged},
             shown.blob});
      }
    }
  }
  for (const auto& [name, record] : noted_) {
    if (still.count(name) == 0) outcome_.over.push_back(name);
  }
  return {};
}

}  // namespace hexad::core
