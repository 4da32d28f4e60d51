// Everything that a checkpoint writes, sorted: what the memtable has, zone images, the totals of
// counters. Records name stripes: what they say of unplaced blobs is replaced by their places.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/zone_image.h"
#include "base/error.h"
#include "core/record/record.h"
#include "core/runs/run_catalogue.h"
#include "core/space/log_blobs.h"
#include "kv/index.h"
#include "kv/memory/memtable.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

struct CheckpointChanges {
  std::vector<kv::IndexChange> list;  // sorted; views of the memtable and of the next two
  std::map<std::string, std::string> extras;
  std::deque<std::string> resolved;
};

// Zone images, by their keys.
std::map<std::string, std::string> encode_images(const std::vector<alloc::ZoneImage>& images);
// Keys and values of the table and the extras, bytes.
std::uint64_t bytes_of(const kv::Memtable& table, const std::map<std::string, std::string>& extras);
// `changes.extras` are there; adds the list. The table outlives it. Errors: kCorruption (a blob has
// no place).
Status list_changes(const kv::Memtable& table, const LogBlobs& log_blobs, const RecordShape& shape,
                    CheckpointChanges& changes);
// What the index holds, and the changes on top.
Status each_with_index(kv::TieredIndex& index, const std::vector<kv::IndexChange>& list,
                       const RunCatalogue::AddChange& add);

}  // namespace hexad::core
