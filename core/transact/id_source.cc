#include "core/transact/id_source.h"

#include <cstdint>
#include <string>

namespace hexad::core {

BodyId IdSource::draw() {
  const BodyId id = ids_.draw();
  // ID1: exactly one of those who draw is told so, in each epoch.
  if (static_cast<std::uint32_t>(id) == BodyIds::kHalf) run_short_();
  return id;
}

Status IdSource::may_draw() {
  const BodyId last = ids_.last();
  if (!BodyIds::spent(last)) return {};
  run_short_();
  return Error{ErrorCode::kExhausted,
               "of the ids of epoch " + std::to_string(last >> 32) + " for objects and clones, " +
                   std::to_string(static_cast<std::uint32_t>(last)) +
                   " have been used, and fewer are left than a transaction may take; another epoch "
                   "is being begun",
               "Retry, or close the store and open it again, which begins one, too."};
}

}  // namespace hexad::core
