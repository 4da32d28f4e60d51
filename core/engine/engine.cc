#include "core/engine/engine.h"

#include <utility>

#include "core/check/known_damage.h"
#include "core/check/scrubber.h"
#include "core/jobs/silence_job.h"
#include "core/report/counter_report.h"

namespace hexad::core {

Engine::Engine(StoreParts parts)
    : parts_(std::move(parts)),
      coding_(executor()),
      ids_([this] { lose_suspects_soon(); }),
      order_(executor(), *parts_.metadata, *parts_.counters, kRememberedExtents),
      closing_(executor()),
      errands_(executor()),
      reading_(executor()),
      home_(std::make_shared<StagedHome>(executor(), *this)),
      control_(executor()) {
  parts_.metadata->set_cache(parts_.cache.get());
  coding_.compressor = std::make_unique<compression::Compressor>(parts_.system->clock(),
                                                                 *parts_.compression_counters);
  coding_.preparer =
      std::make_unique<BlobPreparer>(*parts_.shape, *parts_.codec, *coding_.compressor);
  coding_.reader = std::make_unique<BlobReader>(
      *parts_.shape, *parts_.codec, *coding_.compressor, *parts_.space, parts_.system->queue(),
      *parts_.counters, *parts_.log_blobs, &coding_.in_flight,
      [this](const Blob& blob, const Error& why) { reports_.damage->note(blob, why); },
      parts_.hedges.get());
  coding_.placer =
      std::make_unique<StripePlacer>(*parts_.shape, *parts_.codec, *coding_.preparer, *parts_.space,
                                     [this](const UnplacedBlob& blob, std::uint32_t units) {
                                       writing_.cleaner->note_lone(blob, units);
                                     });
  reading_.reads = std::make_unique<StoreReader>(ReadSources{
      *parts_.shape, *parts_.metadata, *parts_.log_blobs, *coding_.reader, *parts_.cache,
      reading_.pins, *parts_.counters, executor(), [this] {
        return writing_.pipeline == nullptr ? parts_.last_lsn : writing_.pipeline->visible();
      }});
  if (parts_.log.has_value()) {
    writing_.pipeline = std::make_unique<CommitPipeline>(
        executor(), *parts_.shape, *parts_.members, *parts_.space, *parts_.log_blobs,
        coding_.in_flight, *coding_.placer, *parts_.counters, std::move(*parts_.log),
        parts_.options.log_durability, [this] {
          writing_.jobs.repair->want();
          writing_.scheduler->wake(*writing_.jobs.repair);
        });
    writing_.pipeline->set_progress_handler([this] { on_progress(); });
    ids_.ids().begin(writing_.pipeline->epoch(), parts_.ids_drawn);
    writing_.membership = std::make_unique<Membership>(
        Membership::Parts{executor(), *parts_.shape, *parts_.members, *parts_.space,
                          *writing_.pipeline, ids_.ids(), *parts_.counters,
                          [this] { writing_.devices->returns().wake(); }},
        parts_.root);
    writing_.mergers =
        std::make_unique<RunMergers>(executor(), *parts_.runs, *coding_.preparer,
                                     [this](const Status& merged) { on_merged(merged); });
  }
  make_order();
  watch_.history =
      std::make_unique<DeviceHistory>(*parts_.members, *parts_.space, executor(),
                                      std::move(parts_.device_records), parts_.bytes_copied);
  make_checkpointer();
  if (writing_.pipeline != nullptr) {
    make_cleaner();
    make_jobs();
    make_commit_path();
  }
  make_reports();
}

Engine::~Engine() {
  control_.end();
  {
    const io::Lock lock(home_->mutex);
    home_->engine = nullptr;
  }
  errands_.wait();
  // Lets go without a checkpoint: what is in flight completes, nothing new starts.
  if (writing_.pipeline != nullptr) writing_.pipeline->drain().ignore();
  if (writing_.scheduler != nullptr) writing_.scheduler->stop();
  if (writing_.pipeline != nullptr) writing_.pipeline->wait_idle();
}

Status Engine::start() {
  checkpointer_->set_reserve();
  HEXAD_TRY(executor().start_pool());  // one that is read only answers submit(), too
  reports_.damage->load().ignore();    // a hint, without which the store is as good
  if (writing_.pipeline == nullptr) return {};
  parts_.resident->take_room();  // what a crash has left takes room of the index
  // All threads that there will ever be, so that none is refused later, in the middle of something.
  HEXAD_TRY(writing_.scheduler->start());
  HEXAD_TRY(writing_.devices->returns().take_in_attached(parts_.notes, parts_.warnings));
  if (!parts_.index->has_fast()) want_index();
  HEXAD_TRY(writing_.jobs.deletion->schedule_found(*parts_.counters, parts_.notes));
  writing_.devices->catch_ups().start();
  writing_.devices->returns().wake();  // some may have left while it was opened
  writing_.devices->moves().want(SlabJob::kFirstWait);
  on_progress();  // the first zone may be wanted
  return {};
}

void Engine::lose_suspects_soon() {
  writing_.jobs.repair->want_suspects();
  writing_.scheduler->wake(*writing_.jobs.repair);
}

// Unless they have left with a repair. Should it fail, the store has turned read-only.
void Engine::lose_suspects() {
  if (writing_.membership->has_suspects()) lose_devices({}).ignore();
}

Status Engine::here() const {
  if (!in_child()) return {};
  return Error{ErrorCode::kForked, "the store was opened before fork(), and this is the child",
               "Open stores in the process that uses them."};
}

void Engine::make_checkpointer() {
  Checkpointer::Hooks hooks;
  hooks.pack_payloads = [this] { return writing_.commit_path->packer().pack_payloads(); };
  hooks.make_zone = [this] { return writing_.zones->make(ZoneMaker::For::kCheckpoint); };
  hooks.await_zone = [this] { writing_.zones->await(); };
  hooks.open_zones = [this] {
    return writing_.devices != nullptr && writing_.devices->moves().mover().give_up();
  };
  hooks.forget_pages = [this]() HEXAD_REQUIRES(order_.sequencer) { order_.newest.forget_pages(); };
  hooks.reclaim = [this] { reclaim(); };
  hooks.fold_counters = [this] { reports_.counters->fold(); };
  hooks.note_merge = [this](const Status& merged) {
    writing_.scheduler->note(writing_.mergers->any(), merged);
  };
  hooks.wake_merger = [this](RunMerger& merger) { writing_.scheduler->wake(merger); };
  hooks.want_index = [this] { want_index(); };
  hooks.device_records = [this](const std::set<DeviceId>& whole, Lsn lsn, Epoch epoch) {
    return watch_.history->changes(whole, lsn, epoch);
  };
  hooks.device_records_written = [this] { watch_.history->written(); };
  checkpointer_ = std::make_unique<Checkpointer>(Checkpointer::Parts{
      executor(), *parts_.shape, *coding_.preparer, parts_.memory_only, parts_.root.log_devices,
      *parts_.members, *parts_.space, *parts_.metadata, *parts_.log_blobs, *parts_.runs,
      *parts_.index, *parts_.counters, order_.sequencer, writing_.pipeline.get(),
      writing_.mergers.get(), writing_.membership.get(), std::move(hooks)});
}

void Engine::make_devices() {
  writing_.scheduler = std::make_unique<JobScheduler>(executor());
  Devices::Above above{*watch_.silent, *parts_.runs, *parts_.indexes, parts_.index_directory};
  above.fill_cells = [this](const ScrubOptions& piece) {
    return reports_.scrubber->fill_cells(piece);
  };
  above.look_again = [this] { writing_.cleaner->look_again(); };
  above.clean_again = [this] { clean_again(); };
  above.make_zone = [this] { return writing_.zones->make(ZoneMaker::For::kCommits); };
  above.reclaim = [this] { reclaim(); };
  above.run_apart = [this](std::function<Status()> work, const Errands::Leave& leave) {
    return errands_.run_apart(std::move(work), leave);
  };
  writing_.devices = std::make_unique<Devices>(
      DeviceParts{*parts_.system, *parts_.shape, parts_.options, parts_.memory_only,
                  *parts_.members, *parts_.space, *parts_.counters, *writing_.pipeline,
                  *writing_.membership, *watch_.history, *checkpointer_, *writing_.scheduler,
                  *writing_.own_commits, writing_.zones->mutex(), [this] { return writable(); },
                  [this] { return closing_.is_closed(); }},
      above);
}

// Commits may wait for a zone or a checkpoint, so these two have a thread to themselves. A merge
// takes seconds, and one of young runs does not wait for a longer one. What the others commit waits
// for a repair when a device fails: it comes last.
void Engine::make_jobs() {
  writing_.jobs.zone = std::make_unique<ZoneJob>(
      ZoneJob::Work{[this] { return parts_.space->wants_zone(); },
                    [this] { return writing_.zones->make(ZoneMaker::For::kCommits); },
                    [this] { return parts_.space->slabs_left(); }});
  writing_.jobs.checkpoint = std::make_unique<CheckpointJob>(
      executor().clock(),
      CheckpointJob::Work{[this] { return checkpoint(); }, [this] { return checkpoint_due(); },
                          [this] { return writing_.mergers->finished(); }});
  writing_.jobs.index = std::make_unique<IndexJob>(IndexJob::Parts{
      *parts_.index, parts_.indexes, parts_.index_directory, parts_.shape->uuid,
      [this] { return parts_.runs->set(); }, *parts_.counters, checkpointer_->mutex(),
      std::move(parts_.unverified_index), parts_.runs_writer, parts_.resident.get(),
      [this] {
        return check_index_directory(parts_.index_directory, parts_.shape->uuid, *parts_.system);
      }});
  writing_.jobs.close = std::make_unique<CloseJob>([this] { finish_closing(); });
  writing_.jobs.deletion = std::make_unique<DeletionJob>(
      DeletionJob::Parts{*writing_.own_commits, *parts_.log_blobs, parts_.shape->record, executor(),
                         [this] { writing_.scheduler->wake(*writing_.jobs.deletion); }});
  writing_.jobs.clean = std::make_unique<CleanJob>(
      executor().clock(),
      CleanJob::Work{[this] { return writing_.cleaner->step(Cleaner::For::kLater); },
                     [this] { return writing_.cleaner->step(Cleaner::For::kAtRest); }});
  writing_.jobs.seal = std::make_unique<SealJob>(executor().clock(),
                                                 [this] { writing_.pipeline->request_durable(); });
  writing_.jobs.repair = std::make_unique<RepairJob>(
      RepairJob::Work{[this] { writing_.membership->repair(); }, [this] { lose_suspects(); }});
  writing_.jobs.damage =
      std::make_unique<DamageJob>(executor().clock(), [this] { return reports_.damage->write(); });
  make_devices();
  writing_.scheduler->add_crew(
      "hexad-checkpoint",
      {writing_.jobs.close.get(), writing_.jobs.zone.get(), writing_.jobs.checkpoint.get()});
  writing_.scheduler->add_crew("hexad-later",
                               {writing_.jobs.deletion.get(), writing_.jobs.index.get(),
                                &writing_.devices->catch_ups().job(), writing_.jobs.damage.get(),
                                &writing_.devices->drains().job()});
  writing_.scheduler->add_crew("hexad-clean", {writing_.jobs.clean.get()});
  writing_.scheduler->add_crew("hexad-slabs", {&writing_.devices->moves().job()});
  writing_.scheduler->add_crew("hexad-return", {&writing_.devices->returns().job()});
  writing_.scheduler->add_crew("hexad-merge", {&writing_.mergers->any()});
  writing_.scheduler->add_crew("hexad-young", {&writing_.mergers->young()});
  writing_.scheduler->add_crew("hexad-seal", {writing_.jobs.seal.get()});
  writing_.scheduler->add_crew("hexad-repair", {writing_.jobs.repair.get()});
  // Last: every other one may wait for a device that does not answer.
  writing_.scheduler->add_job(
      "hexad-silence", std::make_unique<SilenceJob>(
                           executor().clock(),
                           static_cast<io::Nanos>(parts_.options.device_patience) * 1'000'000'000,
                           [this] { return watch_.silent->leave_hanging(); }));
}

}  // namespace hexad::core
