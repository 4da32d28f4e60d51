// The newest state of the metadata, pending commits included, as those see and change it who hold
// the sequencer's lock: every function here wants it held, but where it says otherwise. It also
// knows who has to hear of a change: pages that are remembered (C9 of core/cache/page_memory.h),
// bodies that are being copied, names that are being counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/cache/page_memory.h"
#include "core/metadata/metadata.h"
#include "core/plan/copies_under_way.h"
#include "core/plan/planner.h"
#include "core/record/log_record.h"
#include "core/stats/counters.h"

namespace hexad::core {

// Walks of one hold of the lock, with a limit for the deleted keys that they may meet together.
struct MetadataWalk {
  std::uint64_t most_deleted = ~std::uint64_t{0};
  std::uint64_t deleted = 0;  // met so far
  bool gave_up = false;       // the limit ended one, with an error
  MetaView::Reading reading = MetaView::Reading::kAnything;
  bool lacked = false;  // something that might not be read ended one, with an error
};

class NewestState : public PlanSource {
 public:
  // Both outlive it. `pages`: so many extents of pages are remembered.
  NewestState(Metadata& metadata, Counters& counters, std::size_t pages)
      : metadata_(metadata), counters_(counters), pages_(pages) {}

  Result<std::optional<std::string>> get(std::string_view key) override;
  Status scan(std::string_view prefix, const Visit& visit) override {
    return scan_from(prefix, prefix, visit);
  }
  Status scan_from(std::string_view prefix, std::string_view from, const Visit& visit) override {
    MetadataWalk unlimited;
    return scan_within(prefix, from, visit, unlimited);
  }
  std::unique_ptr<KnownPage> take_page(BodyId body, std::uint32_t page) override {
    return pages_.take(body, page);
  }
  void give_page_back(BodyId body, std::uint32_t page, std::unique_ptr<KnownPage> known) override {
    pages_.put(body, page, std::move(known));
  }
  // As get(), and no device is waited for (Metadata::peek_latest()).
  Result<Metadata::Peeked> peek(std::string_view key, const WarmKeys& warm) {
    return metadata_.peek_latest(key, warm);
  }
  // The same for many keys in turn, with the value in `room`.
  Result<Metadata::PeekedBytes> peek(std::string_view key, const WarmKeys& warm, IndexHold& hold,
                                     std::string& room) {
    return metadata_.peek_latest(key, warm, hold, room);
  }
  // As scan_from(), within what the walk may meet still. Errors: those; kUnavailable (it gave up).
  Status scan_within(std::string_view prefix, std::string_view from, const Visit& visit,
                     MetadataWalk& walk);
  // The same of one state, whoever holds the lock.
  static Status scan_view(MetaView& view, std::string_view prefix, std::string_view from,
                          const Visit& visit, MetadataWalk& walk);

  // The walks of whoever fills in a record in this hold of the lock.
  MetadataWalk& fill_walk() { return fill_walk_; }

  // Values that have changed little become patches of what the log holds already (C8).
  void encode_as_patches(std::vector<PostImage>& images) const;
  // For those who count names meanwhile; before apply(), for changes that users have asked for.
  // `before`: what the plan was made from; where that does not say what was there, it is counted
  // anew, and nobody reads the index for it here (C12).
  void record_concurrent_changes(const std::vector<PostImage>& images, PlanSource& before);
  // Into the memtable, and out of what is remembered of pages.
  void apply(Lsn lsn, const std::vector<PostImage>& images);

  void remember(DecodedPage&& page) { pages_.put(page.body, page.page, std::move(page.known)); }
  void forget_pages() { pages_.clear(); }  // C10
  void add_copy(const std::shared_ptr<CopiedPages>& copied) { copying_.add(copied); }
  void add_count(const std::shared_ptr<CountedNames>& counted);

  // So many keys were looked at or written in one hold of the lock.
  void note_hold(std::uint64_t keys);
  // The most of them in any. Any thread, without the lock.
  std::uint64_t largest_hold() const { return largest_hold_.load(std::memory_order_relaxed); }

 private:
  Metadata& metadata_;
  Counters& counters_;
  PageMemory pages_;
  CopiesUnderWay copying_;
  std::vector<std::weak_ptr<CountedNames>> counting_;
  MetadataWalk fill_walk_;
  std::atomic<std::uint64_t> largest_hold_{0};
};

}  // namespace hexad::core
