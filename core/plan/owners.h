// Who owns what clones share: blobs by the lists of extents that show them, layers of omaps by the
// objects that have them in their list. Changes are added up for one log record, which then has the
// new numbers, and the releases of what nobody owns any more. doc/decisions/012-shared-blobs.md
//
//   OW1 a blob without a share id has one owner
//   OW2 a blob with one has as many owners as the record under `s` says, and one if there is none
//   OW3 all lists that show a blob have the same share id for it
//   OW4 a layer has as many owners as the record under `l` says, one or more
//
// And who cannot be found by the footer of a blob's stripe: FW1 to FW3 of doc/invariants.md#owners.
//
// Used under the sequencer's lock: the numbers are those of the newest state.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "core/plan/planner.h"
#include "core/record/forward_keys.h"
#include "core/record/log_record.h"
#include "core/record/record.h"

namespace hexad::core {

class BlobOwners {
 public:
  // `own`: the LSN of the transaction whose unplaced blobs get their footers' owners by it.
  explicit BlobOwners(Lsn own = 0) : own_(own) {}

  // A list of extents, `before`, under the key `was`, becomes `now`, under `is`. A list that is not
  // there is empty. Both have the same share ids, given to them in this transaction or before. What
  // is in `before` and has no share id dies at once. Then `now` says what is forwarded in it, and
  // can be encoded. A blob of `own` is the first list's that shows it, in the order of the calls.
  void change(const ListName& was, const ExtentList& before, const ListName& is, ExtentList& now,
              LogRecord& record);
  // The list is not there any more.
  void give_up(const ListName& was, const ExtentList& before, LogRecord& record);
  // The list shows what it did, and is encoded again.
  void keep(const ListName& name, ExtentList& list);
  // A list that clones are made of is in the metadata, with share ids or to get them.
  void note(const ExtentList& before);
  // Of the forward keys that the record gets, so far.
  std::uint64_t forward_bytes() const { return forwards_.bytes(); }
  // After all changes, once. Cost: a look-up per shared blob whose number changes. Errors:
  // kCorruption (fewer owners than have gone), those of `source`.
  Status finish(PlanSource& source, LogRecord& record);

 private:
  struct Change {
    Blob blob;
    std::int64_t owners = 0;
    bool existed = false;  // before the transaction
  };
  Change& change_of(const Blob& blob);
  // FW1: what `now` shows and nobody could find there by its footer.
  enum class Before : std::uint8_t { kOfSameList, kOfAnother };
  void mark_forwarded(Before whose, const ExtentList& before, const std::vector<Blob>& added,
                      ExtentList& now);

  const Lsn own_;
  std::set<LogPlace> owned_;  // of `own_`: some list has been the first
  std::map<ShareId, Change> changes_;
  ForwardKeys forwards_;
};

// Every blob of the list has a share id then. Whether one had none.
bool give_share_ids(ExtentList& extents, const std::function<ShareId()>& draw);

class LayerOwners {
 public:
  // So many more, or fewer, objects have the layers in their list.
  void change(const std::vector<OmapId>& layers, int owners);
  // After all changes, once. Returns the layers that nobody has any more; the record schedules
  // their deletion. Errors: as above.
  Result<std::vector<OmapId>> finish(PlanSource& source, LogRecord& record);

 private:
  std::map<OmapId, std::int64_t> changes_;
};

}  // namespace hexad::core
