#include "kv/run/run_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"

namespace hexad::kv {

namespace {

// The part of a piece, which it keeps alive.
template <typename Part>
std::shared_ptr<const Part> part_of(const std::shared_ptr<const RunPiece>& piece) {
  if (piece == nullptr) return nullptr;
  return {piece, &std::get<Part>(*piece)};
}

}  // namespace

Result<RunBlock> RunSource::read_block(const RunBlockAddress& address) const {
  Bytes stored(address.stored);  // bounded by the address (RB3)
  HEXAD_TRY(file_->read(address.offset, stored));
  return parse_block(address, stored);
}

Result<RunBlock> RunSource::parse_block(const RunBlockAddress& address, ByteView stored) const {
  HEXAD_TRY_ASSIGN(std::string raw, unpack(address, stored));
  Result<RunBlock> block = RunBlock::parse(std::move(raw));
  if (!block.ok()) return corrupt(address.offset, block.error().message);
  return block;
}

Status RunSource::check_stored(const RunBlockAddress& address, ByteView stored) const {
  const Status good = check_run_block(address, stored);
  return good.ok() ? good : corrupt(address.offset, good.error().message);
}

Result<RunFilter> RunSource::read_filter(const RunBlockAddress& address) const {
  Bytes stored(address.stored);  // RB3
  HEXAD_TRY(file_->read(address.offset, stored));
  HEXAD_TRY_ASSIGN(RunPiece piece, parse(RunPieceKind::kFilter, address, stored));
  return std::get<RunFilter>(std::move(piece));
}

Status RunSource::read_bytes(std::uint64_t offset, MutByteView out) const {
  return file_->read(offset, out);
}

Result<RunPiece> RunSource::parse(RunPieceKind kind, const RunBlockAddress& address,
                                  ByteView stored) const {
  if (kind != RunPieceKind::kFilter) {
    HEXAD_TRY_ASSIGN(RunBlock block, parse_block(address, stored));
    return RunPiece(std::move(block));
  }
  HEXAD_TRY_ASSIGN(std::string raw, unpack(address, stored));
  Result<RunFilter> filter = RunFilter::parse(std::move(raw));
  if (!filter.ok()) return corrupt(address.offset, filter.error().message);
  return RunPiece(std::move(filter).value());
}

Result<std::shared_ptr<const RunPiece>> RunSource::piece(RunPieceKind kind,
                                                         const RunBlockAddress& address,
                                                         Reads reads, RunAdmit admit) const {
  std::shared_ptr<const RunPiece> kept = find(kind, address, RunCache::Asking::kCounted);
  const bool may_read =
      reads == Reads::kAll || (reads == Reads::kDataOnly && kind == RunPieceKind::kData);
  if (kept != nullptr || !may_read) return kept;
  Wanted wanted{this, kind, address};
  HEXAD_TRY(read_all({&wanted, 1}, admit, [](std::span<const RunRead> files) {
    return files.front().file->read(files.front().offset, files.front().out);
  }));
  return std::move(wanted.piece);
}

Status RunSource::read_together(std::span<Wanted> wanted, RunAdmit admit) {
  return read_all(wanted, admit, [](std::span<const RunRead> files) {
    return files.front().file->read_together(files);
  });
}

Status RunSource::read_all(std::span<Wanted> wanted, RunAdmit admit, ReadFiles read_files) {
  if (wanted.empty()) return {};
  RunCache& cache = wanted.front().source->cache_;
  std::vector<Bytes> stored;
  std::vector<RunStoredRead> copies;
  stored.reserve(wanted.size());
  copies.reserve(wanted.size());
  for (const Wanted& one : wanted) {
    stored.emplace_back(one.address.stored);  // RB3
    copies.push_back({one.key(), stored.back()});
  }
  cache.read_stored(copies);
  std::vector<RunRead> reads;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Wanted& one = wanted[i];
    if (copies[i].found) {
      Result<RunPiece> piece = one.source->parse(one.kind, one.address, stored[i]);  // FB2
      if (piece.ok()) {
        one.piece = cache.keep(one.key(), std::move(piece).value(), admit);
        continue;
      }
      cache.drop_stored(one.key());
    }
    reads.push_back({&one.source->file(), one.address.offset, stored[i]});
  }
  if (reads.empty()) return {};
  const io::Nanos began = cache.now();
  HEXAD_TRY(read_files(reads));
  cache.note_file_read(reads.size(), cache.now() - began);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Wanted& one = wanted[i];
    if (one.piece != nullptr) continue;
    HEXAD_TRY_ASSIGN(RunPiece piece, one.source->parse(one.kind, one.address, stored[i]));
    if (admit == RunAdmit::kAll) cache.offer_stored(one.key(), stored[i]);
    one.piece = cache.keep(one.key(), std::move(piece), admit);
  }
  return {};
}

