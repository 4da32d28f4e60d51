// Layers of omaps that have become too many for a clone: the newest of an object are merged into
// one. Nobody writes layers, so they are read and copied without a lock, bit by bit. Until the last
// record puts the copy in their place it is an omap that no object names, with a writer key: what a
// crash, or an error here, leaves of it is reclaimed. doc/decisions/012-shared-blobs.md
#pragma once

#include <vector>

#include "base/error.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/internal_commits.h"
#include "core/jobs/deletion_job.h"
#include "core/plan/owners.h"
#include "core/plan/planner.h"
#include "core/read/store_reader.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/transact/id_source.h"

namespace hexad::core {

class LayerMerger {
 public:
  // All outlive it.
  struct Parts {
    CommitPipeline& pipeline;
    StoreReader& reads;
    const LogBlobs& log_blobs;
    const RecordShape& shape;
    IdSource& ids;
    InternalCommits& commits;
    DeletionJob& deletions;  // of what is merged, and of copies that are for nothing
  };
  explicit LayerMerger(const Parts& parts) : parts_(parts) {}

  // Makes the list of layers below the object's omap shorter; what it shows stays the same. Under
  // no lock.
  Status merge(const LayeredObject& object);

 private:
  struct Key;

  Status copy_entries(const std::vector<Key>& keys, OmapId to, LogRecord& record);
  Status copy_entry(const Key& key, OmapId to, LogRecord& record, BlobOwners& owners);
  // Whether the list still had the layers.
  Result<bool> replace(const LayeredObject& object, const std::vector<OmapId>& layers, OmapId by);

  const Parts parts_;
};

}  // namespace hexad::core
