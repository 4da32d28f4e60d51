// The part of a scrub that looks at one pack stripe, puts it right and fills it up: U3, U5 and U6
// of core/check/scrub_pass.h.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "core/blob/pack_check.h"
#include "core/blob/pack_verify.h"
#include "core/check/damage_list.h"
#include "core/check/scrub_run.h"
#include "core/metadata/metadata.h"
#include "core/record/record.h"

namespace hexad::core {

class PackScrub {
 public:
  // Both outlive it. `damage`: stripes that are not put right are suspects there.
  PackScrub(ScrubRun& run, DamageList& damage);

  // `view`: of a state that is pinned, and settled (U1). Errors: kFenced (TO3); those of the
  // metadata.
  Status look_at(MetaView& view, const PackIdentity& stripe);

 private:
  Status note_unchecked(const PackIdentity& stripe, const Error& error);
  Result<bool> fill_from_enough(MetaView& view, const PackIdentity& stripe);
  void fill(const PackIdentity& stripe, const CheckedPack& pack);
  bool agree(const std::vector<ExpectedBlob>& expected, const CheckedPack& pack) const;
  Result<std::vector<ExpectedBlob>> expected_blobs_in(MetaView& view, const alloc::Extent& stripe,
                                                      const PackFooter& footer);
  Result<ExtentList> extents_at(MetaView& view, const std::string& key, std::uint64_t offset);

  ScrubRun& run_;
  const CheckParts& parts_;
  DamageList& damage_;
  const PackChecker packs_;
};

}  // namespace hexad::core
