#include "kv/run/run_leaf.h"

#include <utility>

namespace hexad::kv {

namespace {

// What its filter has room for at 16 bits a key is at least half of a full one, or its block is.
bool is_large_enough(const RunLeafAddress& leaf) {
  const std::uint64_t keys =
      std::uint64_t{leaf.filter.raw} * 8 / static_cast<std::uint64_t>(RunFilterBits::kUsual);
  return keys >= kLeastLeafKeys || leaf.address.raw >= kLeastLeafBytes;
}

}  // namespace

Result<std::optional<RunLeaf>> read_run_leaf(const RunSource& source, const RunLeafAddress& at,
                                             std::string_view first_key,
                                             LeafTombstones tombstones) {
  // With other offsets its block may be longer than it was.
  if (!is_large_enough(at) || at.address.raw > kMaxRunIndexBlock / 2)
    return std::optional<RunLeaf>();
  RunLeaf leaf;
  leaf.filter = at.filter;
  leaf.data.reserve(at.block->count());
  std::string separator;
  for (std::size_t i = 0; i < at.block->count(); ++i) {
    HEXAD_TRY_ASSIGN(const RunChild child,
                     source.child(at.address, *at.block, i, RunBlockKind::kData));
    at.block->step_key(i, separator);
    const bool follows = leaf.data.empty() || leaf.data.back().address.end() == child.block.offset;
    if (!follows) return std::optional<RunLeaf>();
    leaf.data.push_back({separator, child.block});
  }
  const std::uint64_t begin = leaf.data.front().address.offset;
  const std::uint64_t end = at.filter.end();
  if (leaf.data.back().address.end() != at.filter.offset || end - begin > kMostLeafBytes) {
    return std::optional<RunLeaf>();
  }
  leaf.first_key = first_key;
  leaf.stored.resize(end - begin);
  HEXAD_TRY(source.read_bytes(begin, leaf.stored));
  HEXAD_TRY(source.check_stored(leaf.filter, leaf.stored_at(leaf.filter)));
  for (const RunLeaf::Data& data : leaf.data) {
    const ByteView stored = leaf.stored_at(data.address);
    if (tombstones == LeafTombstones::kAny) {
      HEXAD_TRY(source.check_stored(data.address, stored));
      continue;
    }
    HEXAD_TRY_ASSIGN(const RunBlock block, source.parse_block(data.address, stored));
    if (block.tombstones() > 0) return std::optional<RunLeaf>();
  }
  return std::optional<RunLeaf>(std::move(leaf));
}

}  // namespace hexad::kv
