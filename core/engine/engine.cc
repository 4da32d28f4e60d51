#include "core/engine/engine.h"

#include <utility>

#include "core/check/known_damage.h"
#include "core/check/scrubber.h"
#include "core/jobs/silence_job.h"
#include "core/report/counter_report.h"

namespace hexad::core {

Engine::Engine(StoreParts parts)
    : parts_(std::move(parts)),
      cache_(*parts_.cache),
      in_flight_cells_(executor()),
      ids_([this] { lose_suspects_soon(); }),
      order_(executor(), *parts_.metadata, *parts_.counters, kRememberedExtents),
      closing_(executor()),
      errands_(executor()),
      pins_(executor()),
      readers_(executor()),
      home_(std::make_shared<StagedHome>(executor(), *this)),
      control_mutex_(executor()) {
  parts_.metadata->set_cache(&cache_);
  compressor_ = std::make_unique<compression::Compressor>(parts_.system->clock(),
                                                          *parts_.compression_counters);
  preparer_ = std::make_unique<BlobPreparer>(*parts_.shape, *parts_.codec, *compressor_);
  reader_ = std::make_unique<BlobReader>(
      *parts_.shape, *parts_.codec, *compressor_, *parts_.space, parts_.system->queue(),
      *parts_.counters, *parts_.log_blobs, &in_flight_cells_,
      [this](const Blob& blob, const Error& why) { reports_.damage->note(blob, why); },
      parts_.hedges.get());
  placer_ = std::make_unique<StripePlacer>(
      *parts_.shape, *parts_.codec, *preparer_, *parts_.space,
      [this](const UnplacedBlob& blob, std::uint32_t units) { cleaner_->note_lone(blob, units); });
  reads_ = std::make_unique<StoreReader>(ReadSources{
      *parts_.shape, *parts_.metadata, *parts_.log_blobs, *reader_, cache_, pins_, *parts_.counters,
      executor(),
      [this] { return pipeline_ == nullptr ? parts_.last_lsn : pipeline_->visible(); }});
  if (parts_.log.has_value()) {
    pipeline_ = std::make_unique<CommitPipeline>(executor(), *parts_.shape, *parts_.members,
                                                 *parts_.space, *parts_.log_blobs, in_flight_cells_,
                                                 *placer_, *parts_.counters, std::move(*parts_.log),
                                                 parts_.options.log_durability, [this] {
                                                   repair_job_->want();
                                                   jobs_->wake(*repair_job_);
                                                 });
    pipeline_->set_progress_handler([this] { on_progress(); });
    ids_.ids().begin(pipeline_->epoch(), parts_.ids_drawn);
    membership_ = std::make_unique<Membership>(
        Membership::Parts{executor(), *parts_.shape, *parts_.members, *parts_.space, *pipeline_,
                          ids_.ids(), *parts_.counters, [this] { devices_->returns().wake(); }},
        parts_.root);
    mergers_ = std::make_unique<RunMergers>(executor(), *parts_.runs, *preparer_,
                                            [this](const Status& merged) { on_merged(merged); });
  }
  make_order();
  history_ = std::make_unique<DeviceHistory>(*parts_.members, *parts_.space, executor(),
                                             std::move(parts_.device_records), parts_.bytes_copied);
  make_checkpointer();
  if (pipeline_ != nullptr) {
    make_cleaner();
    make_jobs();
    make_commit_path();
  }
  make_reports();
}

Engine::~Engine() {
  control_.reset();
  {
    const io::Lock lock(home_->mutex);
    home_->engine = nullptr;
  }
  errands_.wait();
  // Lets go without a checkpoint: what is in flight completes, nothing new starts.
  if (pipeline_ != nullptr) pipeline_->drain().ignore();
  if (jobs_ != nullptr) jobs_->stop();
  if (pipeline_ != nullptr) pipeline_->wait_idle();
}

Status Engine::start() {
  checkpointer_->set_reserve();
  HEXAD_TRY(executor().start_pool());  // one that is read only answers submit(), too
  reports_.damage->load().ignore();    // a hint, without which the store is as good
  if (pipeline_ == nullptr) return {};
  parts_.resident->take_room();  // what a crash has left takes room of the index
  // All threads that there will ever be, so that none is refused later, in the middle of something.
  HEXAD_TRY(jobs_->start());
  HEXAD_TRY(devices_->returns().take_in_attached(parts_.notes, parts_.warnings));
  if (!parts_.index->has_fast()) want_index();
  HEXAD_TRY(deletion_job_->schedule_found(*parts_.counters, parts_.notes));
  devices_->catch_ups().start();
  devices_->returns().wake();  // some may have left while it was opened
  devices_->moves().want(SlabJob::kFirstWait);
  on_progress();  // the first zone may be wanted
  return {};
}

void Engine::lose_suspects_soon() {
  repair_job_->want_suspects();
  jobs_->wake(*repair_job_);
}

// Unless they have left with a repair. Should it fail, the store has turned read-only.
void Engine::lose_suspects() {
  if (membership_->has_suspects()) lose_devices({}).ignore();
}

Status Engine::here() const {
  if (!in_child()) return {};
  return Error{ErrorCode::kForked, "the store was opened before fork(), and this is the child",
               "Open stores in the process that uses them."};
}

void Engine::make_checkpointer() {
  Checkpointer::Hooks hooks;
  hooks.pack_payloads = [this] { return commit_path_->packer().pack_payloads(); };
  hooks.make_zone = [this] { return zones_->make(ZoneMaker::For::kCheckpoint); };
  hooks.await_zone = [this] { zones_->await(); };
  hooks.open_zones = [this] { return devices_ != nullptr && devices_->moves().mover().give_up(); };
  hooks.forget_pages = [this]() HEXAD_REQUIRES(order_.sequencer) { order_.newest.forget_pages(); };
  hooks.reclaim = [this] { reclaim(); };
  hooks.fold_counters = [this] { reports_.counters->fold(); };
  hooks.note_merge = [this](const Status& merged) { jobs_->note(mergers_->any(), merged); };
  hooks.wake_merger = [this](RunMerger& merger) { jobs_->wake(merger); };
  hooks.want_index = [this] { want_index(); };
  hooks.device_records = [this](const std::set<DeviceId>& whole, Lsn lsn, Epoch epoch) {
    return history_->changes(whole, lsn, epoch);
  };
  hooks.device_records_written = [this] { history_->written(); };
  checkpointer_ = std::make_unique<Checkpointer>(Checkpointer::Parts{
      executor(), *parts_.shape, *preparer_, parts_.memory_only, parts_.root.log_devices,
      *parts_.members, *parts_.space, *parts_.metadata, *parts_.log_blobs, *parts_.runs,
      *parts_.index, *parts_.counters, order_.sequencer, pipeline_.get(), mergers_.get(),
      membership_.get(), std::move(hooks)});
}

void Engine::make_devices() {
  jobs_ = std::make_unique<JobScheduler>(executor());
  Devices::Above above{*silent_, *parts_.runs, *parts_.indexes, parts_.index_directory};
  above.fill_cells = [this](const ScrubOptions& piece) {
    return reports_.scrubber->fill_cells(piece);
  };
  above.look_again = [this] { cleaner_->look_again(); };
  above.clean_again = [this] { clean_again(); };
  above.make_zone = [this] { return zones_->make(ZoneMaker::For::kCommits); };
  above.reclaim = [this] { reclaim(); };
  above.run_apart = [this](std::function<Status()> work, const Errands::Leave& leave) {
    return errands_.run_apart(std::move(work), leave);
  };
  devices_ = std::make_unique<Devices>(
      DeviceParts{*parts_.system, *parts_.shape, parts_.options, parts_.memory_only,
                  *parts_.members, *parts_.space, *parts_.counters, *pipeline_, *membership_,
                  *history_, *checkpointer_, *jobs_, *own_commits_, zones_->mutex(),
                  [this] { return writable(); }, [this] { return closing_.is_closed(); }},
      above);
}

// Commits may wait for a zone or a checkpoint, so these two have a thread to themselves. A merge
// takes seconds, and one of young runs does not wait for a longer one. What the others commit waits
// for a repair when a device fails: it comes last.
void Engine::make_jobs() {
  zone_job_ = std::make_unique<ZoneJob>(
      ZoneJob::Work{[this] { return parts_.space->wants_zone(); },
                    [this] { return zones_->make(ZoneMaker::For::kCommits); },
                    [this] { return parts_.space->slabs_left(); }});
  checkpoint_job_ = std::make_unique<CheckpointJob>(
      executor().clock(),
      CheckpointJob::Work{[this] { return checkpoint(); }, [this] { return checkpoint_due(); },
                          [this] { return mergers_->finished(); }});
  index_job_ = std::make_unique<IndexJob>(IndexJob::Parts{
      *parts_.index, parts_.indexes, parts_.index_directory, parts_.shape->uuid,
      [this] { return parts_.runs->set(); }, *parts_.counters, checkpointer_->mutex(),
      std::move(parts_.unverified_index), parts_.runs_writer, parts_.resident.get(),
      [this] {
        return check_index_directory(parts_.index_directory, parts_.shape->uuid, *parts_.system);
      }});
  close_job_ = std::make_unique<CloseJob>([this] { finish_closing(); });
  deletion_job_ = std::make_unique<DeletionJob>(
      DeletionJob::Parts{*own_commits_, *parts_.log_blobs, parts_.shape->record, executor(),
                         [this] { jobs_->wake(*deletion_job_); }});
  clean_job_ = std::make_unique<CleanJob>(
      executor().clock(), CleanJob::Work{[this] { return cleaner_->step(Cleaner::For::kLater); },
                                         [this] { return cleaner_->step(Cleaner::For::kAtRest); }});
  seal_job_ =
      std::make_unique<SealJob>(executor().clock(), [this] { pipeline_->request_durable(); });
  repair_job_ = std::make_unique<RepairJob>(
      RepairJob::Work{[this] { membership_->repair(); }, [this] { lose_suspects(); }});
  damage_job_ =
      std::make_unique<DamageJob>(executor().clock(), [this] { return reports_.damage->write(); });
  make_devices();
  jobs_->add_crew("hexad-checkpoint", {close_job_.get(), zone_job_.get(), checkpoint_job_.get()});
  jobs_->add_crew("hexad-later",
                  {deletion_job_.get(), index_job_.get(), &devices_->catch_ups().job(),
                   damage_job_.get(), &devices_->drains().job()});
  jobs_->add_crew("hexad-clean", {clean_job_.get()});
  jobs_->add_crew("hexad-slabs", {&devices_->moves().job()});
  jobs_->add_crew("hexad-return", {&devices_->returns().job()});
  jobs_->add_crew("hexad-merge", {&mergers_->any()});
  jobs_->add_crew("hexad-young", {&mergers_->young()});
  jobs_->add_crew("hexad-seal", {seal_job_.get()});
  jobs_->add_crew("hexad-repair", {repair_job_.get()});
  // Last: every other one may wait for a device that does not answer.
  jobs_->add_job("hexad-silence",
                 std::make_unique<SilenceJob>(
                     executor().clock(),
                     static_cast<io::Nanos>(parts_.options.device_patience) * 1'000'000'000,
                     [this] { return silent_->leave_hanging(); }));
}

}  // namespace hexad::core
