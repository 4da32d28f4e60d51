// Checkpoints, and what asks for them and for zones.
#include "core/engine/engine.h"

namespace hexad::core {

Status Engine::checkpoint() {
  HEXAD_TRY(writable());
  if (mergers_->finished()) {
    // What it gives up is said by zone images, and these by a run, which has to hold an LSN.
    HEXAD_TRY(own_commits_->commit_internal([](LogRecord&) { return Status(); }).status());
  }
  return run_checkpoint();
}

// On a merger's thread.
void Engine::on_merged(const Status& merged) {
  // The next checkpoint may be far away, and until then all that is given up would be kept back.
  if (!parts_.space->suspects().empty()) lose_suspects_soon();
  if (!merged.ok()) return;
  checkpoint_job_->note_merged();
  jobs_->wake(*checkpoint_job_);
}

void Engine::want_index() {
  if (index_job_->want()) jobs_->wake(*index_job_);
}

bool Engine::checkpoint_due() {
  return parts_.metadata->memtable_bytes() >= parts_.options.memtable_size ||
         pipeline_->log_used() >= pipeline_->log_capacity() / 2;
}

// Called after every group: asks for a zone and a checkpoint when they are due, and looks once a
// minute how much is free.
void Engine::on_progress() {
  reclaim();
  if (parts_.space->wants_zone() && zone_job_->want()) jobs_->wake(*zone_job_);
  if (cleaner_->wants_look() && clean_job_->want()) jobs_->wake(*clean_job_);
  // What the engine commits for itself is no reason to wait longer.
  if (commit_path_->placer().has_placed() && cleaner_->wants_rest() && clean_job_->want_rest()) {
    jobs_->wake(*clean_job_);
  }
  if (checkpoint_due() && checkpoint_job_->note_due()) jobs_->wake(*checkpoint_job_);
  sample_room();
}

}  // namespace hexad::core
