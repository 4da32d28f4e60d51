// A private stripe as a whole: every cell against its checksum, parity against the data, and put
// right. For deep fsck and for scrubs; pack stripes have core/blob/pack_check.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/blob/blob_read.h"
#include "core/record/record.h"
#include "core/record/shape.h"
#include "ec/codec.h"
#include "ec/shard_set.h"

namespace hexad::core {

struct CheckedStripe {
  std::vector<std::string> problems;  // for people; cells on devices that are away are none
  bool repaired = false;              // all of them are over
  ec::ShardSet bad;           // cells that are the only problem, and that the others make up for
  std::uint64_t checked = 0;  // bytes that were read and fit their checksums
  // Devices that do not answer: their cells were not looked at.
  std::vector<DeviceId> silent;
};

class StripeCheck {
 public:
  // All outlive it.
  StripeCheck(const StoreShape& shape, const ec::Codec& codec, const BlobReader& reader)
      : shape_(shape), codec_(codec), reader_(reader) {}

  // kRebuilt: they are written back, too, and read again.
  enum class BadCells : std::uint8_t { kLeft, kRebuilt };
  // `blob`: private. Waits for no device longer than io::kSilence. Its units do not change hands
  // meanwhile: the caller pins them. Any thread. Cost: all cells are read; one pass of checksums,
  // and one of coding. Memory: the stripe. Errors: our own bugs. What a device says or has is a
  // problem.
  Result<CheckedStripe> check(const Blob& blob, BadCells bad_cells) const;

 private:
  bool fits_block_sums(const Blob& blob, BlobReader::Cells& cells) const;

  const StoreShape& shape_;
  const ec::Codec& codec_;
  const BlobReader& reader_;
};

}  // namespace hexad::core
