#include "core/plan/prepared.h"

#include <algorithm>
#include <utility>

#include "core/api/op_facts.h"

namespace hexad::core {

compression::Hint compression_hint(Hint hint) {
  if (has_hint(hint, Hint::kCompressible)) return compression::Hint::kCompressible;
  if (has_hint(hint, Hint::kIncompressible)) return compression::Hint::kIncompressible;
  return compression::Hint::kNone;
}

bool CountedNames::has(std::string_view key) const {
  return std::any_of(keys.begin(), keys.end(),
                     [key](const Keys& range) { return key >= range.first && key < range.end; });
}

void CopiedPages::note_change(std::uint32_t page) {
  if (lost) return;
  const PageRange shown = range.shown_by(page);
  for (std::uint32_t copy = shown.from; copy < std::min(shown.end, until); ++copy) {
    stale.insert(copy);
  }
  if (stale.size() <= kMaxStalePages) return;
  lost = true;
  stale.clear();
}

ShiftedRange cloned_range(const TransactionOp& op) {
  if (op.kind != OpKind::kCloneRange) return {};
  return {op.offset, op.length, op.to_offset};
}

bool needs_preparing(const TransactionOp& op) {
  return !op.payload.empty() && facts_of(op.kind).data == OpData::kBlobs;
}

// What is not compressed fills its stripes to the last byte; what is gets so much of the raw bytes
// as take that room on average. A multiple of the block of a checksum is a good place for a cut.
std::uint64_t bytes_of_cut(const PreparedBlob& whole, std::uint64_t length,
                           std::uint32_t most_units, const StoreShape& shape) {
  HEXAD_ASSERT(most_units > 0 && whole.units > most_units);
  if (!whole.blob.is_compressed()) return std::uint64_t{most_units} * shape.k() * shape.unit;
  constexpr std::uint64_t kCutAt = 4096;
  const std::uint64_t share = length * most_units / whole.units;
  return share < kCutAt ? share : share / kCutAt * kCutAt;
}

namespace {

// `bytes`, which belong at `offset`, as one piece or as several. What compresses less than the rest
// of its piece is cut once more.
template <typename Prepare>
Status prepare_within(ByteView bytes, std::uint64_t offset, std::uint32_t most_units,
                      const StoreShape& shape, const Prepare& prepare, PayloadPieces& pieces) {
  PayloadPiece piece;
  piece.offset = offset;
  piece.length = bytes.size();
  HEXAD_TRY_ASSIGN(piece.prepared, prepare(bytes));
  if (piece.prepared.units <= most_units) {
    pieces.push_back(std::move(piece));
    return {};
  }
  const std::uint64_t each = bytes_of_cut(piece.prepared, piece.length, most_units, shape);
  piece.prepared = {};  // its cells are not kept beside those of its parts
  for (std::uint64_t at = 0; at < bytes.size(); at += each) {
    const ByteView part = bytes.subspan(at, std::min<std::uint64_t>(each, bytes.size() - at));
    HEXAD_TRY(prepare_within(part, offset + at, most_units, shape, prepare, pieces));
  }
  return {};
}

}  // namespace

Result<PreparedOp> prepare_payload(const BlobPreparer& preparer, ByteView payload, Hint hint,
                                   const compression::Policy& policy, std::uint64_t base,
                                   Inlining inlining, SharedCopies* copies,
                                   std::uint32_t most_units) {
  PreparedOp prepared;
  prepared.base = base;
  const bool all_inline = payload.size() <= kInlineLimit && inlining == Inlining::kOfSmall;
  for (std::uint64_t done = 0; done < payload.size();) {
    PayloadPiece piece;
    piece.offset = base + done;
    piece.length =
        std::min<std::uint64_t>(payload.size() - done, kPageSpan - piece.offset % kPageSpan);
    const ByteView part = payload.subspan(done, piece.length);
    done += piece.length;
    if (all_inline) {
      piece.bytes.assign(as_text(part));
      prepared.pieces.push_back(std::move(piece));
      continue;
    }
    const auto prepare = [&](ByteView bytes) {
      return preparer.prepare(bytes, compression_hint(hint), policy, BlobPreparer::Form::kBySize,
                              copies);
    };
    HEXAD_TRY(
        prepare_within(part, piece.offset, most_units, preparer.shape(), prepare, prepared.pieces));
  }
  return prepared;
}

}  // namespace hexad::core
