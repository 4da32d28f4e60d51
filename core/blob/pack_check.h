// A whole pack stripe: read, judged by its own footer, and put right. For deep fsck, and after a
// read that found a cell of one damaged.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "alloc/zone.h"
#include "base/aligned_buffer.h"
#include "base/error.h"
#include "core/blob/pack_verify.h"
#include "core/record/shape.h"
#include "core/space/stripe_map.h"
#include "core/stats/counters.h"
#include "ec/codec.h"
#include "ec/shard_set.h"
#include "io/device.h"

namespace hexad::core {

struct CheckedPack {
  PackResult result;
  std::vector<CellPlace> places;
  ec::ShardSet read;          // cells that could be read
  ec::ShardSet silent;        // cells that were not, since their devices do not answer
  ec::ShardSet bad;           // readable ones that failed to, or are not what they should be
  std::string problems;       // of the bad cells, by cell and device, and of the stripe; for people
  std::uint64_t checked = 0;  // bytes that were read
  AlignedBuffer buffer;       // behind `right`
  // When the result is whole: the cells as they should be, in role order.
  std::vector<MutByteView> right;
};

class PackChecker {
 public:
  // All outlive it.
  PackChecker(const StoreShape& shape, const ec::Codec& codec, StripeMap& map, io::IoQueue& queue,
              Counters& counters)
      : shape_(shape), codec_(codec), map_(map), queue_(queue), counters_(counters) {}

  // Which cells are read: all that can be, or as many as the others can be rebuilt from. Of those
  // that are not read nothing is known.
  enum class Cells : std::uint8_t { kAll, kEnough };
  // `stripe`: all its units, which do not change hands meanwhile: the caller pins them. Expected
  // blobs that lie outside of the cells are the caller's bug. Any thread.
  // Memory: twice the stripe. Cost: the cells are read, and see verify_pack(). What a device does
  // not give within io::kSilence counts as not there, and not as bad.
  // Errors: kCorruption (no such place).
  Result<CheckedPack> check(const PackIdentity& stripe, std::span<const ExpectedBlob> expected,
                            Cells cells = Cells::kAll) const;
  // Offers the bad cells of a whole stripe to the map, to be written back; of one that is not
  // whole, nothing.
  void heal(const CheckedPack& pack) const;
  // The same, and whether all of them are right when read again.
  bool repair(const CheckedPack& pack) const;

 private:
  struct Found {
    ec::ShardSet read;
    ec::ShardSet silent;
  };
  // Of `wanted`, into `buffer`, which may be another one then (io::read_round()). Errors: kFenced
  // (TO3).
  Result<Found> read_cells(const std::vector<CellPlace>& places, ec::ShardSet wanted,
                           AlignedBuffer& buffer, std::size_t cell,
                           std::vector<std::string>& why) const;

  const StoreShape& shape_;
  const ec::Codec& codec_;
  StripeMap& map_;
  io::IoQueue& queue_;
  Counters& counters_;
};

}  // namespace hexad::core
