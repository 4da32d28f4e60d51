// Walks the omap of an object as the object shows it: its own part and the layers below, key by
// key, the newest entry of each and none that is hidden.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/metadata/metadata.h"
#include "core/record/record.h"

namespace hexad::core {

class OmapCursor {
 public:
  enum class Hidden : std::uint8_t { kSkipped, kShown };

  // Over the keys of [first, end), and to the last if `end` is empty; stands on the first of them.
  // The header has the empty key. `layers`: the newest first. `view` outlives it.
  // Cost: a seek per layer; a step moves the layers that stand on the key.
  static Result<OmapCursor> open(MetaView& view, const std::vector<OmapId>& layers,
                                 std::string_view first, std::string_view end,
                                 Hidden hidden = Hidden::kSkipped);

  bool valid() const { return at_ < cursors_.size(); }
  // Until the next step. Precondition: valid().
  std::string_view key() const { return key_of(cursors_[at_]); }
  std::string_view value() const { return cursors_[at_].value(); }
  std::size_t layer() const { return at_; }  // which one the entry stands in
  Status next();

 private:
  static std::string_view key_of(const MetaView::Cursor& cursor);
  void find_smallest();
  Status pass();
  Status settle();

  std::vector<MetaView::Cursor> cursors_;
  std::size_t at_ = 0;
  Hidden hidden_ = Hidden::kSkipped;
};

// All that an object shows, the newest first.
std::vector<OmapId> omap_layers(const ObjectRecord& object);

}  // namespace hexad::core
