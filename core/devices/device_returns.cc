// A device that has left comes back while the store is open and serves: BK10 of
// doc/invariants.md#coming-back.
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/opening/returned_device.h"

namespace hexad::core {

// Errors: it has not left.
Result<ReturnedTo> Engine::returned_to(DeviceId id) {
  const Members& members = *parts_.members;
  const Member* const member = members.find(id);
  HEXAD_TRY(check_has(id));
  if (members.usable(id)) {
    return Error{ErrorCode::kAlreadyExists, describe_device(id) + " is in use",
                 members.is_behind(id)
                     ? "What it missed it gets by itself, or at once by hexad device "
                       "catch-up POOL."
                     : ""};
  }
  ReturnedTo to;
  to.store = shape().uuid;
  to.parities = shape().m();
  to.root = membership_->root();
  to.member = member;
  HEXAD_TRY_ASSIGN(to.label, data_label());
  return to;
}

// What every data device has in common, from a label of one.
Result<alloc::Label> Engine::data_label() const {
  const Members& members = *parts_.members;
  for (const DeviceId id : members.usable_ids()) {
    const std::optional<alloc::Label>& label = members.find(id)->label;
    if (label.has_value() && label->role == alloc::DeviceRole::kData) return *label;
  }
  return Error{ErrorCode::kUnavailable, "no data device is in use", "Attach the missing devices."};
}

Status Engine::check_has(DeviceId id) const {
  if (parts_.members->has(id)) return {};
  return Error{ErrorCode::kNotFound, "the store has no device " + std::to_string(id),
               "hexad device ls POOL names those that it has."};
}

Status Engine::bring_back(DeviceId id, const std::string& path) {
  HEXAD_TRY(writable());
  const bool was_away = parts_.members->has(id) && !parts_.members->usable(id);
  HEXAD_TRY(take_turn());
  const io::Lock one(return_mutex_, std::adopt_lock);
  return_job_->ask_for(id);
  // It came by itself while this waited.
  if (was_away && path.empty() && parts_.members->usable(id)) return {};
  bool failed_again = false;
  Status back = bring_back_locked(id, path, failed_again);
  if (back.ok()) jobs_->note(*return_job_, back);
  wake_return_job();
  return back;
}

// Whatever fails, the device has left, as before: its former handle has no more use, and what it
// was given meanwhile nobody asks for.
Status Engine::bring_back_locked(DeviceId id, const std::string& path, bool& failed_again) {
  HEXAD_TRY(writable());
  HEXAD_TRY_ASSIGN(const ReturnedTo to, returned_to(id));
  Members& members = *parts_.members;
  const std::string& where = path.empty() ? to.member->path : path;
  if (where.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "where device " + std::to_string(id) + " was is not known",
                 "Name its path: hexad device online POOL " + std::to_string(id) + " --path PATH"};
  }
  // What it owes from before could come over what it gets now (BK10).
  HEXAD_TRY(members.let_go(id));
  const auto open = [&]() -> Result<Member> {
    const Openings::Call call(openings_, where, Openings::Turn::kHeld);
    return open_returned(where, to, *parts_.system);
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
  parts_.counters->add(CounterId::kDevicesReturned);
  cleaner_->look_again();
  start_catch_up();
  return {};
}

// What takes time is done while zones are made, and again for those that were made meanwhile.
Status Engine::rejoin(DeviceId id, bool& failed_again, const std::set<DeviceId>& fresh) {
  constexpr int kMostTries = 4;
  std::vector<alloc::ZoneId> ready;
  for (int i = 0; i < kMostTries && (i == 0 || ready != space().zone_ids()); ++i) {
    ready = space().zone_ids();
    HEXAD_TRY(prepare_return(id));
  }
  {
    const io::Lock no_zones(zone_mutex_);
    if (ready != space().zone_ids()) HEXAD_TRY(prepare_return(id));
    history_->note_return(id);
    HEXAD_TRY(checkpointer_->begin_return({id}, fresh));
  }
  const Status finished = finish_return();
  if (closing_.is_closed() && !parts_.members->usable(id)) {
    return Error{ErrorCode::kClosed,
                 "the store was closed while " + describe_device(id) + " was taken in",
                 "The next opening takes it in, where it is attached."};
  }
  HEXAD_TRY(finished);
  if (const std::optional<Error> stopped = lane_->stopped()) return *stopped;
  if (parts_.members->usable(id)) return {};
  failed_again = true;
  return Error{ErrorCode::kUnavailable, describe_device(id) + " has failed while it was taken in",
               "hexad device ls POOL says more."};
}

}  // namespace hexad::core
