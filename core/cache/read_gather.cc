#include "core/cache/read_gather.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

// User bytes that are asked of the devices at once: enough to keep all of them busy, and a bound
// for the buffers of stored bytes behind it.
constexpr std::uint64_t kReadAtOnce = 8 << 20;

// The bytes of a piece that no blob has: of a hole, or inline. False: it is in a blob.
bool copy_from_record(const ExtentList& extents, const Piece& piece, MutByteView out) {
  switch (piece.kind) {
    case PieceKind::kHole:
      fill_zero(out);
      return true;
    case PieceKind::kInline:
      copy_bytes(out, as_bytes(extents[piece.extent].bytes).subspan(piece.from, piece.length));
      return true;
    case PieceKind::kBlob:
      break;
  }
  return false;
}

// Hands the parts of a blob's bytes in [from, from + length) to `take`, in order.
template <typename Take>
bool take_blocks(ReadCache& cache, ReadCache::BlockKey key, std::uint64_t from,
                 std::uint64_t length, const Take& take) {
  const std::uint64_t size = cache.block_size();
  while (length > 0) {
    key.block = static_cast<std::uint32_t>(from / size);
    const auto block = cache.find_block(key, ReadCache::Count::kHits);
    if (block == nullptr) return false;
    const std::uint64_t skip = from % size;
    const ByteView part = ByteView(block->bytes).subspan(skip);
    const std::uint64_t taken = std::min<std::uint64_t>(length, part.size());
    take(part.first(taken));
    length -= taken;
    from += taken;
  }
  return true;
}

bool copy_blocks(ReadCache& cache, const ReadCache::BlockKey& key, std::uint64_t from,
                 MutByteView out) {
  return take_blocks(cache, key, from, out.size(), [&](ByteView part) {
    copy_bytes(out, part);
    out = out.subspan(part.size());
  });
}

// One extent, not inline, that covers the range: the usual small object.
bool is_one_blob(const ExtentList& extents, std::uint64_t at, std::uint64_t length) {
  return extents.size() == 1 && !extents[0].is_inline() && extents[0].offset <= at &&
         at + length <= extents[0].end();
}

}  // namespace

Status ReadGather::add(const ExtentList& extents, std::uint64_t serial,
                       std::shared_ptr<const void> owner, std::uint64_t at, MutByteView out) {
  if (owner != nullptr) owners_.push_back(std::move(owner));
  const auto take = [&](std::size_t extent, std::uint64_t from, MutByteView part) {
    const Blob& blob = extents[extent].blob;
    if (serial == 0) {
      ranges_.push_back({&blob, from, part});
      in_flight_ += part.size();
      missing_ += part.size();
    } else {
      add_blocks(blob, {serial, static_cast<std::uint32_t>(extent), 0}, from, part);
    }
  };
  if (is_one_blob(extents, at, out.size())) {
    // Without a list of pieces.
    if (!out.empty()) take(0, extents[0].blob_offset + (at - extents[0].offset), out);
    return in_flight_ >= kReadAtOnce ? finish() : Status();
  }
  for (const Piece& piece : lookup(extents, at, out.size())) {
    const MutByteView part = out.subspan(piece.offset - at, piece.length);
    if (!copy_from_record(extents, piece, part)) take(piece.extent, piece.from, part);
  }
  if (in_flight_ >= kReadAtOnce) return finish();
  return {};
}

void ReadGather::add_blocks(const Blob& blob, const ReadCache::BlockKey& key, std::uint64_t from,
                            MutByteView out) {
  const std::uint64_t size = cache_.block_size();
  const std::uint64_t end = from + out.size();
  const std::uint64_t after = divide_up(end, size);
  std::uint64_t missing = from / size;  // blocks from here to the present one are not there
  const auto fill_up_to = [&](std::uint64_t block) {
    if (missing < block) {
      const ReadCache::BlockKey first{key.serial, key.extent, static_cast<std::uint32_t>(missing)};
      add_fill(blob, first, block - missing, from, out);
    }
    missing = block + 1;
  };
  for (std::uint64_t index = missing; index < after; ++index) {
    const ReadCache::BlockKey here{key.serial, key.extent, static_cast<std::uint32_t>(index)};
    // What a hit could be was counted before by who tried without asking devices.
    const auto block = cache_.find_block(here, ReadCache::Count::kMisses);
    if (block == nullptr) continue;
    fill_up_to(index);
    const std::uint64_t begin = std::max(from, index * size);
    const std::uint64_t stop = std::min(end, index * size + block->bytes.size());
    from_cache_ += stop - begin;
    copy_bytes(out.subspan(begin - from),
               ByteView(block->bytes).subspan(begin - index * size, stop - begin));
  }
  fill_up_to(after);
}

