#include "core/devices/device_returns.h"

#include <mutex>
#include <utility>

#include "core/devices/device_facts.h"
#include "core/opening/room_below.h"

namespace hexad::core {

DeviceReturns::DeviceReturns(const DeviceParts& parts, DeviceTurn& turn, CatchUps& catch_ups,
                             std::function<void()> look_again)
    : parts_(parts),
      turn_(turn),
      catch_ups_(catch_ups),
      look_again_(std::move(look_again)),
      job_(parts.executor(), parts.options.returns,
           ReturnJob::Work{[this] { return away_devices(); },
                           [this](DeviceId id) { return attempt(id); }}) {}

Status DeviceReturns::prepare(DeviceId id) {
  HEXAD_TRY(reserve_room_below(parts_.members, parts_.space, id, parts_.shape.unit));
  return parts_.space.complete_headers(id);
}

// Marks are in zone images, and these in a run, which has to hold an LSN.
Status DeviceReturns::finish() {
  return parts_.checkpointer.finish_return([this] { return parts_.advance(); });
}

// What fails here is the affair of the device: the store is as it was, and says why it is. What
// stops the pipeline is not.
Status DeviceReturns::take_in_attached(std::vector<std::string>& notes,
                                       std::vector<std::string>& warnings) {
  // Jobs run by now, and one of them drains what is away.
  const io::Lock one(turn_.mutex());
  const auto note_not_taken_in = [&](DeviceId id, const Error& why) {
    warnings.push_back(describe_device(parts_.members, id) +
                       " is attached again and was not taken in: " + why.message);
  };
  std::set<DeviceId> back;
  for (const DeviceId id : parts_.members.returning()) {
    if (is_emptied(parts_.members, parts_.space, id) && !parts_.members.find(id)->replaced) {
      parts_.members.keep_out(
          id, "away", "it has been drained: hexad device remove POOL " + std::to_string(id));
      continue;
    }
    if (const Status ready = prepare(id); ready.ok()) {
      back.insert(id);
    } else {
      note_not_taken_in(id, ready.error());
    }
  }
  if (back.empty()) return {};
  HEXAD_TRY(parts_.checkpointer.begin_return(back));
  const Status taken = finish();
  if (const std::optional<Error> stopped = parts_.pipeline.stopped()) return *stopped;
  for (const DeviceId id : back) {
    if (parts_.members.usable(id)) {
      notes.push_back(describe_device(parts_.members, id) + " has come back and is used again" +
                      (parts_.members.is_behind(id)
                           ? "; what was written without it is still missing there"
                           : ""));
    } else if (!taken.ok()) {
      note_not_taken_in(id, taken.error());
    }
  }
  return {};
}

Result<ReturnedTo> DeviceReturns::returned_to(DeviceId id) const {
  const Members& members = parts_.members;
  const Member* const member = members.find(id);
  HEXAD_TRY(check_has(parts_.members, id));
  if (members.usable(id)) {
    return Error{ErrorCode::kAlreadyExists, describe_device(parts_.members, id) + " is in use",
                 members.is_behind(id)
                     ? "What it missed it gets by itself, or at once by hexad device "
                       "catch-up POOL."
                     : ""};
  }
  ReturnedTo to;
  to.store = parts_.shape.uuid;
  to.parities = parts_.shape.m();
  to.root = parts_.membership.root();
  to.member = member;
  HEXAD_TRY_ASSIGN(to.label, data_label(parts_.members));
  return to;
}

Status DeviceReturns::bring_back(DeviceId id, const std::string& path) {
  HEXAD_TRY(parts_.writable());
  const bool was_away = parts_.members.has(id) && !parts_.members.usable(id);
  HEXAD_TRY(turn_.take());
  const io::Lock one(turn_.mutex(), std::adopt_lock);
  job_.ask_for(id);
  // It came by itself while this waited.
  if (was_away && path.empty() && parts_.members.usable(id)) return {};
  bool failed_again = false;
  Status back = bring_back_locked(id, path, failed_again);
  if (back.ok()) parts_.jobs.note(job_, back);
  wake();
  return back;
}

// Whatever fails, the device has left, as before: its former handle has no more use, and what it
// was given meanwhile nobody asks for.
Status DeviceReturns::bring_back_locked(DeviceId id, const std::string& path, bool& failed_again) {
  HEXAD_TRY(parts_.writable());
  HEXAD_TRY_ASSIGN(const ReturnedTo to, returned_to(id));
  Members& members = parts_.members;
  const std::string& where = path.empty() ? to.member->path : path;
  if (where.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "where device " + std::to_string(id) + " was is not known",
                 "Name its path: hexad device online POOL " + std::to_string(id) + " --path PATH"};
  }
  // What it owes from before could come over what it gets now (BK10).
  HEXAD_TRY(members.let_go(id));
  const auto open = [&]() -> Result<Member> {
    const Openings::Call call(turn_.openings(), where, Openings::Turn::kHeld);
    return open_returned(where, to, parts_.system);
  };
  HEXAD_TRY_ASSIGN(Member member, open());
  members.attach(std::move(member));
  if (Status joined = rejoin(id, failed_again); !joined.ok()) {
    if (!members.usable(id)) {
      members.keep_out(id, "away", "it was not taken in again: " + joined.error().message);
      members.let_go(id).ignore();
    }
    return joined;
  }
  parts_.counters.add(CounterId::kDevicesReturned);
  look_again_();
  catch_ups_.start();
  return {};
}

// What takes time is done while zones are made, and again for those that were made meanwhile.
Status DeviceReturns::rejoin(DeviceId id, bool& failed_again, const std::set<DeviceId>& fresh) {
  constexpr int kMostTries = 4;
  std::vector<alloc::ZoneId> ready;
  for (int i = 0; i < kMostTries && (i == 0 || ready != parts_.space.zone_ids()); ++i) {
    ready = parts_.space.zone_ids();
    HEXAD_TRY(prepare(id));
  }
  {
    const io::Lock no_zones(parts_.zone_mutex);
    if (ready != parts_.space.zone_ids()) HEXAD_TRY(prepare(id));
    parts_.history.note_return(id);
    HEXAD_TRY(parts_.checkpointer.begin_return({id}, fresh));
  }
  const Status finished = finish();
  if (parts_.is_closed() && !parts_.members.usable(id)) {
    return Error{
        ErrorCode::kClosed,
        "the store was closed while " + describe_device(parts_.members, id) + " was taken in",
        "The next opening takes it in, where it is attached."};
  }
  HEXAD_TRY(finished);
  if (const std::optional<Error> stopped = parts_.pipeline.stopped()) return *stopped;
  if (parts_.members.usable(id)) return {};
  failed_again = true;
  return Error{ErrorCode::kUnavailable,
               describe_device(parts_.members, id) + " has failed while it was taken in",
               "hexad device ls POOL says more."};
}

}  // namespace hexad::core
