// An object from start to end, in pieces with their data, of which the next ones are read while the
// caller uses one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "core/store.h"
#include "io/executor.h"
#include "tools/cli/wrong_reads.h"
#include "tools/import_export/in_order.h"
#include "tools/import_export/object_pieces.h"

namespace hexad::tools {

// For a pool that is open read-only, as ObjectPieces is. Memory: three pieces.
class PieceReader {
 public:
  struct Piece {
    ObjectPiece where;
    Bytes data;  // of a hole none
    bool operator==(const Piece&) const = default;
  };
  static constexpr std::uint64_t kPieceBytes = 4 << 20;

  // Store and executor outlive this, as does `wrong_reads`, which is told what has been read, if it
  // is given. `size`: the object's.
  PieceReader(Store& store, io::Executor& executor, const std::string& collection,
              const std::string& name, std::uint64_t size, std::uint64_t piece_bytes = kPieceBytes,
              WrongReads* wrong_reads = nullptr);

  // Nothing: that was the last one. Errors: those of Store::extents() and Store::read().
  Result<std::optional<Piece>> next();

 private:
  Result<Piece> read(const ObjectPiece& where) const;

  Store& store_;
  std::string collection_;
  std::string name_;
  WrongReads* const wrong_reads_;
  ObjectPieces pieces_;
  bool ended_ = false;  // every piece has been asked for
  InOrder<Result<Piece>> reads_;
};

}  // namespace hexad::tools
