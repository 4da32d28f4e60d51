// The parts that carry transactions of users, and what these wait for, to their places in the
// order, put together.
//
//   Submitter -> Committer -> OpPreparer -> PageCopier
//                          -> PlanRehearsal
//                          -> TransactionPlacer            under the sequencer's lock
//                          -> RoomMaker -> LayerMerger, LogTrimmer, SpaceFinder
//   StreamRoom             -> RoomMaker
#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/blob/blob_prepare.h"
#include "core/cache/read_pins.h"
#include "core/clean/cleaner.h"
#include "core/clean/slab_mover.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/stripe_placer.h"
#include "core/job/errands.h"
#include "core/job/job_scheduler.h"
#include "core/jobs/checkpointer.h"
#include "core/jobs/deletion_job.h"
#include "core/jobs/seal_job.h"
#include "core/membership/membership.h"
#include "core/opening/store_parts.h"
#include "core/plan/staged_object.h"
#include "core/read/store_reader.h"
#include "core/runs/run_mergers.h"
#include "core/transact/committer.h"
#include "core/transact/id_source.h"
#include "core/transact/layer_merger.h"
#include "core/transact/log_trimmer.h"
#include "core/transact/op_preparer.h"
#include "core/transact/order.h"
#include "core/transact/own_commits.h"
#include "core/transact/packer.h"
#include "core/transact/page_copier.h"
#include "core/transact/plan_rehearsal.h"
#include "core/transact/reclaimer.h"
#include "core/transact/room_maker.h"
#include "core/transact/space_finder.h"
#include "core/transact/space_waits.h"
#include "core/transact/stream_room.h"
#include "core/transact/submitter.h"
#include "core/transact/transaction_placer.h"
#include "core/transact/write_gate.h"
#include "core/transact/zone_maker.h"

namespace hexad::core {

class CommitPath {
 public:
  // The order, and who takes part in it beside transactions. All of it outlives the path, and so
  // does what stands below.
  struct Ordered {
    Order& order;
    IdSource& ids;
    const WriteGate& gate;
    CommitPipeline& pipeline;
    OwnCommits& commits;
    ZoneMaker& zones;
    Reclaimer& reclaimer;
    Membership& membership;
  };
  struct Background {
    Checkpointer& checkpointer;
    RunMergers& mergers;
    Cleaner& cleaner;
    SlabMover& slab_mover;
    DeletionJob& deletions;
    SealJob& sealing;
    JobScheduler& jobs;
    Errands& errands;
  };
  struct Sources {
    StoreReader& reads;
    ReadPins& pins;
    const BlobPreparer& blobs;
    const StripePlacer& placer;
    const StagedHome& home;
  };
  struct Hooks {
    SpaceFinder::Hooks space;
    std::function<Status()> release_left;  // as SpaceWaits has it
  };

  CommitPath(StoreParts& store, const Ordered& ordered, const Background& background,
             const Sources& sources, Hooks hooks);

  Submitter& submitter() { return submitter_; }
  StreamRoom& stream_room() { return stream_room_; }
  OpPreparer& preparer() { return preparer_; }
  Packer& packer() { return packer_; }
  RoomMaker& room() { return room_; }
  TransactionPlacer& placer() { return placer_; }

 private:
  PageCopier copier_;
  LayerMerger layers_;
  Packer packer_;
  LogTrimmer log_;
  SpaceWaits waits_;
  SpaceFinder space_;
  RoomMaker room_;
  OpPreparer preparer_;
  PlanRehearsal rehearsal_;
  TransactionPlacer placer_;
  Committer committer_;
  Submitter submitter_;
  StreamRoom stream_room_;
};

}  // namespace hexad::core
