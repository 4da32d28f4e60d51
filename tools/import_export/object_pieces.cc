#include "tools/import_export/object_pieces.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace hexad::tools {

namespace {

constexpr std::uint64_t kWindow = 4_GiB;

}  // namespace

ObjectPieces::ObjectPieces(Store& store, std::string collection, std::string name,
                           const ByteRange& range, std::uint64_t size, std::uint64_t at_most)
    : store_(store),
      collection_(std::move(collection)),
      name_(std::move(name)),
      position_(std::min(range.offset, size)),
      end_(position_ + std::min(range.length, size - position_)),
      at_most_(at_most),
      known_end_(position_) {}

// The next window that has data, or the end.
Status ObjectPieces::look_ahead() {
  while (next_ == data_.size() && known_end_ < end_) {
    const ByteRange window{known_end_, std::min(kWindow, end_ - known_end_)};
    HEXAD_TRY_ASSIGN(data_, store_.extents(collection_, name_, window));
    next_ = 0;
    known_end_ += window.length;
  }
  return {};
}

Result<std::optional<ObjectPiece>> ObjectPieces::next() {
  if (position_ == end_) return std::optional<ObjectPiece>();
  HEXAD_TRY(look_ahead());
  const std::uint64_t data_from = next_ == data_.size() ? end_ : data_[next_].offset;
  ObjectPiece piece{position_, 0, position_ < data_from};
  if (piece.hole) {
    piece.length = data_from - position_;
  } else {
    const std::uint64_t data_end = data_from + data_[next_].length;
    piece.length = std::min(at_most_, data_end - position_);
    data_[next_] = {piece.end(), data_end - piece.end()};
    if (data_[next_].length == 0) ++next_;
  }
  position_ = piece.end();
  return std::optional<ObjectPiece>(piece);
}

}  // namespace hexad::tools
