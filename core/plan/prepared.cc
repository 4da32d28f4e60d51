#include "core/plan/prepared.h"

#include <algorithm>

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
  if (op.payload.empty()) return false;
  switch (op.kind) {
    case OpKind::kPut:
    case OpKind::kWrite:
    case OpKind::kAppend:
    case OpKind::kOmapSet:
    case OpKind::kOmapSetHeader:
    case OpKind::kExpectBytes:
    case OpKind::kExpectOmap:
      return true;
    default:
      return false;
  }
}

Result<PreparedOp> prepare_payload(const BlobPreparer& preparer, ByteView payload, Hint hint,
                                   const compression::Policy& policy, std::uint64_t base,
                                   bool never_inline, SharedCopies* copies) {
  PreparedOp prepared;
  prepared.base = base;
  const bool all_inline = payload.size() <= kInlineLimit && !never_inline;
  for (std::uint64_t done = 0; done < payload.size();) {
    PayloadPiece piece;
    piece.offset = base + done;
    piece.length =
        std::min<std::uint64_t>(payload.size() - done, kPageSpan - piece.offset % kPageSpan);
    const ByteView part = payload.subspan(done, piece.length);
    if (all_inline) {
      piece.bytes.assign(as_text(part));
    } else {
      HEXAD_TRY_ASSIGN(piece.prepared, preparer.prepare(part, compression_hint(hint), policy,
                                                        BlobPreparer::Form::kBySize, copies));
    }
    done += piece.length;
    prepared.pieces.push_back(std::move(piece));
  }
  return prepared;
}

}  // namespace hexad::core
