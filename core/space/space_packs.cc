// Pack stripes, for whoever looks for some that are mostly dead.
#include "core/space/space.h"

namespace hexad::core {

std::vector<Space::PackUse> Space::pack_uses() {
  const io::Lock lock(mutex_);
  return packs_.uses(zones_);
}

std::uint64_t Space::pack_live(const alloc::Extent& stripe) {
  const io::Lock lock(mutex_);
  const std::optional<alloc::PackStripe> pack = zones_.pack_at(stripe.zone, stripe.unit);
  return pack.has_value() ? pack->live : 0;
}

void Space::note_written(const alloc::Extent& stripe, Lsn lsn) {
  const io::Lock lock(mutex_);
  packs_.note_written(stripe, lsn);
}

}  // namespace hexad::core
