#include "tools/import_export/object_compare.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "tools/cli/interrupt.h"
#include "tools/import_export/piece_reader.h"

namespace hexad::tools {

namespace {

// False: the file ends earlier, or cannot be read.
bool read_at(int fd, std::uint64_t offset, MutByteView into) {
  while (!into.empty()) {
    const ssize_t count = pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR && !interrupted()) continue;
    if (count <= 0) return false;
    offset += static_cast<std::uint64_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// Whether the file has nothing but zeros there; its holes are not read.
bool is_zero_there(int fd, const ObjectPiece& where, MutByteView buffer) {
  for (std::uint64_t at = where.offset; at < where.end() && !interrupted();) {
    const off_t data = lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return true;
    if (data >= 0) at = static_cast<std::uint64_t>(data);
    if (at >= where.end()) return true;
    const MutByteView into = buffer.first(std::min<std::uint64_t>(buffer.size(), where.end() - at));
    if (!read_at(fd, at, into) || !is_zero(into)) return false;
    at += into.size();
  }
  return true;
}

}  // namespace

Result<bool> same_objects(Store& store, io::Executor& executor, const std::string& collection,
                          const std::string& name, const std::string& other, std::uint64_t size) {
  PieceReader here(store, executor, collection, name, size);
  PieceReader there(store, executor, collection, other, size);
  for (;;) {
    if (interrupted()) return interrupted_error();
    HEXAD_TRY_ASSIGN(const std::optional<PieceReader::Piece> piece, here.next());
    HEXAD_TRY_ASSIGN(const std::optional<PieceReader::Piece> as, there.next());
    if (piece != as) return false;
    if (!piece.has_value()) return true;
  }
}

Result<bool> same_as_file(Store& store, io::Executor& executor, const std::string& collection,
                          const std::string& name, std::uint64_t size, int fd,
                          WrongReads* wrong_reads) {
  PieceReader pieces(store, executor, collection, name, size, PieceReader::kPieceBytes,
                     wrong_reads);
  Bytes buffer;
  for (;;) {
    if (interrupted()) return interrupted_error();
    HEXAD_TRY_ASSIGN(const std::optional<PieceReader::Piece> piece, pieces.next());
    if (!piece.has_value()) return true;
    buffer.resize(PieceReader::kPieceBytes);
    if (piece->where.hole) {
      if (!is_zero_there(fd, piece->where, buffer)) return false;
    } else {
      const MutByteView into = MutByteView(buffer).first(piece->data.size());
      if (!read_at(fd, piece->where.offset, into)) return false;
      if (!std::equal(into.begin(), into.end(), piece->data.begin())) return false;
    }
  }
}

}  // namespace hexad::tools
