// One page of an object's extents, before a transaction and as its ops change it.
//
// A page that the sequencer remembers is taken out of its memory for the plan, and not copied:
// small writes change the list in place, what they have covered stands beside it, and so does what
// has become of what. From these the page is encoded by splicing, and from these it becomes what it
// was when the attempt comes to nothing. Whoever asks for more than that, what the list was or any
// other change, has it copied.
//
//   PG1 before() and now() are the same whether the page was remembered or decoded
//   PG2 a page is given back as it was, places of unplaced blobs apart, or not at all
//   PG3 a blob is released when no extent of now() shows it any more, and then once
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/short_list.h"
#include "core/plan/plan_room.h"
#include "core/record/page_code.h"
#include "core/record/record.h"

namespace hexad::core {

class Page {
 public:
  Page() = default;  // was not there
  // As the metadata has it.
  explicit Page(ExtentList was);
  // `room`: an empty list, for what small writes cover.
  explicit Page(std::unique_ptr<KnownPage> remembered, ExtentList room = {});
  // New: shows the list, and is to be written.
  static Page made_of(ExtentList now);

  const ExtentList& now() const { return now_; }
  // What it showed before the transaction. Cost: for one that was remembered, a copy of the list.
  const ExtentList& before();
  std::size_t extents_before() const;
  bool was_there() const { return extents_before() > 0; }

  // For any change; the page is to be written then. Cost: a copy of the list, once.
  ExtentList& change();
  // Whether now() has no memory; some of a list that is not needed any more.
  bool needs_memory() const { return now_.capacity() == 0; }
  void lend(ExtentList memory) { now_ = std::move(memory); }
  // Nobody asks for its lists any more.
  void give_lists(PlanRoom& room);
  // Shows nothing from here on.
  void clear();
  // overwrite() of the list. Cost: of what it covers, and what lies behind that is moved.
  void overwrite(Extent extent);
  // The list shows what it did, and says more of it (marks of owners).
  ExtentList& annotate();
  // Share ids that the metadata does not have: `before` shows what before() did.
  void replace_before(ExtentList before);
  // The metadata shows nothing under the key any more.
  void forget_before();

  bool is_dirty() const { return dirty_; }
  void set_dirty() { dirty_ = true; }
  // Blobs in before() have share ids that the metadata does not have.
  bool is_newly_shared() const { return newly_shared_; }

  // Whether all its changes were made by overwrite(), of a page that was remembered and is plain
  // (PC3), with blobs that keep it so.
  bool is_spliced() const;
  // Precondition: is_spliced(). The code of now(), and which blobs it does not show any more, by
  // ascending id. Nobody asks for before() afterwards.
  struct Splice {
    SplicedPage page;
    std::string value_before;
    ShortList<const Blob*, 16> released;  // into the page
  };
  Splice splice(const RecordShape& shape);
  // Precondition: now() is not empty. The same for any other page, by whatever is known of it.
  PageCode code(const RecordShape& shape);

  // The plan has an image of now() under a key of the page's own, and this is its code.
  void set_code(PageCode code);
  bool is_written() const { return written_; }
  // For each extent of now() that may show a blob of the transaction: it is called with it.
  template <typename Visit>
  void each_new(const Visit& visit) const {
    const ExtentOrigin* const told = is_tracked() ? memory_->origins.data() : nullptr;
    const std::size_t count = now_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (told != nullptr && told[i].is_kept()) continue;
      visit(now_[i]);
    }
  }
  // Precondition: is_written(). To remember; the page is empty then.
  std::unique_ptr<KnownPage> hand_over();
  // As it was when it was taken out of the memory; null: it was not, or cannot be.
  std::unique_ptr<KnownPage> give_back();

 private:
  // Of a page that was remembered.
  struct Memory {
    std::unique_ptr<KnownPage> known;    // its list is empty as long as the page is tracked
    std::unique_ptr<KnownPage> emptied;  // what `known` was, when that is spent
    bool tracked = true;
    bool plain = false;
    std::size_t extents = 0;
    ExtentOrigins origins;  // of now_
    // Of the list before, in no order: what is not in now_ as it was, and which it was.
    ExtentList removed;
    ShortList<std::uint32_t, 8> removed_at;
  };
  enum class Kept { kCopied, kMoved };
  // The list as it was.
  ExtentList list_before(Kept kept);
  // From here on what it was stands beside it as a list.
  void settle();
  bool is_tracked() const { return memory_ != nullptr && memory_->tracked; }

  // What before() is, unless it is now_, or is made of what stands in the memory.
  ExtentList was_;
  ExtentList now_;
  bool is_as_before_ = true;
  bool dirty_ = false;
  bool newly_shared_ = false;
  bool written_ = false;
  PageCode code_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace hexad::core
