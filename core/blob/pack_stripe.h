// A pack stripe's bytes: blobs whole in its data cells, and the footer at the end of the last one,
// which says which stripe it is and what it held when it was written: for the cleaner, and for
// judging parity and dead ranges. doc/format.md#pack-stripe
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "alloc/zone.h"
#include "base/bytes.h"
#include "base/error.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/placement_plan.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "ec/codec.h"

namespace hexad::core {

struct PackEntry {
  std::uint32_t cell = 0;
  std::uint32_t cell_offset = 0;  // bytes
  std::uint32_t stored = 0;       // bytes
  Lsn lsn = 0;                    // of the transaction that wrote the blob
  std::uint64_t offset = 0;       // in the object, bytes
  std::string owner;              // the key that showed it then: of the page, where there are pages
  bool operator==(const PackEntry&) const = default;
};

struct PackFooter {
  Uuid store;
  alloc::Extent where;
  std::vector<PackEntry> entries;  // by cell and offset
  // Of the k data cells, of the last one up to the footer.
  SumList cell_sums;
  // Filled in by the decoder.
  std::uint32_t crc = 0;     // of all the above: what the metadata knows the stripe by
  std::uint32_t length = 0;  // bytes of the footer
};

// Bytes of a footer without entries, and what one entry adds to it at most.
std::uint32_t pack_footer_base(const RecordShape& shape);
std::uint32_t pack_footer_entry(const UnplacedBlob& blob);
// How blobs share stripes whose cells have `max_pack_units` at most; none rides in the log.
PlacementRules pack_rules(const StoreShape& shape, std::uint32_t max_pack_units);

std::string encode_pack_footer(const PackFooter& footer, const RecordShape& shape);
// Bytes of the footer that ends where `end` does, by its last bytes alone; nothing when those are
// not a footer's. Survives any input, and promises nothing: decode.
std::optional<std::uint32_t> pack_footer_length(ByteView end);
// `cell`: the last data cell, whole; only the footer's bytes are looked at. Errors: kCorruption;
// survives any input.
Result<PackFooter> decode_pack_footer(ByteView cell, const RecordShape& shape);

// The cells of a planned pack stripe that goes to `where`: `blobs` are those that the plan's slots
// index.
// Errors: those of coding, which are our own bugs.
Result<PreparedBlob> build_pack(const PackPlan& plan, const std::vector<UnplacedBlob>& blobs,
                                const alloc::Extent& where, const StoreShape& shape,
                                const ec::Codec& codec);

}  // namespace hexad::core
