// Whose space everything was at the moment that fsck looks at: a copy, so that commits go on while
// the metadata of that moment is compared with it.
//
//   FM1 it is taken with the sequencer's lock held and nothing in flight, together with the pin of
//       the state that is looked at: so metadata and space are of one moment
//   FM2 what was taken then is not used for anything else while the pin is held (R9): cells lie
//       where the moment says, whoever frees them meanwhile
//   FM3 a blob that was a payload in the log then is one for the check, wherever it is put since:
//       that stripe is younger than the moment, and no business of the check
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "alloc/zone.h"
#include "core/record/record.h"
#include "core/space/log_blobs.h"
#include "core/space/space.h"

namespace hexad::core {

class FsckMoment {
 public:
  struct Zone {
    std::vector<alloc::UnitRun> live;      // ascending; no two of them touch
    std::vector<alloc::PackStripe> packs;  // ascending
  };

  // Precondition: FM1. Cost: the live runs and pack stripes of all zones, and the payloads.
  FsckMoment(Space& space, const LogBlobs& log_blobs);

  const std::map<alloc::ZoneId, Zone>& zones() const { return zones_; }
  bool is_live(const alloc::Extent& extent) const;
  // FM3.
  bool was_payload(const LogPlace& place) const;

 private:
  std::map<alloc::ZoneId, Zone> zones_;
  std::vector<LogPlace> payloads_;  // ascending
};

}  // namespace hexad::core
