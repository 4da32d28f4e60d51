#include "core/metadata/memtable_walk.h"

namespace hexad::core {

void MemtableWalk::place_anew(kv::Direction direction, std::string_view from) {
  placed_ = true;
  generation_ = erasures_;
  for (Iterator* it : {&active_, frozen_.has_value() ? &*frozen_ : nullptr}) {
    if (it == nullptr) continue;
    if (direction == kv::Direction::kForward) {
      it->seek(passed_.value_or(from));
    } else {
      it->seek_before(passed_.value_or(from));
    }
  }
  if (passed_.has_value()) leave(direction, *passed_);
}

MemtableWalk::Iterator* MemtableWalk::only_one() {
  const bool frozen = frozen_.has_value() && frozen_->valid();
  if (active_.valid() == frozen) return nullptr;
  return frozen ? &*frozen_ : &active_;
}

const MemtableWalk::Iterator* MemtableWalk::nearest(kv::Direction direction) const {
  const Iterator* const active = active_.valid() ? &active_ : nullptr;
  if (!frozen_.has_value() || !frozen_->valid()) return active;
  if (active == nullptr || order_of(direction, frozen_->key(), active->key()) < 0) return &*frozen_;
  return active;
}

void MemtableWalk::leave(kv::Direction direction, std::string_view key) {
  for (Iterator* it : {&active_, frozen_.has_value() ? &*frozen_ : nullptr}) {
    if (it == nullptr || !it->valid() || it->key() != key) continue;
    if (direction == kv::Direction::kForward) {
      it->next();
    } else {
      it->prev();
    }
  }
}

}  // namespace hexad::core
