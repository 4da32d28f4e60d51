// Lists of extents that one record changes, because blobs that they show have got another place.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/clean/moved_extents.h"
#include "core/clean/owned_extents.h"
#include "core/clean/stripe_owners.h"
#include "core/plan/planner.h"
#include "core/record/log_record.h"
#include "core/space/log_blobs.h"

namespace hexad::core {

// Under the sequencer's lock. All that are references outlive it.
class ListChanges {
 public:
  ListChanges(PlanSource& source, const LogBlobs& log_blobs, const RecordShape& shape)
      : source_(source), log_blobs_(log_blobs), shape_(shape) {}

  // The blob that the lists show is at `to`, where the footer names the first of them. False: the
  // lists, as they are now, do not show it, or others do as well; then none is changed (CL1, CL3).
  // Errors: those of `source`, kCorruption.
  Result<bool> move(const std::vector<ShowingList>& lists, const PackedPlace& to);
  // Adds the images of all lists that have changed, and their forward keys, to the record. Once.
  void write(LogRecord& record);

 private:
  struct Changing {
    std::optional<OwnedExtents> list;  // nothing: it is gone
    ExtentList before;
    bool changed = false;
  };
  Result<Changing*> load(const std::string& key);
  // OW2.
  Result<std::uint64_t> owners_of(ShareId share);

  PlanSource& source_;
  const LogBlobs& log_blobs_;
  const RecordShape& shape_;
  std::map<std::string, Changing> lists_;
};

}  // namespace hexad::core
