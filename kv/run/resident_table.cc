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

std::uint64_t ResidentTable::slots_for(std::uint64_t entries, std::uint64_t most_memory) {
  return std::min(std::bit_ceil(entries / 3 * 4 + kLeastSlots), most_slots(most_memory));
}

ResidentTable::ResidentTable(std::uint64_t entries, std::uint64_t most_memory) {
  now_.slots.resize(slots_for(entries, most_memory));
}

std::size_t ResidentTable::Part::home(ResidentKey key) const {
  std::uint64_t x = key.bits;
  x = (x ^ (x >> 32)) * 0x9FB21C651E98DF25;
  x = (x ^ (x >> 29)) * 0xD6E8FEB86659FD93;
  return (x ^ (x >> 32)) & (slots.size() - 1);
}

// Where the key is, or where it would come.
std::size_t ResidentTable::Part::slot_of(ResidentKey key) const {
  std::size_t at = home(key);
  while (slots[at].key.bits != 0 && slots[at].key != key) at = (at + 1) & (slots.size() - 1);
  return at;
}

const ResidentTable::Slot* ResidentTable::Part::find(ResidentKey key) const {
  if (count == 0) return nullptr;
  const Slot& slot = slots[slot_of(key)];
  return slot.key.bits == 0 ? nullptr : &slot;
}

ResidentTable::Slot* ResidentTable::Part::find(ResidentKey key) {
  return const_cast<Slot*>(std::as_const(*this).find(key));
}

void ResidentTable::Part::add(ResidentKey key, ResidentPlace place) {
  Slot& slot = slots[slot_of(key)];
  HEXAD_ASSERT(slot.key.bits == 0);
  slot = {key, place};
  ++count;
}

bool ResidentTable::Part::erase(ResidentKey key) {
  if (count == 0) return false;
  const std::size_t mask = slots.size() - 1;
  std::size_t hole = slot_of(key);
  if (slots[hole].key.bits == 0) return false;
  --count;
  // What lies behind it moves up, unless it would come before its own slot (RT1).
  for (std::size_t at = (hole + 1) & mask; slots[at].key.bits != 0; at = (at + 1) & mask) {
    const std::size_t from_home = (at - home(slots[at].key)) & mask;
    if (from_home < ((at - hole) & mask)) continue;
    slots[hole] = slots[at];
    hole = at;
  }
  slots[hole] = {};
  return true;
}

// What moves up into a slot is looked at there; what moves up from the beginning to the end has
// been looked at.
void ResidentTable::Part::erase_if(const std::function<bool(ResidentKey, ResidentPlace)>& gone) {
  for (std::size_t at = 0; at < slots.size() && count > 0; ++at) {
    while (slots[at].key.bits != 0 && gone(slots[at].key, slots[at].place)) erase(slots[at].key);
  }
}

void ResidentTable::Part::for_each(
    const std::function<void(ResidentKey, ResidentPlace)>& visit) const {
  for (const Slot& slot : slots) {
    if (slot.key.bits != 0) visit(slot.key, slot.place);
  }
}

const ResidentPlace* ResidentTable::find(ResidentKey key) const {
  const Slot* slot = now_.find(key);
  if (slot == nullptr) slot = before_.find(key);
  return slot == nullptr ? nullptr : &slot->place;
}

void ResidentTable::put(ResidentKey key, ResidentPlace place) {
  Slot* slot = now_.find(key);
  if (slot == nullptr) slot = before_.find(key);
  if (slot != nullptr) {
    slot->place = place;
    return;
  }
  HEXAD_ASSERT(!full());
  now_.add(key, place);
}

void ResidentTable::erase(ResidentKey key) {
  if (!now_.erase(key)) before_.erase(key);
}

void ResidentTable::erase_if(const std::function<bool(ResidentKey, ResidentPlace)>& gone) {
  now_.erase_if(gone);
  before_.erase_if(gone);
}

void ResidentTable::for_each(const std::function<void(ResidentKey, ResidentPlace)>& visit) const {
  now_.for_each(visit);
  before_.for_each(visit);
}

void ResidentTable::visit(std::uint64_t from, std::uint64_t count,
                          const std::function<void(ResidentKey, ResidentPlace)>& visit) const {
  const std::uint64_t end = std::min<std::uint64_t>(from + count, now_.slots.size());
  for (std::uint64_t at = from; at < end; ++at) {
    if (now_.slots[at].key.bits != 0) visit(now_.slots[at].key, now_.slots[at].place);
  }
}

void ResidentTable::begin_move(Slots&& fresh) {
  HEXAD_ASSERT(!moves() && fresh.size() >= kLeastSlots && std::has_single_bit(fresh.size()));
  before_ = std::exchange(now_, {std::move(fresh), 0});
  moved_ = 0;
}

// What lies behind an entry that goes moves up, so that those from before are a table at each
// moment.
bool ResidentTable::move_some(std::uint64_t slots, const std::function<bool(ResidentPlace)>& kept,
                              Slots& emptied) {
  const std::uint64_t end = std::min<std::uint64_t>(moved_ + slots, before_.slots.size());
  for (; moved_ < end && before_.count > 0; ++moved_) {
    while (before_.slots[moved_].key.bits != 0) {
      const Slot slot = before_.slots[moved_];
      before_.erase(slot.key);
      if (now_.count < capacity() && kept(slot.place)) now_.add(slot.key, slot.place);
    }
  }
  if (before_.count > 0) return true;
  emptied = std::exchange(before_, {}).slots;
  return false;
}

void ResidentTable::Part::check_invariants() const {
  std::uint64_t found = 0;
  for (std::size_t at = 0; at < slots.size(); ++at) {
    if (slots[at].key.bits == 0) continue;
    ++found;
    HEXAD_ASSERT(slot_of(slots[at].key) == at);
  }
  HEXAD_ASSERT(found == count && count <= slots.size() / 4 * 3);
}

void ResidentTable::check_invariants() const {
  now_.check_invariants();
  before_.check_invariants();
  before_.for_each([this](ResidentKey key, ResidentPlace) {
    HEXAD_ASSERT(now_.find(key) == nullptr);  // RT2
  });
}

}  // namespace hexad::kv
