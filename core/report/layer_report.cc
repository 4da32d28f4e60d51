#include "core/report/layer_report.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

LayerStatus LayerReport::layer(const char* name, std::uint64_t hits, std::uint64_t misses,
                               CounterId lat_count) const {
  LayerStatus layer;
  layer.name = name;
  layer.hits = hits;
  layer.misses = misses;
  layer.timed = since_open(lat_count);
  layer.timed_ns =
      since_open(static_cast<CounterId>(static_cast<std::uint16_t>(lat_count) + 1));  // its sum
  return layer;
}

void LayerReport::show(StoreStatus& status) {
  parts_.report.fold();
  const ReadCache::Usage cached = parts_.cache.usage();
  const kv::ResidentPieces::Usage resident = parts_.resident.usage();
  const Space::Room room = parts_.space.room();
  const bool has_index = parts_.index.has_fast();
  status.metadata_on = has_index ? "index" : resident.open ? "fast blocks" : "runs";

  LayerStatus records =
      layer("records", since_open(CounterId::kCacheRecordHits),
            since_open(CounterId::kCacheRecordMisses), CounterId::kRecordsLatCount);
  records.in_use = parts_.cache.enabled();
  records.bytes = cached.records;
  records.room = parts_.cache.capacity();
  status.layers.push_back(std::move(records));

  LayerStatus memtable =
      layer("memtable", since_open(CounterId::kMemtableHits),
            since_open(CounterId::kMemtableMisses), CounterId::kMemtableLatCount);
  memtable.bytes = parts_.metadata.memtable_bytes();
  memtable.room = parts_.memtable_size;
  status.layers.push_back(std::move(memtable));

  LayerStatus index =
      layer("index", since_open(CounterId::kIndexAnswers), 0, CounterId::kIndexLatCount);
  index.in_use = has_index;
  if (const Result<kv::IndexStats> stats = parts_.index.stats(); stats.ok()) {
    index.bytes = stats->bytes_used;
  }
  status.layers.push_back(std::move(index));

  std::uint64_t run_hits = 0;
  std::uint64_t run_misses = 0;
  for (const auto& [hits, misses] :
       {std::pair(CounterId::kRunFilterHits, CounterId::kRunFilterMisses),
        std::pair(CounterId::kRunIndexHits, CounterId::kRunIndexMisses),
        std::pair(CounterId::kRunBlockHits, CounterId::kRunBlockMisses)}) {
    run_hits += since_open(hits);
    run_misses += since_open(misses);
  }
  LayerStatus run_blocks = layer("run blocks", run_hits, run_misses, CounterId::kRunBlocksLatCount);
  run_blocks.in_use = !has_index;
  run_blocks.bytes = cached.runs;
  run_blocks.room = std::max(parts_.cache.capacity(), ReadCache::kLeastForRuns);
  status.layers.push_back(std::move(run_blocks));

  LayerStatus fast_blocks =
      layer("fast blocks", since_open(CounterId::kResidentHits),
            since_open(CounterId::kResidentMisses), CounterId::kFastBlocksLatCount);
  fast_blocks.in_use = resident.open;
  fast_blocks.bytes = resident.bytes;
  fast_blocks.room = resident.room;
  status.layers.push_back(std::move(fast_blocks));

  LayerStatus runs =
      layer("runs", since_open(CounterId::kRunDeviceReads), 0, CounterId::kRunsLatCount);
  runs.in_use = !has_index;
  runs.bytes = room.internal * parts_.user_unit;
  status.layers.push_back(std::move(runs));

  LayerStatus blocks =
      layer("data blocks", since_open(CounterId::kCacheBlockHits),
            since_open(CounterId::kCacheBlockMisses), CounterId::kDataBlocksLatCount);
  blocks.in_use = parts_.cache.enabled();
  blocks.bytes = cached.blocks;
  blocks.room = parts_.cache.capacity();
  status.layers.push_back(std::move(blocks));

  LayerStatus data = layer("data", since_open(CounterId::kDataReads), 0, CounterId::kDataLatCount);
  const std::uint64_t units = room.units.live + room.units.in_flight;
  data.bytes = (units - std::min(units, room.internal)) * parts_.user_unit;
  status.layers.push_back(std::move(data));

  status.fill = parts_.fill.forecast(parts_.room.available());
}

}  // namespace hexad::core
