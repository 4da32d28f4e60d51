// What a store is made of: opening puts it together, the engine owns it.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/root.h"
#include "compression/compressor.h"
#include "core/api/options.h"
#include "core/api/pool.h"
#include "core/api/transaction.h"
#include "core/api/types.h"
#include "core/blob/blob_read.h"
#include "core/cache/read_cache.h"
#include "core/check/torn_cells.h"
#include "core/metadata/metadata.h"
#include "core/record/device_record.h"
#include "core/record/shape.h"
#include "core/runs/run_catalogue.h"
#include "core/space/log_blobs.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "ec/codec.h"
#include "io/bus_errors.h"
#include "io/system.h"
#include "kv/index.h"
#include "kv/log/log_writer.h"
#include "kv/run/resident_pieces.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

// The most that the table of blocks of runs on the fast device may take of a cache of that size, or
// of what pieces of runs have where that is less (ReadCache::set_beside()).
constexpr std::uint64_t resident_table_memory(std::uint64_t cache_size) {
  return std::max<std::uint64_t>(1 << 20, cache_size / 16);
}

// Everything that opening has found out; made by open_parts() (core/opening/opening.h).
struct StoreParts {
  std::unique_ptr<io::System> owned_system;  // null when borrowed
  io::System* system = nullptr;
  std::unique_ptr<kv::IndexHome> owned_indexes;  // null when borrowed
  bool memory_only = false;                      // all of it ends with the store
  RuntimeOptions options;
  PoolDescription pool;
  std::unique_ptr<StoreShape> shape;  // others keep references to it
  compression::Policy compression;    // of new collections
  bool redundant_devices = false;     // as the labels say
  std::unique_ptr<ec::Codec> codec;
  std::unique_ptr<Counters> counters;
  std::unique_ptr<compression::Counters> compression_counters;
  std::unique_ptr<Members> members;
  kv::IndexHome* indexes = nullptr;
  std::string index_directory;                              // of the fast index
  std::optional<io::BusErrorWatch> bus_errors;              // of its file
  std::unique_ptr<compression::Compressor> run_compressor;  // of run_reader
  std::unique_ptr<ReadHedges> hedges;                       // of all reads of cells
  std::unique_ptr<BlobReader> run_reader;                   // of what the runs lie in
  std::unique_ptr<kv::ResidentPieces> resident;             // outlives the cache
  std::unique_ptr<ReadCache> cache;                         // outlives who reads runs or metadata
  std::unique_ptr<RunCatalogue> runs;
  std::unique_ptr<kv::TieredIndex> index;
  std::unique_ptr<kv::Index> unverified_index;  // to be attached when it is; or null
  std::optional<std::string> runs_writer;       // it has to have the same
  std::map<DeviceId, DeviceRecord> device_records;
  std::optional<std::uint64_t> bytes_copied;  // of a device that answers, and was replaced
  std::unique_ptr<Metadata> metadata;
  std::unique_ptr<LogBlobs> log_blobs;  // space and the reader keep references to it
  std::unique_ptr<Space> space;
  alloc::Root root;
  std::optional<kv::LogWriter> log;  // nothing when read-only
  Lsn last_lsn = 0;
  // What tests say: ids of the epoch that have been drawn, pages of ranges cloned one by one.
  std::uint32_t ids_drawn = 0;
  std::uint64_t ranges_at_once = kMaxClonedPages;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;       // as in StoreStatus
  std::vector<DeviceStatus> unrecognised;  // devices given that are no members
  // Labels of which a copy was bad when it was opened for writing. A root that a crash has torn is
  // news for nobody.
  std::vector<Finding> mended;
  TornCells torn;  // empty when it was opened for writing, which has healed them
};

}  // namespace hexad::core
