#include "core/metadata/omap_cursor.h"

#include <utility>

#include "core/record/keys.h"

namespace hexad::core {

std::vector<OmapId> omap_layers(const ObjectRecord& object) {
  std::vector<OmapId> layers;
  if (object.omap != 0) layers.push_back(object.omap);
  layers.insert(layers.end(), object.layers.begin(), object.layers.end());
  return layers;
}

// Behind the letter and the id of the omap.
std::string_view OmapCursor::key_of(const MetaView::Cursor& cursor) {
  return cursor.key().substr(omap_prefix(0).size());
}

Result<OmapCursor> OmapCursor::open(MetaView& view, const std::vector<OmapId>& layers,
                                    std::string_view first, std::string_view end, Hidden hidden) {
  OmapCursor merged;
  merged.hidden_ = hidden;
  merged.cursors_.reserve(layers.size());
  for (const OmapId layer : layers) {
    KeyRange range{omap_key(layer, first),
                   end.empty() ? prefix_end(omap_prefix(layer)) : omap_key(layer, end)};
    if (*range.end <= range.first) continue;
    HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor(range));
    HEXAD_TRY(cursor.seek(range.first));
    merged.cursors_.push_back(std::move(cursor));
  }
  HEXAD_TRY(merged.settle());
  return merged;
}

// The first of those that stand on the smallest key: the newest.
void OmapCursor::find_smallest() {
  at_ = cursors_.size();
  for (std::size_t i = 0; i < cursors_.size(); ++i) {
    if (!cursors_[i].valid()) continue;
    if (at_ == cursors_.size() || key_of(cursors_[i]) < key()) at_ = i;
  }
}

// The layers that stand on the key leave it.
Status OmapCursor::pass() {
  const std::string passed(key());
  for (MetaView::Cursor& cursor : cursors_) {
    if (cursor.valid() && key_of(cursor) == passed) HEXAD_TRY(cursor.next());
  }
  return {};
}

Status OmapCursor::next() {
  HEXAD_TRY(pass());
  return settle();
}

Status OmapCursor::settle() {
  for (;;) {
    find_smallest();
    if (!valid() || hidden_ == Hidden::kShown || !is_hidden_entry(value())) return {};
    HEXAD_TRY(pass());
  }
}

}  // namespace hexad::core
