// Checkpoints, and what asks for them and for zones.
#include "core/engine/engine.h"

namespace hexad::core {

Status Engine::checkpoint() {
  HEXAD_TRY(writable());
  if (writing_.mergers->finished()) {
    // What it gives up is said by zone images, and these by a run, which has to hold an LSN.
    HEXAD_TRY(writing_.own_commits->commit_internal([](LogRecord&) { return Status(); }).status());
  }
  return run_checkpoint();
}

// On a merger's thread.
void Engine::on_merged(const Status& merged) {
  // The next checkpoint may be far away, and until then all that is given up would be kept back.
  if (!parts_.space->suspects().empty()) lose_suspects_soon();
  if (!merged.ok()) return;
  writing_.jobs.checkpoint->note_merged();
  writing_.scheduler->wake(*writing_.jobs.checkpoint);
}

void Engine::want_index() {
  if (writing_.jobs.index->want()) writing_.scheduler->wake(*writing_.jobs.index);
}

bool Engine::checkpoint_due() {
  return parts_.metadata->memtable_bytes() >= parts_.options.memtable_size ||
         writing_.pipeline->log_used() >= writing_.pipeline->log_capacity() / 2;
}

// Called after every group: asks for a zone and a checkpoint when they are due, and looks once a
// minute how much is free.
void Engine::on_progress() {
  reclaim();
  if (parts_.space->wants_zone() && writing_.jobs.zone->want())
    writing_.scheduler->wake(*writing_.jobs.zone);
  if (writing_.cleaner->wants_look() && writing_.jobs.clean->want())
    writing_.scheduler->wake(*writing_.jobs.clean);
  // What the engine commits for itself is no reason to wait longer.
  if (writing_.commit_path->placer().has_placed() && writing_.cleaner->wants_rest() &&
      writing_.jobs.clean->want_rest()) {
    writing_.scheduler->wake(*writing_.jobs.clean);
  }
  if (checkpoint_due() && writing_.jobs.checkpoint->note_due())
    writing_.scheduler->wake(*writing_.jobs.checkpoint);
  sample_room();
}

}  // namespace hexad::core
