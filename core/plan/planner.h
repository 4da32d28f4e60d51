// Deciding what a transaction does, without doing it: from its ops and the metadata to post-images
// and the stripes that are freed. Nothing changes until the caller carries the plan out, so every
// failure of a transaction leaves nothing behind.
//
// Called by the sequencer, one transaction at a time, so that the state it reads is the state at
// the transaction's place in the order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/api/transaction.h"
#include "core/plan/prepared.h"
#include "core/record/blob_uses.h"
#include "core/record/log_record.h"
#include "core/record/page_code.h"
#include "core/record/record.h"
#include "core/space/log_blobs.h"

namespace hexad::core {

class PlanRoom;

// The metadata as the planner reads it: the newest state, pending commits included.
class PlanSource {
 public:
  virtual ~PlanSource() = default;
  virtual Result<std::optional<std::string>> get(std::string_view key) = 0;
  // Calls `visit` for the keys that begin with `prefix`, ascending, until it returns false.
  using Visit = std::function<Result<bool>(std::string_view key, std::string_view value)>;
  virtual Status scan(std::string_view prefix, const Visit& visit) = 0;
  // The same for those at or behind `from`. This one skips what is before; a source that can seek
  // does better.
  virtual Status scan_from(std::string_view prefix, std::string_view from, const Visit& visit);
  // What the newest value of the page's key decodes to, and that value, where they are known; null:
  // read it. From here on the source does not know it any more, until somebody tells it.
  virtual std::unique_ptr<KnownPage> take_page(BodyId body, std::uint32_t page);
  // It is still that; unplaced blobs in the list may have got their places.
  virtual void give_page_back(BodyId body, std::uint32_t page, std::unique_ptr<KnownPage> known);
  // As get(), with the value in `room`, whose memory is used again.
  virtual Result<std::optional<std::string_view>> look_up(std::string_view key, std::string& room);
};

// Pages that the ops of one transaction delete one by one; what goes beyond that is cut off
// (core/record/page_cuts.h), or scheduled for deletion with its body.
inline constexpr std::uint64_t kMaxDroppedPages = 1024;
// The most of them in one op.
inline constexpr std::uint64_t kMaxDroppedAtOnce = 64;

// What a clone shows one by one, without a copy that was made before.
inline constexpr std::uint64_t kFewClonedPages = 256;
inline constexpr std::size_t kFewClonedExtents = 2048;

struct PlanContext {
  Lsn lsn = 0;            // that the transaction gets
  std::int64_t time = 0;  // nanoseconds since 1970
  RecordShape shape;
  compression::Policy default_compression;  // of collections it creates
  std::function<BodyId()> new_body;
  // The engine's own change, which no user asked for: versions and times stay.
  bool keep_versions = false;
  // Crowded pages are written as they are.
  bool accept_crowded = false;
  // Pages that one op deletes one by one, before the rest of its range is cut off.
  std::uint64_t drops_at_once = kMaxDroppedAtOnce;
  // Pages that a clone shows one by one. One with more takes a copy over that was made before.
  std::uint64_t clones_at_once = kFewClonedPages;
  // The same for a range of one.
  std::uint64_t ranges_at_once = kMaxClonedPages;
  // Memory for the time that it takes; null: of its own.
  PlanRoom* room = nullptr;
  // Where unplaced blobs have gone; null: nobody knows any.
  const LogBlobs* log_blobs = nullptr;
};

// A page of an object that is cut into too many pieces, by its name before the transaction.
struct CrowdedPage {
  std::string collection;
  std::string name;
  std::uint32_t page = 0;
};

// An object whose omap has more layers than a clone of it may have, by its name before the
// transaction.
struct LayeredObject {
  std::string collection;
  std::string name;
};

// The object that an unplaced blob belongs to.
struct BlobOwner {
  std::string key;
  std::uint64_t offset = 0;  // of the blob's first byte in the object
};

// What no name leads to any more, and the background takes back when the transaction is durable.
struct ScheduledDeletions {
  std::vector<BodyId> bodies;     // their pages
  std::vector<NameRange> names;   // the objects of removed collections
  std::vector<BodyId> cuts = {};  // bodies of objects: the pages that are cut off

  bool empty() const { return bodies.empty() && names.empty() && cuts.empty(); }
};

// The image of a page, and what it decodes to.
struct DecodedPage {
  BodyId body = 0;
  std::uint32_t page = 0;
  std::unique_ptr<KnownPage> known;
};

// A list of extents that the transaction leaves, and what it shows in part.
struct PartlyShown {
  std::string key;
  HiddenBytes bytes;
};

struct Plan {
  // Images, frees, and the stripes of published writers; the caller adds those of prepared ops.
  LogRecord record;
  // Images of the collections' totals, which the caller adds to the record.
  std::vector<PostImage> totals;
  std::vector<Redo> redo;  // not empty: prepare these ops again and plan once more
  std::vector<std::shared_ptr<CopiedPages>> copies;  // that objects take over
  // Not empty: write these pages anew, in one piece each, and plan once more.
  std::vector<CrowdedPage> crowded;
  // Not empty: merge layers of these omaps and plan once more.
  std::vector<LayeredObject> layered;
  // Not empty: take back what is cut off of these bodies and plan once more.
  std::vector<BodyId> cut;
  // Of the transaction's own blobs those that extents point to when it is over. A prepared blob
  // that is not among them was replaced by a later op: it is neither written nor recorded.
  std::vector<std::optional<BlobOwner>>
      owners;                   // of unplaced ones, by index; nothing: not among them
  std::vector<BlobId> stripes;  // of the others, sorted
  // What published writers bring that has no place before the transaction has one, in stripes of
  // its own: small objects that were cut since there was no room for them in one piece.
  std::vector<BlobId> published_stripes;
  ScheduledDeletions deletions;
  // Of all images of pages that are there afterwards.
  std::vector<DecodedPage> pages;
  // Of lists that were there before, those that hide something of their blobs afterwards.
  std::vector<PartlyShown> partly_shown;
  // Removed with objects that nobody has looked at, which their totals count.
  std::vector<CollectionId> removed_whole;

  // Whether something has to be done first, and the transaction to be planned once more.
  bool is_for_again() const;
  // Whether extents point to the blob, one of the transaction's own, when it is over.
  bool refers_to(const BlobId& blob) const;
};

// `prepared` is parallel to `transaction.ops()`; the blobs in it have their place already (unplaced
// ones the transaction's LSN and an index). Errors: those of core/api/transaction.h.
Result<Plan> plan_transaction(const Transaction& transaction, const PreparedOps& prepared,
                              const PlanContext& context, PlanSource& source);

}  // namespace hexad::core
