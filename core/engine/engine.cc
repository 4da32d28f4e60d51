#include "core/engine/engine.h"

#include <utility>

namespace hexad::core {

Engine::Engine(StoreParts parts)
    : parts_(std::move(parts)),
      cache_(*parts_.cache),
      in_flight_cells_(executor()),
      damage_(executor()),
      pins_(executor()),
      readers_(executor()),
      return_mutex_(executor()),
      zone_mutex_(executor()),
      new_mutex_(executor()),
      sequencer_(executor()),
      newest_(*parts_.metadata, *parts_.counters, kRememberedExtents),
      errands_(executor()),
      openings_(executor()),
      closing_(executor()),
      home_(std::make_shared<StagedHome>(executor(), *this)),
      control_mutex_(executor()) {
  parts_.metadata->set_cache(&cache_);
  compressor_ = std::make_unique<compression::Compressor>(parts_.system->clock(),
                                                          *parts_.compression_counters);
  preparer_ = std::make_unique<BlobPreparer>(*parts_.shape, *parts_.codec, *compressor_);
  reader_ = std::make_unique<BlobReader>(
      *parts_.shape, *parts_.codec, *compressor_, *parts_.space, parts_.system->queue(),
      *parts_.counters, *parts_.log_blobs, &in_flight_cells_,
      [this](const Blob& blob, const Error& why) { note_damage(blob, why); }, parts_.hedges.get());
  placer_ = std::make_unique<StripePlacer>(
      *parts_.shape, *parts_.codec, *preparer_, *parts_.space,
      [this](const YoungBlob& blob, std::uint32_t units) { cleaner_->note_lone(blob, units); });
  // Buffered commits hold some of it until they are durable.
  budget_ = std::make_unique<InFlightBudget>(executor(), parts_.options.max_in_flight, [this] {
    return seal_job_ != nullptr && seal_job_->seal_now();
  });
  reads_ = std::make_unique<StoreReader>(ReadSources{
      *parts_.shape, *parts_.metadata, *parts_.log_blobs, *reader_, cache_, pins_, *parts_.counters,
      executor(), [this] { return lane_ == nullptr ? parts_.last_lsn : lane_->visible(); }});
  if (parts_.log.has_value()) {
    lane_ = std::make_unique<Lane>(executor(), *parts_.shape, *parts_.members, *parts_.space,
                                   *parts_.log_blobs, in_flight_cells_, *placer_, *parts_.counters,
                                   std::move(*parts_.log), parts_.options.log_durability, [this] {
                                     repair_job_->want();
                                     jobs_->wake(*repair_job_);
                                   });
    lane_->set_progress_handler([this] { on_progress(); });
    ids_.begin(lane_->epoch(), parts_.ids_drawn);
    membership_ = std::make_unique<Membership>(
        Membership::Parts{executor(), *parts_.shape, *parts_.members, *parts_.space, *lane_, ids_,
                          *parts_.counters, [this] { wake_return_job(); }},
        parts_.root);
    mergers_ = std::make_unique<RunMergers>(executor(), *parts_.runs, *preparer_,
                                            [this](const Status& merged) { on_merged(merged); });
  }
  history_ = std::make_unique<DeviceHistory>(*parts_.members, *parts_.space, executor(),
                                             std::move(parts_.device_records), parts_.bytes_copied);
  make_checkpointer();
  if (lane_ == nullptr) return;
  make_cleaner();
  slab_mover_ = std::make_unique<SlabMover>(SlabMover::Parts{
      executor(), *parts_.shape, *parts_.members, *parts_.space, *parts_.counters, move_hooks()});
  make_jobs();
}

Engine::~Engine() {
  control_.reset();
  {
    const io::Lock lock(home_->mutex);
    home_->engine = nullptr;
  }
  errands_.wait();
  // Lets go without a checkpoint: what is in flight completes, nothing new starts.
  if (lane_ != nullptr) lane_->drain().ignore();
  if (jobs_ != nullptr) jobs_->stop();
  if (lane_ != nullptr) lane_->wait_idle();
}

Status Engine::start() {
  checkpointer_->set_reserve();
  HEXAD_TRY(executor().start_pool());  // one that is read only answers submit(), too
  load_damage().ignore();              // a hint, without which the store is as good
  if (lane_ == nullptr) return {};
  parts_.resident->take_room();  // what a crash has left takes room of the index
  // All threads that there will ever be, so that none is refused later, in the middle of something.
  HEXAD_TRY(jobs_->start());
  {
    // Jobs run by now, and one of them drains what is away.
    const io::Lock one(return_mutex_);
    HEXAD_TRY(take_in_returned());
  }
  if (!parts_.index->has_fast()) want_index();
  HEXAD_TRY(deletion_job_->schedule_found(*parts_.counters, parts_.notes));
  start_catch_up();
  wake_return_job();  // some may have left while it was opened
  want_moves(SlabJob::kFirstWait);
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
  hooks.pack_payloads = [this] { return pack_payloads(); };
  hooks.make_zone = [this] { return make_zone(ZoneFor::kCheckpoint); };
  hooks.await_zone = [this] { const io::Lock until_it_is_there(zone_mutex_); };
  hooks.open_zones = [this] { return slab_mover_ != nullptr && slab_mover_->give_up(); };
  hooks.forget_pages = [this] { newest_.forget_pages(); };
  hooks.reclaim = [this] { reclaim(); };
  hooks.fold_counters = [this] { fold_counters(); };
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
      *parts_.index, *parts_.counters, sequencer_, lane_.get(), mergers_.get(), membership_.get(),
      std::move(hooks)});
}

