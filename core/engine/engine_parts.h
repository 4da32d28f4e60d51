// What an engine owns, by what it is for. The engine makes the parts one after the other, since
// each is given those before it; members stand in that order, and end in the reverse of it.
#pragma once

#include <memory>

#include "compression/compressor.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/blob_read.h"
#include "core/blob/in_flight_cells.h"
#include "core/cache/open_readers.h"
#include "core/cache/read_pins.h"
#include "core/clean/cleaner.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/stripe_placer.h"
#include "core/devices/devices.h"
#include "core/job/job_scheduler.h"
#include "core/jobs/checkpoint_job.h"
#include "core/jobs/clean_job.h"
#include "core/jobs/close_job.h"
#include "core/jobs/damage_job.h"
#include "core/jobs/deletion_job.h"
#include "core/jobs/index_job.h"
#include "core/jobs/repair_job.h"
#include "core/jobs/seal_job.h"
#include "core/jobs/zone_job.h"
#include "core/membership/device_history.h"
#include "core/membership/membership.h"
#include "core/membership/silent_devices.h"
#include "core/read/store_reader.h"
#include "core/runs/run_mergers.h"
#include "core/transact/commit_path.h"
#include "core/transact/own_commits.h"
#include "core/transact/reclaimer.h"
#include "core/transact/zone_maker.h"
#include "io/executor.h"

namespace hexad::core {

// From objects to cells and back.
struct Coding {
  explicit Coding(io::Executor& executor) : in_flight(executor) {}

  std::unique_ptr<compression::Compressor> compressor;
  std::unique_ptr<BlobPreparer> preparer;
  std::unique_ptr<BlobReader> reader;
  std::unique_ptr<StripePlacer> placer;
  InFlightCells in_flight;
};

// Which devices owe an answer, and what has become of each.
struct DeviceWatch {
  std::unique_ptr<SilentDevices> silent;
  std::unique_ptr<DeviceHistory> history;
};

struct Reading {
  explicit Reading(io::Executor& executor) : pins(executor), readers(executor) {}

  ReadPins pins;
  OpenReaders readers;
  std::unique_ptr<StoreReader> reads;
};

// Work in the background that is the engine's own. That of the devices is theirs.
struct EngineJobs {
  std::unique_ptr<ZoneJob> zone;
  std::unique_ptr<CloseJob> close;
  std::unique_ptr<CheckpointJob> checkpoint;
  std::unique_ptr<IndexJob> index;
  std::unique_ptr<DeletionJob> deletion;
  std::unique_ptr<CleanJob> clean;
  std::unique_ptr<SealJob> seal;
  std::unique_ptr<RepairJob> repair;
  std::unique_ptr<DamageJob> damage;
};

// What changes the store: null, all of it, in one that is open for reading alone.
struct Writing {
  std::unique_ptr<CommitPipeline> pipeline;
  std::unique_ptr<Membership> membership;
  std::unique_ptr<RunMergers> mergers;
  std::unique_ptr<Reclaimer> reclaimer;
  std::unique_ptr<OwnCommits> own_commits;
  std::unique_ptr<ZoneMaker> zones;
  std::unique_ptr<Cleaner> cleaner;
  EngineJobs jobs;
  std::unique_ptr<Devices> devices;
  std::unique_ptr<JobScheduler> scheduler;  // of the jobs, and of the devices'
  std::unique_ptr<CommitPath> commit_path;
};

}  // namespace hexad::core
