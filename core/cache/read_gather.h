// One read of user bytes, put together: holes and inline bytes at once, what the read cache has
// from there, the rest by asking the devices for all of it at the same time.
//
// Where a record can be found again in the cache, whole blocks are read around what is wanted and
// left there. Short-lived, one thread; the caller holds the pin of the state it reads until it is
// done (N6 of core/cache/read_cache.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "core/blob/blob_read.h"
#include "core/cache/read_cache.h"
#include "core/record/record.h"

namespace hexad::core {

class ReadGather {
 public:
  // Both outlive it. `admit`: what it leaves in the cache.
  ReadGather(const BlobReader& reader, ReadCache& cache,
             ReadCache::Admit admit = ReadCache::Admit::kAll)
      : reader_(reader), cache_(cache), admit_(admit) {
    ranges_.reserve(kFewRanges);
  }
  ReadGather(const ReadGather&) = delete;
  ReadGather& operator=(const ReadGather&) = delete;

  // Fills `out` with what `extents` shows from byte `at` of the object on, now or in finish().
  // `serial`: of the record that the extents belong to; 0: neither looks in the cache nor leaves
  // anything there. `owner` keeps the extents and may be null when they outlive finish().
  // Errors: those of BlobReader::read().
  Status add(const ExtentList& extents, std::uint64_t serial, std::shared_ptr<const void> owner,
             std::uint64_t at, MutByteView out);
  // Everything that was added is there.
  Status finish();

 private:
  // Blocks that are not in the cache, next to each other.
  struct Fill {
    ReadCache::BlockKey first;
    AlignedBuffer buffer;      // empty: the blocks are read where they are wanted
    ByteView bytes;            // of the blocks, wherever they are read
    std::uint64_t wanted = 0;  // where in `bytes` the wanted ones begin
    MutByteView out;           // where they go, when there is a buffer
  };
  void add_blocks(const Blob& blob, const ReadCache::BlockKey& key, std::uint64_t from,
                  MutByteView out);
  void add_fill(const Blob& blob, const ReadCache::BlockKey& first, std::uint64_t count,
                std::uint64_t from, MutByteView out);

  // A read of few pieces takes no memory but its own.
  static constexpr std::size_t kFewRanges = 4;

  const BlobReader& reader_;
  ReadCache& cache_;
  const ReadCache::Admit admit_;
  std::vector<std::shared_ptr<const void>> owners_;
  alignas(BlobReader::Range) std::array<std::byte, kFewRanges * sizeof(BlobReader::Range)> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<BlobReader::Range> ranges_{&memory_};
  std::vector<Fill> fills_;
  std::uint64_t in_flight_ = 0;
  std::uint64_t from_cache_ = 0;  // of what was added since the last finish(), bytes
  std::uint64_t missing_ = 0;     // ... that are in blobs and were not in the cache
};

// Copies what `extents` shows when the cache has all of it; else false, and some of `out` may have
// been written.
bool copy_from_cache(ReadCache& cache, const ExtentList& extents, std::uint64_t serial,
                     std::uint64_t at, MutByteView out);
// The first `size` bytes, likewise; nothing when some are not there. Writes no byte twice, which
// clearing the memory first would.
std::optional<Bytes> get_from_cache(ReadCache& cache, const ExtentList& extents,
                                    std::uint64_t serial, std::uint64_t size);

}  // namespace hexad::core