// Commits may wait for a zone or a checkpoint, so these two have a thread to themselves. A merge
// takes seconds, and one of young runs does not wait for a longer one. What the others commit waits
// for a repair when a device fails: it comes last.
void Engine::make_jobs() {
  zone_job_ =
      std::make_unique<ZoneJob>(ZoneJob::Work{[this] { return parts_.space->wants_zone(); },
                                              [this] { return make_zone(ZoneFor::kCommits); },
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
      DeletionJob::Parts{*this, *parts_.log_blobs, parts_.shape->record, executor(),
                         [this] { jobs_->wake(*deletion_job_); }});
  catch_up_job_ = std::make_unique<CatchUpJob>(
      executor().clock(),
      CatchUpJob::Work{[this] { return !parts_.members->behind().empty(); },
                       [this](const ScrubOptions& piece) { return fill_cells(piece); },
                       [this] {
                         Status settled = settle_whole();
                         want_moves();  // a device that lacks nothing any more takes slabs
                         return settled;
                       },
                       [this] { return missing_bytes(); }, [this] { return device_uses(); }});
  clean_job_ = std::make_unique<CleanJob>(
      executor().clock(), CleanJob::Work{[this] { return cleaner_->step(Cleaner::For::kLater); },
                                         [this] { return cleaner_->step(Cleaner::For::kAtRest); }});
  slab_job_ = std::make_unique<SlabJob>(
      executor().clock(), [this](const std::function<bool()>& go_on) -> Result<SlabJob::Round> {
        HEXAD_TRY_ASSIGN(SlabMover::Round round, move_some([&](std::uint64_t) { return go_on(); }));
        return SlabJob::Round{round.moved, round.left, space().has_retired(), round.given_up,
                              std::move(round.problem)};
      });
  make_return_job();
  make_drain_job();
  seal_job_ = std::make_unique<SealJob>(executor().clock(), [this] { lane_->want_all(); });
  repair_job_ = std::make_unique<RepairJob>(
      RepairJob::Work{[this] { membership_->repair(); }, [this] { lose_suspects(); }});
  silence_job_ = std::make_unique<SilenceJob>(
      executor().clock(), static_cast<io::Nanos>(parts_.options.device_patience) * 1'000'000'000,
      [this] { return leave_hanging_devices(); });
  damage_job_ = std::make_unique<DamageJob>(executor().clock(), [this] { return write_damage(); });
  jobs_ = std::make_unique<JobScheduler>(executor());
  jobs_->add_crew("hexad-checkpoint", {close_job_.get(), zone_job_.get(), checkpoint_job_.get()});
  jobs_->add_crew("hexad-later", {deletion_job_.get(), index_job_.get(), catch_up_job_.get(),
                                  damage_job_.get(), drain_job_.get()});
  jobs_->add_crew("hexad-clean", {clean_job_.get()});
  jobs_->add_crew("hexad-slabs", {slab_job_.get()});
  jobs_->add_crew("hexad-return", {return_job_.get()});
  jobs_->add_crew("hexad-merge", {&mergers_->any()});
  jobs_->add_crew("hexad-young", {&mergers_->young()});
  jobs_->add_crew("hexad-seal", {seal_job_.get()});
  jobs_->add_crew("hexad-repair", {repair_job_.get()});
  // Last: every other one may wait for a device that does not answer.
  jobs_->add_crew("hexad-silence", {silence_job_.get()});
}

}  // namespace hexad::core
