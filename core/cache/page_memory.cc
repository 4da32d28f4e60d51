#include "core/cache/page_memory.h"

#include <iterator>

namespace hexad::core {

std::shared_ptr<KnownPage> PageMemory::find(BodyId body, std::uint32_t page) {
  const auto known = by_key_.find({body, page});
  if (known == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->known;
}

void PageMemory::put(BodyId body, std::uint32_t page, KnownPage known) {
  forget(body, page);
  extents_ += known.extents.size();
  entries_.push_front({{body, page}, std::make_shared<KnownPage>(std::move(known))});
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
