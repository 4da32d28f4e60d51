#include "core/cache/page_memory.h"

#include <iterator>
#include <utility>

namespace hexad::core {

namespace {

constexpr std::size_t kMostSpare = 64;

}  // namespace

// So that take() asks for no memory, which it could not answer for halfway.
PageMemory::PageMemory(std::size_t extents) : capacity_(extents) {
  spare_keys_.reserve(kMostSpare);
}

std::unique_ptr<KnownPage> PageMemory::take(BodyId body, std::uint32_t page) {
  const auto at = by_key_.find({body, page});
  if (at == by_key_.end()) return nullptr;
  const std::list<Entry>::iterator entry = at->second;
  std::unique_ptr<KnownPage> known = std::move(entry->known);
  extents_ -= known->extents.size();
  if (spare_keys_.size() < kMostSpare) {
    spare_keys_.push_back(by_key_.extract(at));
    spare_entries_.splice(spare_entries_.begin(), entries_, entry);
  } else {
    by_key_.erase(at);
    entries_.erase(entry);
  }
  return known;
}

const KnownPage* PageMemory::find(BodyId body, std::uint32_t page) const {
  const auto known = by_key_.find({body, page});
  return known == by_key_.end() ? nullptr : known->second->known.get();
}

void PageMemory::put(BodyId body, std::uint32_t page, std::unique_ptr<KnownPage> known) {
  forget(body, page);
  extents_ += known->extents.size();
  insert({body, page}, std::move(known));
  while (extents_ > capacity_ && entries_.size() > 1) drop(std::prev(entries_.end()));
}

void PageMemory::insert(Key key, std::unique_ptr<KnownPage> known) {
  if (spare_keys_.empty()) {
    entries_.push_front({key, std::move(known)});
    by_key_.emplace(key, entries_.begin());
    return;
  }
  entries_.splice(entries_.begin(), spare_entries_, spare_entries_.begin());
  entries_.front() = {key, std::move(known)};
  ByKey::node_type node = std::move(spare_keys_.back());
  spare_keys_.pop_back();
  node.key() = key;
  node.mapped() = entries_.begin();
  by_key_.insert(std::move(node));
}

void PageMemory::forget(BodyId body, std::uint32_t page) {
  const auto known = by_key_.find({body, page});
  if (known != by_key_.end()) drop(known->second);
}

void PageMemory::drop(std::list<Entry>::iterator entry) {
  extents_ -= entry->known->extents.size();
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void PageMemory::clear() {
  by_key_.clear();
  entries_.clear();
  extents_ = 0;
}

}  // namespace hexad::core
