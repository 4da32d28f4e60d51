// Units for stripes: what each may take of them is in core/space/allotment.h.
#include <algorithm>

#include "core/space/space.h"

namespace hexad::core {

Result<alloc::Extent> Space::allocate(std::uint32_t units) {
  const io::Lock lock(mutex_);
  return allotment_.allocate(units);
}

std::vector<std::uint32_t> Space::spare_runs(std::uint32_t longest) {
  constexpr std::uint64_t kMostZones = 4096;  // more than a transaction fills
  const io::Lock lock(mutex_);
  std::vector<std::uint32_t> runs = allotment_.runs_beside(allotment_.kept_units());
  if (longest < slab_units()) return runs;
  runs.insert(runs.end(), std::min(slabs_.zones_to_come(), kMostZones), slab_units() - 1);
  return runs;
}

bool Space::try_reserve(std::uint32_t units) {
  const io::Lock lock(mutex_);
  return allotment_.try_promise(units);
}

void Space::reserve(const PromisedUnits& promised) {
  const io::Lock lock(mutex_);
  allotment_.promise(promised);
}

void Space::release(const PromisedUnits& promised) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(allotment_.promised().includes(promised));
  allotment_.take_back(promised);
}

std::uint64_t Space::reserved() {
  const io::Lock lock(mutex_);
  return allotment_.promised().units;
}

Result<alloc::Extent> Space::allocate_reserved(std::uint32_t units) {
  const io::Lock lock(mutex_);
  return allotment_.allocate_promised(units);
}

Result<alloc::Extent> Space::allocate_shared(std::uint32_t units, const PromisedUnits& promised) {
  const io::Lock lock(mutex_);
  return allotment_.allocate_shared(units, promised);
}

void Space::set_reserve(std::uint64_t units, std::uint32_t longest_run, std::uint32_t move_units) {
  const io::Lock lock(mutex_);
  allotment_.set_reserve(units, longest_run, move_units);
}

std::uint64_t Space::reserve_units() {
  const io::Lock lock(mutex_);
  return zones_.reserve_units();
}

std::uint32_t Space::reserve_run() {
  const io::Lock lock(mutex_);
  return allotment_.reserve_run();
}

bool Space::reserve_whole() {
  const io::Lock lock(mutex_);
  return allotment_.reserve_whole(moves_.closed_units());  // SL6
}

Result<alloc::Extent> Space::allocate_internal(std::uint32_t units, Internal use) {
  const io::Lock lock(mutex_);
  return allotment_.allocate_internal(units, use == Internal::kFile ? allotment_.reserve_run() : 0);
}

std::vector<std::uint32_t> Space::move_runs() {
  const io::Lock lock(mutex_);
  return allotment_.runs_beside(allotment_.kept_from_moves());
}

Result<alloc::Extent> Space::allocate_move(std::uint32_t units) {
  const io::Lock lock(mutex_);
  return allotment_.allocate_move(units);
}

}  // namespace hexad::core
