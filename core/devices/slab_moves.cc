#include "core/devices/slab_moves.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hexad::core {

namespace {

constexpr double kSecond = 1e9;
// A wait for the rate is cut into such parts, so that it is noticed when nobody wants more.
constexpr io::Nanos kNap = 50'000'000;

}  // namespace

SlabMoves::SlabMoves(const DeviceParts& parts, Hooks hooks)
    : parts_(parts),
      hooks_(std::move(hooks)),
      mover_(SlabMover::Parts{parts.executor(), parts.shape, parts.members, parts.space,
                              parts.counters, mover_hooks()}),
      job_(parts.executor().clock(),
           [this](const std::function<bool()>& go_on) -> Result<SlabJob::Round> {
             HEXAD_TRY_ASSIGN(SlabMover::Round round,
                              move_some([&](std::uint64_t) { return go_on(); }));
             return SlabJob::Round{round.moved, round.left, parts_.space.has_retired(),
                                   round.given_up, std::move(round.problem)};
           }) {}

SlabMover::Hooks SlabMoves::mover_hooks() {
  SlabMover::Hooks hooks;
  hooks.make_zone = hooks_.make_zone;
  hooks.between_checkpoints = [this](const std::function<void()>& work) {
    const io::Lock lock(parts_.checkpointer.mutex());
    work();
  };
  // The record before makes a checkpoint of what is switched; the one behind has the old slabs
  // free, once nobody needs what was before it.
  // Nothing in here asks give_up(), which would wait for this very round. Where the log has no room
  // for a record there is one that no checkpoint has.
  const auto record = [this]() -> Status {
    HEXAD_TRY(parts_.writable());
    const Status put =
        parts_.commits.commit_internal([](LogRecord&) { return Status(); }, {}, LogRoom::kPacking)
            .status();
    return put.ok() || put.error().code == ErrorCode::kNoSpace ? Status() : put;
  };
  hooks.commit = [this, record]() -> Status {
    HEXAD_TRY(record());
    HEXAD_TRY(parts_.checkpointer.run(Checkpointer::Close::kGoesOn, {},
                                      Checkpointer::Doors::kStayClosed));
    HEXAD_TRY(record());
    return release_left();
  };
  hooks.begin_filling = [this](DeviceId id) { parts_.history.note_return(id); };
  hooks.newest = [this] { return parts_.pipeline.next_lsn() - 1; };
  hooks.stopped = [this] { return parts_.pipeline.stopped().has_value(); };
  hooks.lose_devices = [this](const std::set<DeviceId>& failed) {
    return parts_.membership.lose_devices(failed);
  };
  return hooks;
}

Result<SlabMover::Round> SlabMoves::move_some(const std::function<bool(std::uint64_t)>& go_on) {
  HEXAD_TRY(parts_.writable());
  Result<SlabMover::Round> round =
      mover_.round([&](std::uint64_t bytes) { return !parts_.is_closed() && go_on(bytes); });
  // What has got its room on other devices is built again there.
  if (parts_.members.any_filling()) hooks_.start_catch_up();
  if (parts_.space.has_retired()) HEXAD_TRY(release_left());
  return round;
}

Status SlabMoves::release_left() {
  Status recorded = parts_.pipeline.record_watermark();
  if (!recorded.ok() && recorded.error().code != ErrorCode::kNoSpace) return recorded;
  hooks_.reclaim();
  return {};
}

// What is in memory only has devices of one size, and no checkpoint that could say what has moved.
void SlabMoves::want(io::Nanos wait) {
  if (parts_.memory_only) return;
  job_.want(wait);
  parts_.jobs.wake(job_);
}

Result<MoveReport> SlabMoves::move(const MoveOptions& options) {
  HEXAD_TRY(parts_.writable());
  MoveReport report;
  if (parts_.memory_only) return report;
  report.slabs_left = mover_.left();
  io::Clock& clock = parts_.executor().clock();
  const io::Nanos began = clock.now();
  bool stopped = false;
  const auto tell = [&] {
    if (parts_.is_closed() || (options.progress && !options.progress(report))) stopped = true;
    return !stopped;
  };
  const auto go_on = [&](std::uint64_t bytes) {
    report.bytes_moved += bytes;
    while (tell() && options.rate > 0 && !mover_.given_up()) {
      const double due =
          static_cast<double>(report.bytes_moved) / static_cast<double>(options.rate);
      const double waited = static_cast<double>(clock.now() - began) / kSecond;
      if (waited >= due) break;
      parts_.executor().sleep_for(
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
    while (round.moved == 0 && parts_.space.slabs_in_a_moment() && go_on(0)) {
      parts_.executor().sleep_for(kNap);
      HEXAD_TRY(release_left());
      idle = 0;
    }
  }
  // What has been left is free when this returns, unless somebody reads for long.
  while (!stopped && parts_.space.slabs_in_a_moment() && go_on(0)) {
    parts_.executor().sleep_for(kNap);
    HEXAD_TRY(release_left());
  }
  report.slabs_left = mover_.left();
  if (stopped || report.slabs_left == 0) report.problem.clear();
  if (parts_.is_closed()) return Error{ErrorCode::kClosed, "the store was closed meanwhile", ""};
  return report;
}

}  // namespace hexad::core
