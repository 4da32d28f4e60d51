// What the cleaner needs of the engine. core/clean/cleaner.h
#include "core/engine/engine.h"

namespace hexad::core {

void Engine::make_cleaner() {
  cleaner_ = std::make_unique<Cleaner>(
      CleanParts{executor(), *parts_.shape, *parts_.codec, parts_.system->queue(), *parts_.members,
                 *parts_.space, *parts_.log_blobs, *parts_.counters, *reader_, *preparer_, *reads_,
                 *own_commits_, [this] { return parts_.index->applied_lsn(); },
                 [this] { return pipeline_->durable(); }, [this] { return run_checkpoint(); },
                 [this]() -> Status {
                   const auto needless = [] { return true; };
                   HEXAD_TRY(checkpointer_->run(Checkpointer::Close::kGoesOn, needless));
                   return release_moved();
                 },
                 [this] { return release_moved(); }, [this] { return pipeline_->max_record(); },
                 [this](const std::set<DeviceId>& failed) { return lose_devices(failed); }});
}

void Engine::clean_again() {
  cleaner_->look_again();
  const bool asked = cleaner_->wants_look() && clean_job_->want();
  const bool at_rest = cleaner_->wants_rest() && clean_job_->want_rest();
  if (asked || at_rest) jobs_->wake(*clean_job_);
}

// A block that was sealed before the last move was durable does not say that it is (R9).
Status Engine::release_moved() {
  Status recorded = pipeline_->record_watermark();
  if (!recorded.ok() && recorded.error().code != ErrorCode::kNoSpace) return recorded;
  if (!recorded.ok()) HEXAD_TRY(run_checkpoint());  // its root records as much
  reclaim();
  return {};
}

}  // namespace hexad::core
