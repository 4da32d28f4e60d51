#include "core/transact/reclaimer.h"

#include <algorithm>

namespace hexad::core {

Lsn Reclaimer::reclaim() {
  const Lsn recorded = pipeline_.recorded();
  Lsn looked_at = recorded;
  pins_.reclaim(recorded, [&](const ReadPins::Limits& limits) {
    looked_at = limits.wide;
    space_.reclaim(limits.wide, limits.narrow, limits.oldest);
    log_blobs_.forget(limits.oldest);
  });
  return looked_at;
}

}  // namespace hexad::core
