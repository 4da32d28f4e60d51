// The part of a scrub that looks at one private stripe, puts it right and fills it up: U5 and U6 of
// core/check/scrub_pass.h.
#pragma once

#include "base/error.h"
#include "core/blob/blob_read.h"
#include "core/check/scrub_run.h"
#include "core/check/stripe_check.h"
#include "core/record/record.h"

namespace hexad::core {

class StripeScrub {
 public:
  // `run` outlives it.
  explicit StripeScrub(ScrubRun& run);

  // `blob`: private, of a stripe that something holds (U1) and that is not on its way (U2).
  Result<CheckedStripe> look_at(const Blob& blob);

 private:
  bool fill_from_enough(const Blob& blob);
  Status fill(const Blob& blob);

  ScrubRun& run_;
  const CheckParts& parts_;
  const StripeCheck stripes_;
};

}  // namespace hexad::core
