// Slabs that move from one device to another: core/clean/slab_mover.h.
#include <algorithm>
#include <string>
#include <utility>

#include "core/engine/engine.h"

namespace hexad::core {

namespace {

constexpr double kSecond = 1e9;
// A wait for the rate is cut into such parts, so that it is noticed when nobody wants more.
constexpr io::Nanos kNap = 50'000'000;

}  // namespace

SlabMover::Hooks Engine::move_hooks() {
  SlabMover::Hooks hooks;
  hooks.make_zone = [this] { return make_zone(ZoneFor::kCommits); };
  hooks.between_checkpoints = [this](const std::function<void()>& work) {
    const io::Lock lock(checkpointer_->mutex());
    work();
  };
  // The record before makes a checkpoint of what is switched; the one behind has the old slabs
  // free, once nobody needs what was before it.
  // Nothing in here asks give_up(), which would wait for this very round. Where the log has no room
  // for a record there is one that no checkpoint has.
  const auto record = [this]() -> Status {
    HEXAD_TRY(writable());
    const Status put =
        commit_internal([](LogRecord&) { return Status(); }, {}, LogRoom::kPacking).status();
    return put.ok() || put.error().code == ErrorCode::kNoSpace ? Status() : put;
  };
  hooks.commit = [this, record]() -> Status {
    HEXAD_TRY(record());
    HEXAD_TRY(
        checkpointer_->run(Checkpointer::Close::kGoesOn, {}, Checkpointer::Doors::kStayClosed));
    HEXAD_TRY(record());
    return release_left();
  };
  hooks.begin_filling = [this](DeviceId id) { history_->note_return(id); };
  hooks.newest = [this] { return lane_->next_lsn() - 1; };
  hooks.stopped = [this] { return lane_->stopped().has_value(); };
  hooks.lose_devices = [this](const std::set<DeviceId>& failed) { return lose_devices(failed); };
  return hooks;
}

Result<SlabMover::Round> Engine::move_some(const std::function<bool(std::uint64_t)>& go_on) {
  HEXAD_TRY(writable());
  Result<SlabMover::Round> round = slab_mover_->round(
      [&](std::uint64_t bytes) { return !closing_.is_closed() && go_on(bytes); });
  // What has got its room on other devices is built again there.
  if (parts_.members->any_filling()) start_catch_up();
  if (space().has_retired()) HEXAD_TRY(release_left());
  return round;
}

// What has been left is free when a block says that the checkpoint is durable which says so (R9).
// Without room for a block the next one says so.
Status Engine::release_left() {
  Status recorded = lane_->record_watermark();
  if (!recorded.ok() && recorded.error().code != ErrorCode::kNoSpace) return recorded;
  reclaim();
  return {};
}

// What is in memory only has devices of one size, and no checkpoint that could say what has moved.
void Engine::want_moves(io::Nanos wait) {
  if (parts_.memory_only) return;
  slab_job_->want(wait);
  jobs_->wake(*slab_job_);
}

Result<MoveReport> Engine::move_slabs(const MoveOptions& options) {
  HEXAD_TRY(writable());
  MoveReport report;
  if (parts_.memory_only) return report;
  report.slabs_left = slab_mover_->left();
  io::Clock& clock = executor().clock();
  const io::Nanos began = clock.now();
  bool stopped = false;
  const auto tell = [&] {
    if (closing_.is_closed() || (options.progress && !options.progress(report))) stopped = true;
    return !stopped;
  };
  const auto go_on = [&](std::uint64_t bytes) {
    report.bytes_moved += bytes;
    while (tell() && options.rate > 0 && !slab_mover_->given_up()) {
      const double due =
          static_cast<double>(report.bytes_moved) / static_cast<double>(options.rate);
      const double waited = static_cast<double>(clock.now() - began) / kSecond;
      if (waited >= due) break;
      executor().sleep_for(
          std::min(kNap, static_cast<io::Nanos>(std::min(due - waited, 1.0) * kSecond) + 1));
    }
    return !stopped;
  };
  // Rounds that move nothing: what stood in the way may have gone by the next one.
  constexpr int kMostIdle = 3;
  for (int idle = 0; idle < kMostIdle && !stopped;) {
    HEXAD_TRY_ASSIGN(const SlabMover::Round round, move_some(go_on));
    report.slabs_moved += round.moved;
    report.slabs_left = round.left - std::min(round.left, round.moved);
    report.problem = round.problem;
    if (round.left == 0 || !tell()) break;
    idle = round.moved > 0 ? 0 : idle + 1;
    // Slabs that were left are free in a few seconds, and what is to be moved may need them.
    while (round.moved == 0 && space().slabs_in_a_moment() && go_on(0)) {
      executor().sleep_for(kNap);
      HEXAD_TRY(release_left());
      idle = 0;
    }
  }
  // What has been left is free when this returns, unless somebody reads for long.
  while (!stopped && space().slabs_in_a_moment() && go_on(0)) {
    executor().sleep_for(kNap);
    HEXAD_TRY(release_left());
  }
  report.slabs_left = slab_mover_->left();
  if (stopped || report.slabs_left == 0) report.problem.clear();
  if (closing_.is_closed()) return Error{ErrorCode::kClosed, "the store was closed meanwhile", ""};
  return report;
}

}  // namespace hexad::core
