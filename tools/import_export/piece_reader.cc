#include "tools/import_export/piece_reader.h"

#include <cstddef>
#include <utility>

namespace hexad::tools {

namespace {

constexpr std::size_t kAhead = 2;  // pieces, beside the one that is returned

}  // namespace

PieceReader::PieceReader(Store& store, io::Executor& executor, const std::string& collection,
                         const std::string& name, std::uint64_t size, std::uint64_t piece_bytes,
                         WrongReads* wrong_reads)
    : store_(store),
      collection_(collection),
      name_(name),
      wrong_reads_(wrong_reads),
      pieces_(store, collection, name, {0, size}, size, piece_bytes),
      reads_(executor) {}

Result<PieceReader::Piece> PieceReader::read(const ObjectPiece& where) const {
  Piece piece{where, {}};
  if (where.hole) return piece;
  piece.data.resize(where.length);
  const Result<std::uint64_t> read = store_.read(collection_, name_, where.offset, piece.data);
  if (wrong_reads_ != nullptr) {
    wrong_reads_->note(store_, {collection_, name_, where.offset, where.length});
  }
  HEXAD_TRY_ASSIGN(const std::uint64_t count, read);
  if (count == where.length) return piece;
  return Error{
      ErrorCode::kConflict,
      "has become shorter while it was read: " + std::to_string(where.offset + count) + " bytes",
      ""};
}

Result<std::optional<PieceReader::Piece>> PieceReader::next() {
  while (!ended_ && reads_.size() <= kAhead) {
    HEXAD_TRY_ASSIGN(const std::optional<ObjectPiece> where, pieces_.next());
    ended_ = !where.has_value();
    if (!ended_) reads_.add([this, at = *where] { return read(at); });
  }
  if (reads_.empty()) return std::optional<Piece>();
  HEXAD_TRY_ASSIGN(Piece piece, reads_.take());
  return std::optional<Piece>(std::move(piece));
}

}  // namespace hexad::tools