void ReadGather::add_fill(const Blob& blob, const ReadCache::BlockKey& first, std::uint64_t count,
                          std::uint64_t from, MutByteView out) {
  const std::uint64_t size = cache_.block_size();
  const std::uint64_t begin = first.block * size;
  const std::uint64_t end = std::min<std::uint64_t>(blob.raw, begin + count * size);
  const std::uint64_t wanted_begin = std::max(begin, from);
  const std::uint64_t wanted_end = std::min<std::uint64_t>(end, from + out.size());
  Fill fill;
  fill.first = first;
  const MutByteView wanted = out.subspan(wanted_begin - from, wanted_end - wanted_begin);
  MutByteView into = wanted;
  if (wanted.size() != end - begin) {
    fill.buffer = AlignedBuffer(end - begin);
    fill.wanted = wanted_begin - begin;
    fill.out = wanted;
    into = fill.buffer.bytes();
  }
  fill.bytes = into;
  ranges_.push_back({&blob, begin, into});
  in_flight_ += into.size();
  missing_ += wanted.size();
  fills_.push_back(std::move(fill));
}

Status ReadGather::finish() {
  if (!ranges_.empty()) {
    const io::Nanos began = cache_.clock().now();
    HEXAD_TRY(reader_.read(ranges_));
    cache_.note_device_read(from_cache_, missing_, cache_.clock().now() - began);
  }
  const std::uint64_t size = cache_.block_size();
  for (const Fill& fill : fills_) {
    ReadCache::BlockKey key = fill.first;
    for (std::uint64_t at = 0; at < fill.bytes.size(); at += size, ++key.block) {
      cache_.insert_block(
          key, fill.bytes.subspan(at, std::min<std::uint64_t>(size, fill.bytes.size() - at)),
          admit_);
    }
    if (!fill.buffer.empty())
      copy_bytes(fill.out, fill.bytes.subspan(fill.wanted, fill.out.size()));
  }
  ranges_.clear();
  fills_.clear();
  owners_.clear();
  in_flight_ = 0;
  from_cache_ = 0;
  missing_ = 0;
  return {};
}

bool copy_from_cache(ReadCache& cache, const ExtentList& extents, std::uint64_t serial,
                     std::uint64_t at, MutByteView out) {
  // Without a list of pieces.
  if (is_one_blob(extents, at, out.size())) {
    return copy_blocks(cache, {serial, 0, 0}, extents[0].blob_offset + (at - extents[0].offset),
                       out);
  }
  for (const Piece& piece : lookup(extents, at, out.size())) {
    const MutByteView part = out.subspan(piece.offset - at, piece.length);
    if (copy_from_record(extents, piece, part)) continue;
    if (!copy_blocks(cache, {serial, static_cast<std::uint32_t>(piece.extent), 0}, piece.from,
                     part)) {
      return false;
    }
  }
  return true;
}

std::optional<Bytes> get_from_cache(ReadCache& cache, const ExtentList& extents,
                                    std::uint64_t serial, std::uint64_t size) {
  Bytes bytes;
  if (is_one_blob(extents, 0, size)) {
    bytes.reserve(size);
    const auto append = [&](ByteView part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
    if (!take_blocks(cache, {serial, 0, 0}, extents[0].blob_offset, size, append)) return {};
    return bytes;
  }
  bytes.resize(size);
  if (!copy_from_cache(cache, extents, serial, 0, bytes)) return {};
  return bytes;
}

}  // namespace hexad::core
