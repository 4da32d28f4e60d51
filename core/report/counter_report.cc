#include "core/report/counter_report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

namespace hexad::core {

std::vector<Counter> CounterReport::all() {
  fold();
  std::vector<Counter> counters = parts_.counters.snapshot();
  add_free_runs(counters);
  add_cached(counters);
  return counters;
}

// What there is now, and no count: both numbers say the same.
void CounterReport::add_free_runs(std::vector<Counter>& counters) {
  struct Kind {
    const char* name;
    std::uint32_t most;  // units
    std::uint64_t runs = 0;
  };
  std::array<Kind, 6> kinds{{{"alloc_free_runs_1", 1},
                             {"alloc_free_runs_2_3", 3},
                             {"alloc_free_runs_4_7", 7},
                             {"alloc_free_runs_8_15", 15},
                             {"alloc_free_runs_16_63", 63},
                             {"alloc_free_runs_64_up", UINT32_MAX}}};
  for (const std::uint32_t units : parts_.space.free_runs()) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                   [units](const Kind& one) { return units <= one.most; });
    ++kind->runs;
  }
  for (const Kind& kind : kinds) counters.push_back({kind.name, kind.runs, kind.runs});
}

// Likewise, and under BlueStore's names, with and without what it once had before them.
void CounterReport::add_cached(std::vector<Counter>& counters) {
  const ReadCache::Usage usage = parts_.cache.usage();
  for (const auto& [name, value] :
       {std::pair("onodes", usage.onodes), std::pair("buffer_bytes", usage.blocks)}) {
    counters.push_back({name, value, value});
    counters.push_back({std::string("bluestore_") + name, value, value});
  }
}

// Devices and the compressor count on their own; their numbers are copied into the registry.
void CounterReport::fold() {
  const compression::CounterValues values = parts_.compression.snapshot();
  Counters& counters = parts_.counters;
  std::uint64_t flushes = 0;
  // One that was removed has been counted, and its number may be another one's.
  std::set<DeviceId> ids;
  for (std::size_t i = 0; i < parts_.members.size(); ++i) ids.insert(parts_.members.at(i).id);
  for (const DeviceId id : ids) {
    for (const io::Device* const handle : parts_.members.all_handles(id)) {
      flushes += handle->traffic().flushes.load(std::memory_order_relaxed) +
                 handle->traffic().durable_writes.load(std::memory_order_relaxed);
    }
  }
  const ReadCache::Tally cached = parts_.cache.take_tally();
  constexpr auto kFilters = static_cast<std::size_t>(kv::RunPieceKind::kFilter);
  constexpr auto kIndexes = static_cast<std::size_t>(kv::RunPieceKind::kIndex);
  constexpr auto kBlocks = static_cast<std::size_t>(kv::RunPieceKind::kData);
  const kv::ResidentPieces::Tally resident = parts_.resident.tally();
  const Metadata::Tally memtable = parts_.metadata.tally();
  const kv::TieredIndex::Tally index = parts_.index.tally();
  const std::pair<CounterId, std::uint64_t> since_last_time[] = {
      {CounterId::kReads, cached.reads},
      {CounterId::kBytesRead, cached.bytes_read},
      {CounterId::kCacheRecordHits, cached.record_hits},
      {CounterId::kCacheRecordMisses, cached.record_misses},
      {CounterId::kCacheBlockHits, cached.block_hits},
      {CounterId::kCacheBlockMisses, cached.block_misses},
      {CounterId::kOnodeHits, cached.record_hits - cached.page_hits},
      {CounterId::kOnodeMisses, cached.record_misses - cached.page_misses},
      {CounterId::kOnodeShardHits, cached.page_hits},
      {CounterId::kOnodeShardMisses, cached.page_misses},
      {CounterId::kBufferHitBytes, cached.bytes_read + cached.hit_bytes},
      {CounterId::kBufferMissBytes, cached.missed_bytes},
      {CounterId::kDataReads, cached.devices.count},
      {CounterId::kRunDeviceReads, cached.run_reads},
      {CounterId::kRunFilterHits, cached.run_hits[kFilters]},
      {CounterId::kRunFilterMisses, cached.run_misses[kFilters]},
      {CounterId::kRunIndexHits, cached.run_hits[kIndexes]},
      {CounterId::kRunIndexMisses, cached.run_misses[kIndexes]},
      {CounterId::kRunBlockHits, cached.run_hits[kBlocks]},
      {CounterId::kRunBlockMisses, cached.run_misses[kBlocks]},
      {CounterId::kCacheReads, cached.reads},
      {CounterId::kCacheBytesRead, cached.bytes_read},
      {CounterId::kCacheEvictions, cached.evictions},
  };
  const std::pair<CounterId, std::uint64_t> since_opening[] = {
      {CounterId::kFlushes, flushes},
      {CounterId::kResidentHits, resident.hits},
      {CounterId::kResidentMisses, resident.misses},
      {CounterId::kResidentBytes, resident.bytes_written},
      {CounterId::kResidentErrors, resident.errors},
      {CounterId::kMemtableHits, memtable.hits},
      {CounterId::kMemtableMisses, memtable.misses},
      {CounterId::kMemtableLatCount, memtable.timed},
      {CounterId::kMemtableLatNanos, static_cast<std::uint64_t>(memtable.nanos)},
      {CounterId::kIndexPageBytes, parts_.index.bytes_written()},
      {CounterId::kIndexAnswers, index.answers},
      {CounterId::kIndexLatCount, index.timed},
      {CounterId::kIndexLatNanos, static_cast<std::uint64_t>(index.nanos)},
      {CounterId::kFastBlocksLatCount, resident.rounds},
      {CounterId::kFastBlocksLatNanos, static_cast<std::uint64_t>(resident.round_nanos)},
      {CounterId::kCompressSuccess, values.compress_success_count},
      {CounterId::kCompressRejected, values.compress_rejected_count},
      {CounterId::kCompressSkipped, values.compress_skipped_count},
      {CounterId::kCompressed, values.compressed},
      {CounterId::kCompressedOriginal, values.compressed_original},
      {CounterId::kCompressNanos, values.compress_ns},
      {CounterId::kDecompressNanos, values.decompress_ns},
  };
  const std::pair<CounterId, ReadCache::Timed> lengths[] = {
      {CounterId::kRecordsLatCount, cached.records},
      {CounterId::kRunBlocksLatCount, cached.runs},
      {CounterId::kRunsLatCount, cached.run_rounds},
      {CounterId::kDataBlocksLatCount, cached.blocks},
      {CounterId::kDataLatCount, cached.devices},
  };
  for (const auto& [id, timed] : lengths) counters.add_latency(id, timed.count, timed.nanos);
  for (const auto& [id, value] : since_last_time) counters.add(id, value);
  for (const auto& [id, value] : since_opening) counters.set(id, value);
}

}  // namespace hexad::core
