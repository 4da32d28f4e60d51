// The stripes that what is moved goes to: laid out, written durably, and named by one record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "core/blob/placement_plan.h"
#include "core/blob/stripe_writer.h"
#include "core/clean/clean_parts.h"
#include "core/clean/moved_extents.h"
#include "core/record/log_record.h"
#include "core/space/log_blobs.h"

namespace hexad::core {

// What a record says about where blobs have gone.
struct MovedStripes {
  std::vector<StripeWrite> stripes;
  std::vector<std::uint64_t> unwritten;  // of each: slots that lack a cell
  std::vector<PackedPlace> places;       // of each blob
  std::vector<std::size_t> stripe_of;    // of each blob: index into `stripes`

  // What a record says of a stripe that has so many live bytes (CL4).
  StripeProof proof(std::size_t stripe, std::uint64_t live) const;
};

// The blobs in their order in stripes that are as long as the `runs` at most, each in the next one,
// while there are any; none: there are not enough, or a blob fits into none.
std::vector<PackPlan> lay_out_moved(std::span<const UnplacedBlob> blobs,
                                    std::span<const std::uint32_t> runs, const StoreShape& shape);
// Of all of them together.
std::uint64_t units_of(std::span<const PackPlan> layouts);

// Writes the blobs into stripes of these layouts, in space that is kept for moves, and commits what
// `fill` says, which runs under the sequencer's lock, perhaps several times. A stripe that it adds
// no proof of is given up. Returns the record's LSN; 0: nothing is wanted any more, and nothing has
// happened. Errors: kNoSpace, those of devices and commits.
using FillMoved = std::function<Status(const MovedStripes& moved, LogRecord& record)>;
Result<Lsn> write_moved(const CleanParts& parts, std::span<const PackPlan> layouts,
                        const std::vector<UnplacedBlob>& blobs, const FillMoved& fill,
                        MovedStripes& moved);

// What `fill` says where nothing is wanted any more.
Error nothing_to_move();

}  // namespace hexad::core
