// Erasure coding of one stripe: parity from data, and lost shards from those that are left.
//
// A codec knows nothing of devices or roles, and of checksums no more than that a payload is summed
// while it is coded: the caller has decided who is lost, and checks what was rebuilt against stored
// checksums. The code works column by column, so any call
// may be made on the same range [offset, offset + length) of every shard, as long as both are
// multiples of alignment().
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "ec/profile.h"
#include "ec/shard_set.h"

namespace hexad::ec {

// Thread-safe: all calls are const and share nothing that changes. Buffers may lie anywhere; those
// that start on a multiple of 32 bytes are coded fastest. Buffers written must not overlap others.
class Codec {
 public:
  virtual ~Codec() = default;

  virtual const Profile& profile() const = 0;

  // All lengths are multiples of this many bytes; divides 512 in profiles fit for a store.
  std::uint32_t alignment() const { return ec::alignment(profile()); }

  // Fills `parity` (m spans) from `data` (k spans), all of one length. Length 0 is a no-op.
  // Errors: kInvalidArgument (wrong number of spans, lengths differ, not aligned).
  virtual Status encode(std::span<const ByteView> data,
                        std::span<const MutByteView> parity) const = 0;

  // Copies the k `sources` into the first k of the k+m `shards`, fills the others with their
  // parity, and continues `sums`, a crc32c of each shard: in one walk where the processor has a
  // kernel for it (ec/summing_kernel.h), else by parts that fit its nearest caches. A source may be
  // its shard. The sums are those of what was written, never of a source that somebody is changing.
  // Errors: kInvalidArgument (wrong number of spans or sums, lengths differ, not aligned).
  virtual Status encode_and_sum(std::span<const ByteView> sources,
                                std::span<const MutByteView> shards,
                                std::span<std::uint32_t> sums) const = 0;

  // Rebuilds the shards named in `lost`, in place; all others count as good and are only read.
  // `shards`: k+m spans of one length.
  // Errors: kInvalidArgument (wrong number of spans, lengths differ, not aligned, an index out of
  // range or named twice), kUnavailable (more than m lost).
  Status reconstruct(std::span<const MutByteView> shards, std::span<const ShardIndex> lost) const;

  // Rebuilds the shards in `wanted` and nothing else, reading the k members of `present` with the
  // lowest indexes. `shards`: k+m spans; those in neither set are not looked at and may be empty,
  // all others have one length. A degraded read of one cell thus costs one output, however many
  // shards are lost. Nothing wanted is a no-op.
  // Cost before the first byte: O(k * lost^2) table look-ups, about 0.2 us at 4+2 with ISA-L (the
  // packet codes of Jerasure take 2 to 6 us there, milliseconds at 32+8).
  // Errors: kInvalidArgument (wrong number of spans, lengths differ, not aligned, an index out of
  // range, a shard both present and wanted), kUnavailable (fewer than k present).
  virtual Status reconstruct_wanted(std::span<const MutByteView> shards, ShardSet present,
                                    ShardSet wanted) const = 0;

  // Whether the last m of the k+m `shards` are the parity of the first k. Memory: 32 KiB per
  // parity shard.
  // Errors: kInvalidArgument (wrong number of spans, lengths differ, not aligned).
  Result<bool> verify(std::span<const ByteView> shards) const;
};

// The codec of a profile, with the fastest kernel of this machine.
// Errors: kInvalidArgument (validate() refuses the profile).
Result<std::unique_ptr<Codec>> make_codec(const Profile& profile);

}  // namespace hexad::ec
