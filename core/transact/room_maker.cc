#include "core/transact/room_maker.h"

#include <memory>

#include "io/no_unwinding.h"
#include "io/recall.h"

namespace hexad::core {

Status RoomMaker::make_way_apart(const Attempt& attempt) {
  struct Way {
    Attempt attempt;
    io::Nanos patience = 0;
    int packings = 0;
  };
  const auto way = std::make_shared<Way>(Way{attempt});
  way->attempt.warm = nullptr;
  way->attempt.patience = &way->patience;
  way->attempt.packings = &way->packings;
  if (attempt.patience != nullptr) way->patience = *attempt.patience;
  if (attempt.packings != nullptr) way->packings = *attempt.packings;
  HEXAD_TRY(parts_.errands.run("room was made for a commit",
                               [this, way] { return make_way(way->attempt); }));
  if (attempt.patience != nullptr) *attempt.patience = way->patience;
  if (attempt.packings != nullptr) *attempt.packings = way->packings;
  return {};
}

Status RoomMaker::make_way(const Attempt& attempt) {
  if (io::Recall::here() != nullptr) return make_way_apart(attempt);
  const io::NoUnwinding none("what makes room for a commit");
  // It takes all tombstones away that were there when it began.
  if (attempt.too_many_deleted) return parts_.checkpointer.run(Checkpointer::Close::kGoesOn);
  for (const LayeredObject& object : attempt.layered) HEXAD_TRY(parts_.layers.merge(object));
  for (const BodyId body : attempt.cut) HEXAD_TRY(parts_.deletions.reclaim_cuts(body));
  if (!attempt.layered.empty() || !attempt.cut.empty()) return {};
  if (attempt.record_bytes > 0) return parts_.log.make(attempt.record_bytes);
  return parts_.space.find(attempt);
}

}  // namespace hexad::core
