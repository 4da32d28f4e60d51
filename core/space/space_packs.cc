// Pack stripes, for whoever looks for some that are mostly dead.
#include <algorithm>

#include "core/space/space.h"

namespace hexad::core {

// A stripe of a record that is replayed may not be there any more: what is noted of it is of no use
// then, and does no harm.
void Space::note_born(const StripeProof& stripe, Lsn lsn) {
  if (stripe.live == 0) return;
  pack_dates_[{stripe.where.zone, stripe.where.unit}] = {lsn, lsn};
}

std::vector<Space::PackUse> Space::pack_uses() {
  const io::Lock lock(mutex_);
  std::vector<PackUse> uses;
  std::map<std::pair<alloc::ZoneId, std::uint32_t>, PackDates> dates;
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    for (const alloc::PackStripe& pack : zones_.packs(zone)) {
      PackUse use{{zone, pack.run.unit, pack.run.units}, pack.live, pack.footer, 0, pack.born};
      const auto at = pack_dates_.find({zone, pack.run.unit});
      if (at != pack_dates_.end()) {
        use.born = at->second.born;
        use.written = at->second.written;
        dates.insert(dates.end(), *at);
      }
      uses.push_back(use);
    }
  }
  pack_dates_ = std::move(dates);  // without those that are gone
  return uses;
}

std::uint64_t Space::pack_live(const alloc::Extent& stripe) {
  const io::Lock lock(mutex_);
  const std::optional<alloc::PackStripe> pack = zones_.pack_at(stripe.zone, stripe.unit);
  return pack.has_value() ? pack->live : 0;
}

void Space::note_written(const alloc::Extent& stripe, Lsn lsn) {
  const io::Lock lock(mutex_);
  const auto at = pack_dates_.find({stripe.zone, stripe.unit});
  if (at != pack_dates_.end()) at->second.written = std::min(at->second.written, lsn);
}

}  // namespace hexad::core
