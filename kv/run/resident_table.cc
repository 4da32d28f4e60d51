#include "kv/run/resident_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"

namespace hexad::kv {

namespace {

constexpr std::uint64_t kLeastSlots = 64;

}  // namespace

std::uint64_t ResidentTable::most_slots(std::uint64_t memory) {
  return std::bit_floor(std::max(kLeastSlots, memory / sizeof(Slot)));
}

ResidentTable::ResidentTable(std::uint64_t entries, std::uint64_t most_memory) {
  const std::uint64_t wanted = std::bit_ceil(entries / 3 * 4 + kLeastSlots);
  slots_.resize(std::min(wanted, most_slots(most_memory)));
}

std::size_t ResidentTable::home(ResidentKey key) const {
  std::uint64_t x = key.bits;
  x = (x ^ (x >> 32)) * 0x9FB21C651E98DF25;
  x = (x ^ (x >> 29)) * 0xD6E8FEB86659FD93;
  return (x ^ (x >> 32)) & (slots_.size() - 1);
}

// Where the key is, or where it would come.
std::size_t ResidentTable::slot_of(ResidentKey key) const {
  std::size_t at = home(key);
  while (slots_[at].key.bits != 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

const ResidentPlace* ResidentTable::find(ResidentKey key) const {
  const Slot& slot = slots_[slot_of(key)];
  return slot.key.bits == 0 ? nullptr : &slot.place;
}

void ResidentTable::put(ResidentKey key, ResidentPlace place) {
  Slot& slot = slots_[slot_of(key)];
  if (slot.key.bits == 0) {
    HEXAD_ASSERT(!full());
    ++count_;
  }
  slot = {key, place};
}

void ResidentTable::erase(ResidentKey key) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t hole = slot_of(key);
  if (slots_[hole].key.bits == 0) return;
  --count_;
  // What lies behind it moves up, unless it would come before its own slot (RT1).
  for (std::size_t at = (hole + 1) & mask; slots_[at].key.bits != 0; at = (at + 1) & mask) {
    const std::size_t from_home = (at - home(slots_[at].key)) & mask;
    if (from_home < ((at - hole) & mask)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = {};
}

// What moves up into a slot is looked at there; what moves up from the beginning to the end has
// been looked at.
void ResidentTable::erase_if(const std::function<bool(ResidentKey, ResidentPlace)>& gone) {
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    while (slots_[at].key.bits != 0 && gone(slots_[at].key, slots_[at].place)) {
      erase(slots_[at].key);
    }
  }
}

void ResidentTable::for_each(const std::function<void(ResidentKey, ResidentPlace)>& visit) const {
  for (const Slot& slot : slots_) {
    if (slot.key.bits != 0) visit(slot.key, slot.place);
  }
}

void ResidentTable::check_invariants() const {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    if (slots_[at].key.bits == 0) continue;
    ++count;
    HEXAD_ASSERT(slot_of(slots_[at].key) == at);
  }
  HEXAD_ASSERT(count == count_ && count_ <= capacity());
}

}  // namespace hexad::kv
