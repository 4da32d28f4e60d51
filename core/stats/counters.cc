#include "core/stats/counters.h"

#include <algorithm>

#include "base/codec.h"

namespace hexad::core {
namespace {

constexpr std::uint8_t kCountersKind = 0x05;
constexpr std::size_t kMaxCounterName = 64;  // bytes

// In the order of CounterId. doc/counters.md says what each counts.
constexpr std::array<std::string_view, static_cast<std::size_t>(CounterId::kCount)> kNames = {
    "txc_count",
    "txc_failed_count",
    "txc_buffered_count",
    "commit_groups",
    "commit_rounds",
    "commit_flushes",
    "reads",
    "read_bytes",
    "written_bytes",
    "device_user_bytes",
    "device_parity_bytes",
    "write_pad_bytes",
    "device_log_bytes",
    "device_super_bytes",
    "device_zeroed_bytes",
    "device_run_bytes",
    "device_merge_bytes",
    "merge_moved_bytes",
    "merge_made_bytes",
    "device_clean_bytes",
    "index_bytes",
    "index_page_bytes",
    "device_read_bytes",
    "device_flushes",
    "checkpoints",
    "runs_merged",
    "indexes_rebuilt",
    "checksum_errors",
    "read_errors",
    "cells_reconstructed",
    "cells_healed",
    "heal_failures",
    "scrub_stripes",
    "scrub_bytes",
    "scrub_findings",
    "degraded_reads",
    "cells_asked_again",
    "devices_lost",
    "devices_returned",
    "alloc_stripes",
    "alloc_pieces_cut",
    "alloc_pieces_cut_into",
    "cleaned_stripes",
    "cleaned_blobs",
    "cleaned_bytes",
    "clean_too_late",
    "slabs_moved",
    "slab_bytes_moved",
    "clean_unexplained",
    "clean_unreadable",
    "clean_no_gain",
    "compacted_lists",
    "compacted_blobs",
    "compacted_bytes",
    "compact_no_gain",
    "compact_unreadable",
    "log_patches",
    "hedged_reads",
    "hedge_device_reads",
    "hedges_used",
    "recovered_transactions",
    "recovery_tail_kept",
    "recovery_tail_cut",
    "log_first_blobs",
    "log_blobs_packed",
    "recovery_log_copies_healed",
    "writers_abandoned",
    "compress_success_count",
    "compress_rejected_count",
    "compress_skipped_count",
    "bluestore_compressed",
    "bluestore_compressed_original",
    "bluestore_compressed_allocated",
    "compress_ns",
    "decompress_ns",
    "cache_record_hits",
    "cache_record_misses",
    "cache_block_hits",
    "cache_block_misses",
    "onode_hits",
    "onode_misses",
    "onode_shard_hits",
    "onode_shard_misses",
    "buffer_hit_bytes",
    "buffer_miss_bytes",
    "data_reads",
    "memtable_hits",
    "memtable_misses",
    "index_answers",
    "run_device_reads",
    "run_filter_hits",
    "run_filter_misses",
    "run_index_hits",
    "run_index_misses",
    "run_block_hits",
    "run_block_misses",
    "run_resident_hits",
    "run_resident_misses",
    "run_resident_bytes",
    "run_resident_errors",
    "cold_attempts",
    "cache_reads",
    "cache_read_bytes",
    "cache_evictions",
    "throttle_lat_count",
    "throttle_lat_ns",
    "state_prepare_lat_count",
    "state_prepare_lat_ns",
    "state_kv_queued_lat_count",
    "state_kv_queued_lat_ns",
    "state_aio_wait_lat_count",
    "state_aio_wait_lat_ns",
    "state_kv_commiting_lat_count",
    "state_kv_commiting_lat_ns",
    "state_io_done_lat_count",
    "state_io_done_lat_ns",
    "state_kv_done_lat_count",
    "state_kv_done_lat_ns",
    "commit_lat_count",
    "commit_lat_ns",
    "read_lat_count",
    "read_lat_ns",
    "records_lat_count",
    "records_lat_ns",
    "memtable_lat_count",
    "memtable_lat_ns",
    "index_lat_count",
    "index_lat_ns",
    "run_blocks_lat_count",
    "run_blocks_lat_ns",
    "fast_blocks_lat_count",
    "fast_blocks_lat_ns",
    "runs_lat_count",
    "runs_lat_ns",
    "data_blocks_lat_count",
    "data_blocks_lat_ns",
    "data_lat_count",
    "data_lat_ns",
    "commit_group_bytes",
    "commit_groups_txc_1",
    "commit_groups_txc_2_3",
    "commit_groups_txc_4_7",
    "commit_groups_txc_8_15",
    "commit_groups_txc_16_63",
    "commit_groups_txc_64_up",
};
static_assert(!kNames.back().empty(), "a counter has no name");

}  // namespace

std::string_view counter_name(CounterId id) {
  const auto index = static_cast<std::size_t>(id);
  HEXAD_ASSERT(index < kNames.size());
  return kNames[index];
}

std::vector<Counter> Counters::snapshot() const {
  std::vector<Counter> counters;
  counters.reserve(kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    // Read once: the total and its part agree although other threads go on counting.
    const std::uint64_t now = values_[i].load(std::memory_order_relaxed);
    counters.push_back({std::string(kNames[i]), base_[i] + now, now});
  }
  // BlueStore has had these with and without it.
  constexpr std::string_view kPrefix = "bluestore_";
  for (std::size_t i = 0; i < kSize; ++i) {
    if (!kNames[i].starts_with(kPrefix)) continue;
    Counter again = counters[i];
    again.name.erase(0, kPrefix.size());
    counters.push_back(std::move(again));
  }
  return counters;
}

std::string Counters::encode_totals() const {
  std::string out;
  Encoder encoder(out);
  encoder.u8(kCountersKind);
  encoder.varint(kSize + unknown_.size());
  for (std::size_t i = 0; i < kSize; ++i) {
    encoder.bytes(kNames[i]);
    encoder.varint(total(static_cast<CounterId>(i)));
  }
  for (const auto& [name, value] : unknown_) {
    encoder.bytes(name);
    encoder.varint(value);
  }
  return out;
}

Status Counters::load_base(std::string_view encoded) {
  Decoder decoder(encoded);
  if (decoder.u8() != kCountersKind) decoder.fail();
  const std::uint64_t count = decoder.count(2);
  std::map<std::string, std::uint64_t> totals;
  for (std::uint64_t i = 0; i < count && decoder.ok(); ++i) {
    const std::string_view name = decoder.bytes();
    const std::uint64_t value = decoder.varint();
    if (name.empty() || name.size() > kMaxCounterName) decoder.fail();
    if (decoder.ok() && !totals.emplace(name, value).second) decoder.fail();
  }
  HEXAD_TRY(decoder.finish("saved counters"));
  // Only now: a broken encoding leaves everything as it was.
  for (std::size_t i = 0; i < kSize; ++i) {
    const auto found = totals.find(std::string(kNames[i]));
    base_[i] = found == totals.end() ? 0 : found->second;
    if (found != totals.end()) totals.erase(found);
  }
  unknown_ = std::move(totals);
  return ok_status();
}

}  // namespace hexad::core
