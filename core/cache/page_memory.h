// Pages of extents as the sequencer has last seen them, decoded, and with the bytes that encode
// them. A page that small writes have cut into hundreds of pieces takes longer to decode, and to
// encode, than all else that an overwrite costs.
//
// Belongs to whoever holds the sequencer's lock.
//
//   C9  what is remembered of a page is what the newest value of its key decodes to, but for the
//       places of unplaced blobs, which it may have already, and that value; so every change of the
//       key comes here
//   C10  nothing remembered names a blob that LogBlobs has forgotten: all is dropped before it does
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/record/keys.h"
#include "core/record/page_code.h"
#include "core/record/record.h"

namespace hexad::core {

class PageMemory {
 public:
  // `extents`: so many of all pages together are kept, those of the page that was put last in any
  // case.
  explicit PageMemory(std::size_t extents);

  // Null: not remembered. Whoever takes it may put it back, with the places of unplaced blobs in it
  // and nothing else changed, as long as the key's value has not. Cost of all: O(log n).
  std::unique_ptr<KnownPage> take(BodyId body, std::uint32_t page);
  const KnownPage* find(BodyId body, std::uint32_t page) const;
  void put(BodyId body, std::uint32_t page, std::unique_ptr<KnownPage> known);
  void forget(BodyId body, std::uint32_t page);
  void clear();
  std::size_t extents() const { return extents_; }

 private:
  using Key = std::pair<BodyId, std::uint32_t>;
  struct Entry {
    Key key;
    std::unique_ptr<KnownPage> known;
  };
  void drop(std::list<Entry>::iterator entry);
  void insert(Key key, std::unique_ptr<KnownPage> known);

  std::size_t capacity_;
  std::size_t extents_ = 0;
  std::list<Entry> entries_;  // what was put last in front
  using ByKey = std::map<Key, std::list<Entry>::iterator>;
  ByKey by_key_;
  // Of pages that were taken: they mostly come back. As many of both.
  std::list<Entry> spare_entries_;
  std::vector<ByKey::node_type> spare_keys_;
};

}  // namespace hexad::core
