// Ids that changes of the metadata draw.
#include "core/engine/engine.h"

namespace hexad::core {

BodyId Engine::new_body() {
  const BodyId id = ids_.draw();
  // D1: exactly one of those who draw is told so, in each epoch.
  if (static_cast<std::uint32_t>(id) == BodyIds::kHalf) lose_suspects_soon();
  return id;
}

Status Engine::may_draw_ids() {
  const BodyId last = ids_.last();
  if (!BodyIds::spent(last)) return {};
  lose_suspects_soon();
  return Error{ErrorCode::kExhausted,
               "of the ids of epoch " + std::to_string(last >> 32) + " for objects and clones, " +
                   std::to_string(static_cast<std::uint32_t>(last)) +
                   " have been used, and fewer are left than a transaction may take; another epoch "
                   "is being begun",
               "Retry, or close the store and open it again, which begins one, too."};
}

}  // namespace hexad::core
