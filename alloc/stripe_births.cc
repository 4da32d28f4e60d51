#include "alloc/stripe_births.h"

#include <algorithm>

#include "alloc/run_map.h"

namespace hexad::alloc {

void StripeBirths::set(UnitRun run, Lsn lsn) {
  births_[run.unit] = {run.units, lsn};
  by_birth_.emplace(lsn, run.unit);
}

void StripeBirths::born_before(std::uint32_t unit, Lsn born) {
  const auto at = births_.find(unit);
  if (at == births_.end() || at->second.lsn <= born) return;
  by_birth_.erase({at->second.lsn, unit});
  at->second.lsn = born;
  by_birth_.emplace(born, unit);
}

Lsn StripeBirths::take(UnitRun run) {
  Lsn first = kMaxLsn;
  std::uint64_t known = 0;
  for (auto at = first_overlap(births_, run); at != births_.end();
       at = first_overlap(births_, run)) {
    const UnitRun whole{at->first, at->second.units};
    const Lsn lsn = at->second.lsn;
    births_.erase(at);
    by_birth_.erase({lsn, whole.unit});
    first = std::min(first, lsn);
    known += std::min(whole.end(), run.end()) - std::max(whole.unit, run.unit);
    if (whole.unit < run.unit) set({whole.unit, run.unit - whole.unit}, lsn);
    if (whole.end() > run.end()) {
      set({static_cast<std::uint32_t>(run.end()),
           static_cast<std::uint32_t>(whole.end() - run.end())},
          lsn);
    }
  }
  return known == run.units ? first : Lsn{0};
}

void StripeBirths::forget(Lsn lsn) {
  while (!by_birth_.empty() && by_birth_.begin()->first <= lsn) {
    births_.erase(by_birth_.begin()->second);
    by_birth_.erase(by_birth_.begin());
  }
}

bool StripeBirths::is_whole() const {
  return births_.size() == by_birth_.size() &&
         std::all_of(births_.begin(), births_.end(), [this](const auto& one) {
           return by_birth_.contains({one.second.lsn, one.first});
         });
}

}  // namespace hexad::alloc
