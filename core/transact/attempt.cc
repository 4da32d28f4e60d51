#include "core/transact/attempt.h"

#include "core/plan/staged_object.h"

namespace hexad::core {

Result<alloc::Extent> Attempt::allocate(std::uint32_t units, Space& space,
                                        CommitPipeline& pipeline) {
  const auto is_full = [](const Result<alloc::Extent>& extent) {
    return !extent.ok() && extent.error().code == ErrorCode::kNoSpace;
  };
  Result<alloc::Extent> extent = space.allocate(units);
  if (is_full(extent)) {
    // Once more, so that what comes back after this was read is a reason to repeat.
    note_room(space, pipeline);
    extent = space.allocate(units);
  }
  if (is_full(extent)) {
    no_space = true;
    // A new one has all units of a slab in a row but that of the header.
    wants_zone = units < space.slab_units() && space.slabs_left();
    space_error = extent.error();
  }
  if (extent.ok()) allocated.push_back(*extent);
  return extent;
}

void Attempt::note_room(Space& space, CommitPipeline& pipeline) {
  durable = pipeline.durable();
  const alloc::SpaceCounters units = space.counters();
  all_units = units.total;
  free_units = units.free;
  for (const alloc::Extent& own : allocated) free_units += own.units;
  promised = space.reserved() - reserved.units;
}

BlobPieces blob_pieces(const Transaction& transaction, PreparedOps& prepared) {
  BlobPieces pieces;
  const auto add = [&](PreparedOp& op) {
    for (PayloadPiece& piece : op.pieces) {
      if (piece.bytes.empty()) pieces.push_back(&piece);
    }
  };
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    add(prepared[i]);
    if (transaction.ops()[i].staged != nullptr) add(transaction.ops()[i].staged->unplaced);
  }
  return pieces;
}

}  // namespace hexad::core
