#include "core/cache/page_memory.h"

#include <iterator>
#include <utility>

namespace hexad::core {

std::unique_ptr<KnownPage> PageMemory::take(BodyId body, std::uint32_t page) {
  const auto at = by_key_.find({body, page});
  if (at == by_key_.end()) return nullptr;
  const std::list<Entry>::iterator entry = at->second;
  std::unique_ptr<KnownPage> known = std::move(entry->known);
  extents_ -= known->extents.size();
  by_key_.erase(at);
  entries_.erase(entry);
  return known;
}

const KnownPage* PageMemory::find(BodyId body, std::uint32_t page) const {
  const auto known = by_key_.find({body, page});
  return known == by_key_.end() ? nullptr : known->second->known.get();
}

void PageMemory::put(BodyId body, std::uint32_t page, std::unique_ptr<KnownPage> known) {
  forget(body, page);
  extents_ += known->extents.size();
  entries_.push_front({{body, page}, std::move(known)});
  by_key_.emplace(Key{body, page}, entries_.begin());
  while (extents_ > capacity_ && entries_.size() > 1) drop(std::prev(entries_.end()));
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
