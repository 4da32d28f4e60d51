#include "core/engine/engine.h"

#include <utility>

namespace hexad::core {

Engine::Engine(StoreParts parts)
    : parts_(std::move(parts)),
      in_flight_cells_(executor()),
      pins_(executor()),
      zone_mutex_(executor()),
      doom_mutex_(executor()),
      checkpoint_mutex_(executor()),
      membership_mutex_(executor()),
      sequencer_(executor()),
      root_(parts_.root),
      checkpoint_lsn_(parts_.index->applied_lsn()),
      budget_mutex_(executor()),
      budget_changed_(executor()),
      seal_mutex_(executor()),
      seal_changed_(executor()),
      state_mutex_(executor()),
      background_wake_(executor()),
      repair_wake_(executor()),
      close_changed_(executor()) {
  cache_ = std::make_unique<ReadCache>(executor(), parts_.options.cache_size,
                                       parts_.shape->record.checksum_block);
  parts_.metadata->set_cache(cache_.get());
  compressor_ = std::make_unique<compression::Compressor>(parts_.system->clock(),
                                                          *parts_.compression_counters);
  preparer_ = std::make_unique<BlobPreparer>(*parts_.shape, *parts_.codec, *compressor_);
  reader_ = std::make_unique<BlobReader>(*parts_.shape, *parts_.codec, *compressor_, *parts_.space,
                                         parts_.system->queue(), *parts_.counters,
                                         *parts_.log_blobs, &in_flight_cells_);
  placer_ = std::make_unique<StripePlacer>(*parts_.shape, *parts_.codec, *preparer_, *parts_.space);
  reads_ = std::make_unique<StoreReader>(
      ReadSources{*parts_.shape, *parts_.metadata, *parts_.log_blobs, *reader_, *cache_, pins_,
                  *parts_.counters, executor(),
                  [this] { return lane_ == nullptr ? parts_.last_lsn : lane_->visible(); }});
  if (parts_.log.has_value()) {
    lane_ = std::make_unique<Lane>(executor(), *parts_.shape, *parts_.members, *parts_.space,
                                   *parts_.log_blobs, in_flight_cells_, *placer_, *parts_.counters,
                                   std::move(*parts_.log), parts_.options.log_durability, [this] {
                                     const io::Lock lock(state_mutex_);
                                     repair_wanted_ = true;
                                     repair_wake_.notify_all();
                                   });
    lane_->set_progress_handler([this] { on_progress(); });
    ids_.begin(lane_->epoch(), parts_.ids_drawn);
    merger_ = std::make_unique<RunMerger>(executor(), *parts_.runs, *preparer_,
                                          [this](const Status& merged) { on_merged(merged); });
  }
}

Engine::~Engine() {
  // Lets go without a checkpoint: what is in flight completes, nothing new starts.
  if (lane_ != nullptr) lane_->drain().ignore();
  if (merger_ != nullptr) merger_->stop();
  {
    const io::Lock lock(seal_mutex_);
    seal_stopping_ = true;
    seal_changed_.notify_all();
  }
  if (sealer_ != nullptr) sealer_->join();
  {
    const io::Lock lock(state_mutex_);
    stopping_ = true;
    background_wake_.notify_all();
  }
  if (background_ != nullptr) background_->join();
  {
    // Not before: what the background was committing waits for a repair when a device fails.
    const io::Lock lock(state_mutex_);
    repairs_stopping_ = true;
    repair_wake_.notify_all();
  }
  if (repairs_ != nullptr) repairs_->join();
  if (lane_ != nullptr) lane_->wait_idle();
}

Status Engine::start() {
  set_reserve();
  HEXAD_TRY(executor().start_pool());  // one that is read only answers submit(), too
  if (lane_ == nullptr) return {};
  HEXAD_TRY(start_threads());
  if (!parts_.index->has_fast()) want_index();
  HEXAD_TRY(doom_abandoned());
  on_progress();  // the first zone may be wanted
  return {};
}

Status Engine::here() const {
  if (!in_child()) return {};
  return Error{ErrorCode::kForked, "the store was opened before fork(), and this is the child",
               "Open stores in the process that uses them."};
}

// All that there will ever be, so that none is refused later, in the middle of something. Those
// that there are by then are joined by the destructor.
Status Engine::start_threads() {
  HEXAD_TRY_ASSIGN(background_, executor().try_start("hexad-checkpoint", [this] { background(); }));
  HEXAD_TRY_ASSIGN(repairs_, executor().try_start("hexad-repair", [this] { repairs(); }));
  HEXAD_TRY_ASSIGN(sealer_, executor().try_start("hexad-seal", [this] { sealer(); }));
  return merger_->begin();
}

}  // namespace hexad::core
