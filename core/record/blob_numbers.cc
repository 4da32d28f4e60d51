#include "core/record/blob_numbers.h"

#include <algorithm>

namespace hexad::core {
namespace {

// A walk of neighbours gives ids that differ in few bits: multiplying spreads them upwards, and the
// upper half is what counts.
std::size_t hash_of(const BlobId& id) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  std::uint64_t hash = (std::uint64_t{id.zone} << 32 | id.unit) * kOdd;
  hash = (hash ^ (std::uint64_t{id.cell} << 32 | id.cell_offset)) * kOdd;
  hash = (hash ^ id.log.lsn) * kOdd;
  hash = (hash ^ id.log.index) * kOdd;
  return hash >> 32;
}

}  // namespace

// The slot that has the id, or the free one where it belongs.
std::size_t BlobNumbers::slot_of(const BlobId& id) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(id) & mask;
  while (slots_[slot] != 0 && ids_[slots_[slot] - 1] != id) slot = (slot + 1) & mask;
  return slot;
}

void BlobNumbers::grow() {
  slots_.assign(ids_.size() * 4, 0);  // a power of two, since `kFew` is one
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    slots_[slot_of(ids_[i])] = static_cast<std::uint32_t>(i + 1);
  }
}

BlobNumbers::Number BlobNumbers::of(const BlobId& id) {
  const std::size_t fresh = ids_.size();
  if (slots_.empty()) {
    const auto known = std::find(ids_.begin(), ids_.end(), id);
    if (known != ids_.end()) return {static_cast<std::size_t>(known - ids_.begin()), false};
    ids_.push_back(id);
    if (ids_.size() == kFew) grow();
    return {fresh, true};
  }
  const std::size_t slot = slot_of(id);
  if (slots_[slot] != 0) return {slots_[slot] - std::size_t{1}, false};
  ids_.push_back(id);
  slots_[slot] = static_cast<std::uint32_t>(ids_.size());
  if (ids_.size() * 2 == slots_.size()) grow();
  return {fresh, true};
}

}  // namespace hexad::core
