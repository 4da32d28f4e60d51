// What the cleaner needs of the engine. core/clean/cleaner.h
#include "core/engine/engine.h"

namespace hexad::core {

void Engine::make_cleaner() {
  writing_.cleaner = std::make_unique<Cleaner>(CleanParts{
      executor(), *parts_.shape, *parts_.codec, parts_.system->queue(), *parts_.members,
      *parts_.space, *parts_.log_blobs, *parts_.counters, *coding_.reader, *coding_.preparer,
      *reading_.reads, *writing_.own_commits, [this] { return parts_.index->applied_lsn(); },
      [this] { return writing_.pipeline->durable(); }, [this] { return run_checkpoint(); },
      [this]() -> Status {
        const auto needless = [] { return true; };
        HEXAD_TRY(checkpointer_->run(Checkpointer::Close::kGoesOn, needless));
        return release_moved();
      },
      [this] { return release_moved(); }, [this] { return writing_.pipeline->max_record(); },
      [this](const std::set<DeviceId>& failed) { return lose_devices(failed); }});
}

void Engine::clean_again() {
  writing_.cleaner->look_again();
  const bool asked = writing_.cleaner->wants_look() && writing_.jobs.clean->want();
  const bool at_rest = writing_.cleaner->wants_rest() && writing_.jobs.clean->want_rest();
  if (asked || at_rest) writing_.scheduler->wake(*writing_.jobs.clean);
}

// A block that was sealed before the last move was durable does not say that it is (R9).
Status Engine::release_moved() {
  Status recorded = writing_.pipeline->record_watermark();
  if (!recorded.ok() && recorded.error().code != ErrorCode::kNoSpace) return recorded;
  if (!recorded.ok()) HEXAD_TRY(run_checkpoint());  // its root records as much
  reclaim();
  return {};
}

}  // namespace hexad::core
