// Pack stripes of a store, one after the other, zone by zone and in the order of their units, while
// commits go on: of each zone those that there are when the walk comes to it.
//
// What is found is alive then and may be given up at any time: whoever reads its cells pins a state
// first (U1 of core/check/scrub_pass.h). Private stripes have no list but that of who shows them:
// core/check/record_walk.h. Not for those who want all pack stripes of one moment
// (Space::pack_uses(), FsckMoment).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "alloc/zone.h"
#include "core/space/space.h"

namespace hexad::core {

class StripeWalk {
 public:
  // Where it begins: the first place that is looked at.
  struct From {
    alloc::ZoneId zone = 0;
    std::uint32_t unit = 0;
  };
  struct Stripe {
    alloc::Extent where;
    std::uint64_t live = 0;    // bytes
    std::uint32_t footer = 0;  // crc of its footer
  };

  // `space` outlives it. Takes down which zones there are: newer ones are passed by.
  explicit StripeWalk(Space& space, From from) : space_(space), zones_(space.zone_ids()) {
    while (zone_ < zones_.size() && zones_[zone_] < from.zone) ++zone_;
    if (zone_ == zones_.size()) return;
    packs_ = space_.packs(zones_[zone_]);
    if (zones_[zone_] != from.zone) return;
    while (pack_ < packs_.size() && packs_[pack_].run.unit < from.unit) ++pack_;
  }
  explicit StripeWalk(Space& space) : StripeWalk(space, {}) {}

  // Nothing: that was the last one.
  std::optional<Stripe> next() {
    if (zone_ == zones_.size()) return std::nullopt;
    while (pack_ == packs_.size()) {
      if (++zone_ == zones_.size()) return std::nullopt;
      packs_ = space_.packs(zones_[zone_]);
      pack_ = 0;
    }
    const alloc::PackStripe& pack = packs_[pack_++];
    return Stripe{{zones_[zone_], pack.run.unit, pack.run.units}, pack.live, pack.footer};
  }

 private:
  Space& space_;
  const std::vector<alloc::ZoneId> zones_;
  std::size_t zone_ = 0;                  // which one
  std::vector<alloc::PackStripe> packs_;  // of it
  std::size_t pack_ = 0;                  // the next one
};

}  // namespace hexad::core
