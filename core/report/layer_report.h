// Where the metadata and what was read of a store are, layer by layer, and what each has answered.
#pragma once

#include "core/api/types.h"
#include "core/cache/read_cache.h"
#include "core/metadata/metadata.h"
#include "core/report/counter_report.h"
#include "core/report/fill_rate.h"
#include "core/report/space_report.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "kv/run/resident_pieces.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

class LayerReport {
 public:
  // All outlive it.
  struct Parts {
    const Counters& counters;
    CounterReport& report;
    ReadCache& cache;
    Metadata& metadata;
    kv::TieredIndex& index;
    kv::ResidentPieces& resident;
    Space& space;
    SpaceReport& room;
    FillSamples& fill;
    std::uint64_t memtable_size;  // RuntimeOptions::memtable_size
    std::uint64_t user_unit;      // user bytes in a unit of a stripe
  };
  explicit LayerReport(const Parts& parts) : parts_(parts) {}

  // StoreStatus::metadata_on, layers and fill. Any thread; takes no lock that is held while
  // waiting.
  void show(StoreStatus& status);

 private:
  LayerStatus layer(const char* name, std::uint64_t hits, std::uint64_t misses,
                    CounterId lat_count) const;
  std::uint64_t since_open(CounterId id) const { return parts_.counters.since_open(id); }

  const Parts parts_;
};

}  // namespace hexad::core
