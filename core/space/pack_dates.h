// When pack stripes were published, and what is in them was written: for whoever looks for some
// that are mostly dead. Of what is known since the opening.
//
// Lock: none; Space has it under its own, but for dead().
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "alloc/zone.h"
#include "alloc/zone_set.h"
#include "base/ids.h"

namespace hexad::core {

struct PackUse {
  alloc::Extent stripe;
  std::uint64_t live = 0;    // bytes
  std::uint32_t footer = 0;  // crc of its footer
  Lsn born = 0;
  Lsn written = 0;
};

class PackDates {
 public:
  // A stripe of a record that is replayed may not be there any more: what is noted of it is of no
  // use then, and does no harm.
  void note_born(const alloc::Extent& stripe, Lsn lsn) { dates_[name_of(stripe)] = {lsn, lsn}; }
  // It holds what was written at `lsn` or before.
  void note_written(const alloc::Extent& stripe, Lsn lsn);
  // Of all that are published in these zones. What is known of others is forgotten.
  std::vector<PackUse> uses(const alloc::ZoneSet& zones);

  void add_dead(std::uint64_t bytes) { dead_.fetch_add(bytes, std::memory_order_acq_rel); }
  std::uint64_t dead() const { return dead_.load(std::memory_order_acquire); }  // any thread

 private:
  using Name = std::pair<alloc::ZoneId, std::uint32_t>;  // zone and first unit
  static Name name_of(const alloc::Extent& stripe) { return {stripe.zone, stripe.unit}; }
  struct Dates {
    Lsn born = 0;
    Lsn written = 0;
  };

  std::map<Name, Dates> dates_;  // some are of stripes that are gone
  std::atomic<std::uint64_t> dead_{0};
};

}  // namespace hexad::core
