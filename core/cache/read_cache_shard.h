// One shard of the read cache: its lock, its entries, what it has counted. For the files of
// ReadCache alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/cache/read_cache.h"
#include "core/cache/s3_fifo.h"
#include "io/executor.h"

namespace hexad::core {

// Of entries. Those of pieces of runs begin at kRunKinds, in the order of kv::RunPieceKind.
enum CacheKind : std::uint32_t { kObject, kPage, kBlockKind, kRunKinds };
static_assert(kRunKinds + kv::kRunPieceKinds == S3Fifo::kKinds);

inline constexpr std::uint64_t kNode = 48;  // of a std::map, beside what it holds; bytes

inline std::uint64_t heap_of(const std::string& text) {
  return text.capacity() <= 15 ? 0 : text.capacity() + 1 + S3Fifo::kAllocation;
}
template <typename T>
std::uint64_t heap_of(const std::vector<T>& list) {
  return list.capacity() == 0 ? 0 : list.capacity() * sizeof(T) + S3Fifo::kAllocation;
}

inline std::uint64_t heap_of(const SumList& sums) {
  if (sums.capacity() == SumList::kInside) return 0;
  return sums.capacity() * sizeof(std::uint64_t) + S3Fifo::kAllocation;
}

struct alignas(128) ReadCache::Shard {
  Shard(io::Executor& executor, std::uint64_t capacity) : mutex(executor), entries(capacity) {
    count_collections();
  }
  void count_collections() HEXAD_REQUIRES(mutex) {
    constexpr std::uint64_t kEntry = sizeof(decltype(collections)::value_type);
    std::uint64_t bytes = sizeof(Shard);
    for (const auto& [name, known] : collections) {
      bytes += kNode + kEntry + heap_of(name) + heap_of(known.parts);
      for (const NamePart& part : known.parts) bytes += heap_of(part.from);
    }
    entries.set_outside(bytes);
  }

  io::Mutex mutex;
  std::uint64_t generation HEXAD_GUARDED_BY(mutex) = 1;  // counts invalidations; no ticket has 0
  std::uint64_t looks HEXAD_GUARDED_BY(mutex) = 0;       // which of them are timed
  Tally tally HEXAD_GUARDED_BY(mutex);
  std::uint64_t evictions_told HEXAD_GUARDED_BY(mutex) = 0;
  S3Fifo entries HEXAD_GUARDED_BY(mutex);
  std::map<std::string, Collection, std::less<>> collections HEXAD_GUARDED_BY(mutex);
  // note_served(); what find_bytes() serves is in the tally.
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> bytes_read{0};
};

}  // namespace hexad::core
