// What a pack stripe's cells should hold, decided from the cells as they were read. Pure.
//
// A pack stripe carries its own checksums, in the footer of the last data cell, and that cell may
// be the lost one. So a footer is a guess until everything agrees with it. What is accepted:
//   J1  all k data cells have the footer's sums, and the last one ends with that footer: read so,
//       or rebuilt so from k cells that were read
//   J2  every expected blob, one that the metadata says is alive there, has its own sum in them. So
//       a stripe that an earlier owner of the place left on some cells does not pass for this one
//   J3  parity is the code of those data cells; parity that was read and differs is bad
//   J4  the footer is the one of this very stripe: it names the store and the place, and its crc is
//       the one that the metadata has for the place. So what lay there before, on however many
//       cells it was left, does not pass, whether or not any expected blob is known
// So every byte of `right` stands behind a stored sum, or is the code of bytes that do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "core/blob/pack_stripe.h"
#include "core/record/record.h"
#include "core/record/shape.h"
#include "core/space/stripe_map.h"
#include "ec/codec.h"
#include "ec/shard_set.h"

namespace hexad::core {

// A blob of the stripe that somebody knows from elsewhere.
struct ExpectedBlob {
  std::uint32_t cell = 0;
  std::uint32_t cell_offset = 0;  // bytes
  std::uint32_t stored = 0;       // bytes
  std::uint64_t sum = 0;          // over them
};

// `blob`: packed.
ExpectedBlob expected_blob_of(const Blob& blob);

struct PackResult {
  // All cells are known: `right` holds them.
  bool whole = false;
  // What the stripe says about itself (J4). When it is not whole, too; or nothing when its footer
  // was not found.
  std::optional<PackFooter> footer;
  // Cells that were read and are not what they should be; not whole: data cells that contradict
  // `footer`.
  ec::ShardSet bad;
  std::string problem;  // why it is not whole
};

// `cells`: k+m of one length, a multiple of 512 bytes; those in `read` hold what was read, and
// nothing is changed in them. `right`: as many of the same length, written. The expected blobs lie
// within their cells.
// Cost, whole and healthy: one pass of checksums and one of coding. Where the last data cell is
// bad: at most kMaxFooterChoices choices of k cells to rebuild its end from, each a few
// microseconds; that is every choice up to 16+4, and the likeliest ones beyond.
// Errors: those of coding, which are our own bugs. Survives any bytes.
Result<PackResult> verify_pack(std::span<const MutByteView> cells, ec::ShardSet read,
                               std::span<const MutByteView> right, const PackIdentity& identity,
                               std::span<const ExpectedBlob> expected, const StoreShape& shape,
                               const ec::Codec& codec);

inline constexpr int kMaxFooterChoices = 4096;

}  // namespace hexad::core
