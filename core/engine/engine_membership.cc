// Devices that fail while the store is open (R12, R13).
//
// A request that failed pauses the lane. Then, in this order:
//   1  wait until nothing is in flight, so that every request has its outcome; what was refused,
//      and not by its device's fault, goes out again until it is taken, or until nobody can wait
//      any longer: then the store gives up, and no device is lost (R18)
//   2  stop using the devices that failed; more than m of them: give up
//   3  give the remaining log copies, and new ones in place of the lost, all blocks of the log.
//   This,
//      4 and 5 wait as 1 does for what is refused: who gave up at once would stop a store for a
//      full file system that commits alone would have waited for
//   4  root of a new epoch that lists the devices as left, on all live devices
//   5  fence of the new epoch behind the last block
//   6  what was in flight is now durable on everything that counts: acknowledge, go on
// A crash before 4 is committed: the old root stands, nothing in flight was acknowledged. After 4:
// the devices that left are not asked any more, so their older blocks and cells cannot come back.
#include <algorithm>
#include <utility>

#include "core/engine/engine.h"
#include "core/space/log_set.h"
#include "io/os_error.h"
#include "io/refused.h"
#include "kv/log/log_scan.h"

namespace hexad::core {

namespace {

// What is said of a device that is not to blame, as against too few devices, or a log that cannot
// be what it should be.
bool is_refusal(const Error& error) {
  return error.code != ErrorCode::kUnavailable && error.code != ErrorCode::kUnknown &&
         !io::is_medium(error);
}

Error gave_up_waiting(const Error& why, io::Nanos waited) {
  return Error{
      ErrorCode::kUnknown,
      why.message + ", for " + std::to_string(waited / 1'000'000'000) +
          " s; no device is lost by that, but commits that were in flight may or may not "
          "have happened",
      why.hint + (why.hint.empty() ? "" : " ") + "Then close the store and open it again."};
}

}  // namespace

Error Engine::turn_read_only(const Error& why) {
  // Whatever it was: those who wait for a commit learn that its outcome is not known.
  lane_->stop(Error{ErrorCode::kUnknown, why.message, why.hint});
  return *lane_->stopped();
}

void Engine::lose_suspects_soon() {
  repair_job_->want_suspects();
  jobs_->wake(*repair_job_);
}

// Unless they have left with a repair. Should it fail, the store has turned read-only.
void Engine::lose_suspects() {
  if (!parts_.space->suspects().empty() || ids_.half_spent()) lose_devices({}).ignore();
}

void Engine::repair() {
  if (leave_behind({}).ok()) lane_->repaired();
}

Status Engine::lose_devices(const std::set<DeviceId>& failed) {
  const io::NoUnwinding none("a change of the membership");
  lane_->pause();
  HEXAD_TRY(leave_behind(failed));
  lane_->resume();
  return {};
}

// Steps 1 to 5 for these devices, or for none where a new epoch alone is wanted, and all that
// failed a request of what is in flight: the fence of 5 comes behind that, too, and so says that
// all of it is durable on what counts. For the same reason nobody gets here who comes after
// somebody who gave up.
Status Engine::leave_behind(std::set<DeviceId> failed) {
  const io::Lock lock(membership_mutex_);
  lane_->wait_quiet();
  if (const std::optional<Error> stopped = lane_->stopped()) return *stopped;
  if (const Status taken = send_refused_again(lane_->refused_requests()); !taken.ok()) {
    return turn_read_only(taken.error());
  }
  failed.merge(lane_->failed_devices());
  failed.merge(parts_.space->suspects());
  // All that was in flight is durable, and no device has failed.
  if (failed.empty() && !ids_.half_spent()) return {};
  const Status changed = change_membership(std::move(failed));
  if (!changed.ok()) return turn_read_only(changed.error());
  parts_.space->free_kept_back();
  return {};
}

// R18: nobody has been told anything that rests on these writes, their bytes and places are those
// of the groups in flight, and the lane is paused: so they may be sent as often as it takes.
Status Engine::send_refused_again(const std::vector<io::IoRequest*>& requests) {
  if (requests.empty()) return {};
  const io::Patience patience;
  Status sent = io::send_again(requests, executor(), patience,
                               [this](const Error& why) { note_refused(why); });
  note_refused(std::nullopt);
  return sent.ok() ? sent : gave_up_waiting(sent.error(), patience.limit);
}

// For steps that write the same bytes to the same places each time.
Status Engine::until_taken(const std::function<Status()>& attempt) {
  const io::Patience patience;
  const io::Nanos end = executor().clock().now() + patience.limit;
  for (io::Nanos pause = patience.first_pause;;
       pause = std::min(2 * pause, patience.longest_pause)) {
    Status status = attempt();
    const bool again = !status.ok() && is_refusal(status.error());
    if (again && executor().clock().now() < end) {
      note_refused(status.error());
      executor().sleep_for(pause);
      continue;
    }
    note_refused(std::nullopt);
    return again ? gave_up_waiting(status.error(), patience.limit) : status;
  }
}

void Engine::note_refused(std::optional<Error> why) {
  const io::Lock lock(state_mutex_);
  if (!why.has_value()) {
    refused_.reset();
  } else if (refused_.has_value()) {
    refused_->why = std::move(*why);
  } else {
    refused_ = Refused{std::move(*why), executor().clock().now()};
  }
}

// A root that some device refuses, and not by its own fault, goes to all of them again, as a new
// attempt of the same epoch (P6).
Status Engine::write_root(alloc::Root next, std::set<DeviceId>& failed) {
  const io::Patience patience;
  const io::Nanos end = executor().clock().now() + patience.limit;
  for (io::Nanos pause = patience.first_pause;;
       pause = std::min(2 * pause, patience.longest_pause)) {
    Status refused = write_root_once(next, failed);
    const bool again = !refused.ok() && failed.empty() && is_refusal(refused.error());
    if (again && executor().clock().now() < end) {
      note_refused(refused.error());
      executor().sleep_for(pause);
      continue;
    }
    note_refused(std::nullopt);
    // Those that failed leave, and that takes another root.
    if (!failed.empty()) return {};
    if (again) return Error{ErrorCode::kUnknown, refused.error().message, refused.error().hint};
    return refused;
  }
}

Status Engine::write_root_once(alloc::Root& next, std::set<DeviceId>& failed) {
  next = alloc::next_attempt(std::move(next), sent_root_);
  const std::vector<DeviceId> ids = parts_.members->usable_ids();
  const std::vector<Status> written = alloc::write_root(parts_.members->usable_devices(), next);
  std::vector<DeviceId> good;
  Status refused;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (written[i].ok()) {
      good.push_back(ids[i]);
    } else if (io::is_medium(written[i].error())) {
      failed.insert(ids[i]);
    } else {
      refused = written[i];
    }
  }
  parts_.counters->add(CounterId::kDeviceBytesSuper, alloc::kHeaderSlotSize * good.size());
  const bool committed = alloc::is_committed(root_, next, good, parts_.shape->m());
  if (committed) {
    root_ = next;
    alloc::record_written(root_, good);
  }
  if (!refused.ok()) return refused;
  if (!committed && failed.empty()) {
    return Error{
        ErrorCode::kUnavailable,
        "the root was written to " + std::to_string(good.size()) + " devices, too few to count",
        "Attach the missing devices and open the store again."};
  }
  return {};
}

// Under membership_mutex_.
Status Engine::change_membership(std::set<DeviceId> failed) {
  for (;;) {
    failed.merge(parts_.members->poisoned());  // R11
    std::uint32_t lost = parts_.members->lost_data_devices();
    std::string names;
    for (const DeviceId id : failed) {
      if (!parts_.members->usable(id)) continue;
      const Member& member = *parts_.members->find(id);
      if (member.role == alloc::DeviceRole::kData) ++lost;
      names += (names.empty() ? "" : ", ") + member.path;
    }
    if (lost > parts_.shape->m()) {
      // They stay in use for reading: nothing has been acknowledged without them, and whatever they
      // still return is verified.
      for (const DeviceId id : failed) {
        if (parts_.members->usable(id)) {
          parts_.members->blame(id, "failed when too many others had; still used for reading");
        }
      }
      return Error{ErrorCode::kUnknown,
                   std::to_string(lost) + " data devices have failed, the last of them " + names +
                       ", the profile survives " + std::to_string(parts_.shape->m()) +
                       "; commits that were in flight may or may not have happened",
                   "Close the store, check the devices, open it again."};
    }
    for (const DeviceId id : failed) {
      if (!parts_.members->usable(id)) continue;
      parts_.members->lose(id, "a request failed at LSN " + std::to_string(lane_->durable()));
      parts_.counters->add(CounterId::kDevicesLost);
    }

    // 3: the log's copies.
    const kv::LogWriter& log = lane_->log();
    const std::vector<DeviceId> log_ids = choose_log_devices(*parts_.members, parts_.shape->m());
    std::vector<kv::LogArea> areas;
    for (const DeviceId id : log_ids) areas.push_back(parts_.members->find(id)->log_area());
    if (areas.empty()) {
      return Error{ErrorCode::kUnknown, "no device is left that could hold the log",
                   "Close the store, check the devices, open it again."};
    }
    std::set<DeviceId> again;
    HEXAD_TRY(
        until_taken([&] { return bring_log_up(areas, log_ids, log, parts_.shape->uuid, again); }));

    // 4: the root.
    if (again.empty()) {
      alloc::Root next = alloc::next_epoch_root(root_);
      for (const alloc::RootDevice& row : root_.devices) {
        if (row.state == alloc::MemberState::kLive && !parts_.members->usable(row.id)) {
          alloc::mark_left(next, row.id, lane_->durable());
        }
      }
      next.log_devices = log_ids;
      next.previous_epoch_end = log.last().lsn;
      HEXAD_TRY(write_root(next, again));
    }

    // 5: the fence.
    if (again.empty()) {
      HEXAD_TRY_ASSIGN(kv::PreparedBlock fence, lane_->begin_epoch(areas, root_.epoch));
      ids_.begin(root_.epoch);
      HEXAD_TRY_ASSIGN(again, write_fence(fence, *parts_.members, [this](io::IoBatch& batch) {
                         return send_refused_again(io::refused_of(batch));
                       }));
    }
    if (again.empty()) return {};
    failed = std::move(again);
  }
}

}  // namespace hexad::core
