// The counters of a store, with what its parts count on their own.
#pragma once

#include <vector>

#include "compression/compressor.h"
#include "core/api/types.h"
#include "core/cache/read_cache.h"
#include "core/metadata/metadata.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "kv/run/resident_pieces.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

class CounterReport {
 public:
  // All outlive it.
  struct Parts {
    Counters& counters;
    const compression::Counters& compression;
    const Members& members;
    Space& space;
    ReadCache& cache;
    kv::ResidentPieces& resident;
    Metadata& metadata;
    const kv::TieredIndex& index;
  };
  explicit CounterReport(const Parts& parts) : parts_(parts) {}

  // Any thread.
  std::vector<Counter> all();
  // What devices, caches and the compressor count is copied into the registry. Any thread.
  void fold();

 private:
  void add_free_runs(std::vector<Counter>& counters);
  void add_cached(std::vector<Counter>& counters);

  const Parts parts_;
};

}  // namespace hexad::core