std::shared_ptr<const RunBlock> RunSource::keep_data(const RunBlockAddress& address, RunBlock block,
                                                     RunAdmit admit) const {
  return part_of<RunBlock>(
      cache_.keep({RunPieceKind::kData, serial_, address.offset}, std::move(block), admit));
}

Result<std::shared_ptr<const RunBlock>> RunSource::index_block(const RunBlockAddress& address,
                                                               Reads reads) const {
  HEXAD_TRY_ASSIGN(const auto found, piece(RunPieceKind::kIndex, address, reads, RunAdmit::kAll));
  return part_of<RunBlock>(found);
}

Result<std::shared_ptr<const RunFilter>> RunSource::filter(const RunBlockAddress& address,
                                                           Reads reads) const {
  HEXAD_TRY_ASSIGN(const auto found, piece(RunPieceKind::kFilter, address, reads, RunAdmit::kAll));
  return part_of<RunFilter>(found);
}

Result<std::shared_ptr<const RunBlock>> RunSource::data_block(const RunBlockAddress& address,
                                                              Reads reads, RunAdmit admit) const {
  HEXAD_TRY_ASSIGN(const auto found, piece(RunPieceKind::kData, address, reads, admit));
  return part_of<RunBlock>(found);
}

Result<RunChild> RunSource::child(const RunBlockAddress& index_address, const RunBlock& index,
                                  std::size_t at, RunBlockKind kind) const {
  const std::optional<std::string_view> value = index.value(at);
  if (!value.has_value()) return corrupt(index_address.offset, "a tombstone in the index");
  Result<RunChild> child = decode_run_child(*value, kind, index_address.offset);
  if (!child.ok()) return corrupt(index_address.offset, child.error().message);
  return child;
}

Error RunSource::corrupt(std::uint64_t offset, const std::string& what) const {
  return Error{ErrorCode::kCorruption,
               "run of LSNs (" + std::to_string(footer_.info.first_lsn) + ", " +
                   std::to_string(footer_.info.last_lsn) + "]: block at offset " +
                   std::to_string(offset) + " of " + std::to_string(footer_.info.bytes) +
                   " B: " + what,
               "Run fsck to see which stripes of the run are damaged."};
}

Result<std::string> RunSource::unpack(const RunBlockAddress& address, ByteView stored) const {
  Result<std::string> raw = load_run_block(address, stored);
  if (!raw.ok() && raw.error().code == ErrorCode::kCorruption) {
    return corrupt(address.offset, raw.error().message);
  }
  return raw;
}

Result<RunBlock> RunWindow::block(const RunSource& source, const RunBlockAddress& address,
                                  std::uint64_t end) {
  if (address.stored > kRunReadAhead) return source.read_block(address);
  if (address.offset < offset_ || address.end() > offset_ + bytes_.size()) {
    const std::uint64_t last =
        std::max(address.end(), std::min(end, address.offset + kRunReadAhead));
    offset_ = address.offset;
    bytes_.resize(last - offset_);
    if (Status status = source.read_bytes(offset_, bytes_); !status.ok()) {
      bytes_.clear();
      return status.error();
    }
  }
  return source.parse_block(address,
                            ByteView(bytes_).subspan(address.offset - offset_, address.stored));
}

}  // namespace hexad::kv
