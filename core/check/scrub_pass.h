// A pass of a scrub: every stripe that is stored is read as a whole, judged and put right, piece by
// piece, while commits, checkpoints and merges go on. First the pack stripes, zone by zone; then
// the private stripes, object by object; then those of the runs; at last labels and roots
// (core/check/header_check.h).
//
//   U1  a stripe is looked at, and written back to, only while something holds it: private ones a
//       pinned state whose metadata has the blob; pack stripes one that was durable before they
//       were found alive; stripes of runs their reader. So its units do not change hands (R9)
//   U2  cells that are on their way to devices are passed over: they are not there yet
//   U3  what is written back stands behind sums from elsewhere than the stripe: those of the blob's
//       record, or, of a pack stripe, that of its footer in the zone's image or the log (J4) and
//       those of blobs that the metadata has in it. A footer that is only right in itself does not
//       do: an earlier owner of the place may have left one, on cells that lost a write
//   U4  a piece ends after some MiB or keys, and the state with it: neither space nor checkpoints
//       wait for a scrub
//   U5  a cell that is noted as missing on a device that has come back is written when the stripe
//       is right without it, by sums from elsewhere as in U3, and then the note goes (BK5 of
//       doc/invariants.md)
//   U6  for that k cells are read, and no more as long as they verify: a stripe of which one does
//       not, or whose device does not answer, is looked at as in a scrub
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/blob/in_flight_cells.h"
#include "core/check/damage_list.h"
#include "core/check/pack_scrub.h"
#include "core/check/scrub_position.h"
#include "core/check/scrub_run.h"
#include "core/check/stripe_scrub.h"
#include "core/read/store_reader.h"

namespace hexad::core {

// Single thread.
class ScrubPass {
 public:
  // `run` and the others outlive it. `at`: where it begins.
  ScrubPass(ScrubRun& run, const InFlightCells& in_flight, DamageList& damage, ScrubPosition at);

  // To the end, or until nobody wants more.
  Status run();
  const ScrubPosition& at() const { return at_; }
  bool is_over() const { return at_.part == ScrubPosition::Part::kOver; }

 private:
  Status look();
  Result<ReadState> settled_state();
  Status look_at_packs();
  Status look_at_objects();
  // From page at_.page on. False: the piece is full, and at_ says where to go on.
  Result<bool> look_at_object(MetaView& view, const std::string& key, std::string_view value);
  Status look_at_extents(MetaView& view, const std::string& key, const ExtentList& extents);
  void note_lost(const Blob& blob);
  std::string name_of(MetaView& view, const std::string& key);
  Status look_at_runs();

  ScrubRun& run_;
  const CheckParts& parts_;
  const InFlightCells& in_flight_;
  DamageList& damage_;
  ScrubPosition at_;
  PackScrub packs_;
  StripeScrub stripes_;
  std::set<ShareId> shared_;  // looked at already
};

}  // namespace hexad::core
