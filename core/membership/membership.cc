#include "core/membership/membership.h"

#include <algorithm>
#include <string>
#include <utility>

#include "alloc/root_choice.h"
#include "core/space/log_set.h"
#include "io/bounded_reads.h"
#include "io/no_unwinding.h"
#include "io/os_error.h"
#include "io/recall.h"
#include "io/refused.h"

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

// Or until those that give none are given up.
void wait_for_answers(io::Executor& executor, const std::vector<kv::LogArea>& areas) {
  constexpr io::Nanos kNap = 100'000'000;
  const auto is_silent = [](const kv::LogArea& area) {
    return !area.device->is_given_up() && io::is_silent(*area.device);
  };
  while (std::any_of(areas.begin(), areas.end(), is_silent)) executor.sleep_for(kNap);
}

}  // namespace

Membership::Membership(const Parts& parts, const alloc::Root& root)
    : parts_(parts),
      mutex_(parts.executor),
      roots_(parts.members, parts.shape.m(), root, root.nonce()),
      refused_mutex_(parts.executor) {}

Error Membership::turn_read_only(const Error& why) {
  // Whatever it was: those who wait for a commit learn that its outcome is not known.
  parts_.pipeline.stop(Error{ErrorCode::kUnknown, why.message, why.hint});
  return *parts_.pipeline.stopped();
}

bool Membership::has_suspects() const {
  return !parts_.space.suspects().empty() || parts_.ids.half_spent();
}

void Membership::repair() {
  if (leave_behind({}).ok()) parts_.pipeline.repaired();
}

Status Membership::lose_devices(const std::set<DeviceId>& failed) {
  const io::NoUnwinding none("a change of the membership");
  parts_.pipeline.pause();
  HEXAD_TRY(leave_behind(failed));
  parts_.pipeline.resume();
  return {};
}

// For these devices, or for none where a new epoch alone is wanted, and all that failed a request
// of what is in flight: the fence comes behind that, too, and so says that all of it is durable on
// what counts. For the same reason nobody gets here who comes after somebody who gave up.
Status Membership::leave_behind(std::set<DeviceId> failed) {
  const io::Lock lock(mutex_);
  HEXAD_TRY_ASSIGN(std::set<DeviceId> settled, settle());
  failed.merge(settled);
  // All that was in flight is durable, and no device has failed.
  if (failed.empty() && !parts_.ids.half_spent()) return {};
  HEXAD_TRY(change(std::move(failed), {}));
  parts_.space.free_kept_back();
  return {};
}

Result<std::set<DeviceId>> Membership::settle() {
  CommitPipeline& pipeline = parts_.pipeline;
  pipeline.wait_quiet();
  if (const std::optional<Error> stopped = pipeline.stopped()) return *stopped;
  if (const Status taken = send_refused_again(pipeline.refused_requests()); !taken.ok()) {
    return turn_read_only(taken.error());
  }
  std::set<DeviceId> failed = pipeline.failed_devices();
  failed.merge(parts_.space.suspects());
  return failed;
}

Status Membership::change(std::set<DeviceId> failed,
                          const std::function<void(alloc::Root&)>& fill) {
  // It reads the log until the devices answer or are given up, and the pipeline is paused
  // meanwhile.
  const io::Recall::Stay stay;
  describe_ = fill;
  const Status changed =
      change_membership(parts_.members, parts_.shape.m(), roots_, *this, std::move(failed));
  describe_ = {};
  return changed.ok() ? Status() : turn_read_only(changed.error());
}

Status Membership::stop_using(const std::set<DeviceId>& failed) {
  Members& members = parts_.members;
  // P13: nothing is on it, and no root lists it that counts.
  const std::optional<DeviceId> adding = this->adding();
  if (adding.has_value() && failed.contains(*adding) && members.usable(*adding)) {
    members.mark_failed(*adding, "a request failed while it was added");
    members.remove(*adding);
  }
  const std::uint32_t lost = parts_.space.lost_cells(failed);
  std::string names;
  for (const DeviceId id : failed) {
    if (!members.usable(id)) continue;
    names += (names.empty() ? "" : ", ") + members.find(id)->path;
  }
  if (lost > parts_.shape.m()) {
    // They stay in use for reading: nothing has been acknowledged without them, and whatever they
    // still return is verified.
    for (const DeviceId id : failed) {
      if (members.usable(id)) {
        members.report_failure(id, "failed when too many others had; still used for reading");
      }
    }
    return Error{ErrorCode::kUnknown,
                 describe_lost(lost, members.domain_cells()) + " have failed, the last of them " +
                     names + ", " + survives(parts_.shape.m()) +
                     "; commits that were in flight may or may not have happened",
                 "Close the store, check the devices, open it again."};
  }
  for (const DeviceId id : failed) {
    if (!members.usable(id)) continue;
    const io::Device* const device = members.find(id)->device.get();
    const bool silent = device != nullptr && device->is_given_up();
    members.mark_failed(id,
                        std::string(silent ? "it did not answer for so long that it was left behind"
                                           : "a request failed") +
                            " at LSN " + std::to_string(parts_.pipeline.durable()));
    parts_.counters.add(CounterId::kDevicesLost);
  }
  if (parts_.left) parts_.left();
  return {};
}

Status Membership::complete_log(const std::vector<kv::LogArea>& areas,
                                const std::vector<DeviceId>& ids, std::set<DeviceId>& failed) {
  const auto copy = [&] {
    return resync_log_copies(areas, ids, parts_.pipeline.log(), parts_.shape.uuid, failed);
  };
  const auto unread = [&] {
    std::uint64_t count = 0;
    for (const kv::LogArea& area : areas) count += area.device->traffic().refused;
    return count;
  };
  for (;;) {
    const std::uint64_t before = unread();
    Status copied = until_taken(copy, [] { return false; });
    if (copied.ok()) return copied;
    if (copied.error().code == ErrorCode::kFenced) return copied;
    if (is_refusal(copied.error())) return gave_up_waiting(copied.error(), io::Patience().limit);
    // A device that has not answered a read: it does, or is given up, and then fails.
    const bool silent = copied.error().code == ErrorCode::kUnavailable && unread() != before;
    if (!silent) return copied;
    wait_for_answers(parts_.executor, areas);
  }
}

Lsn Membership::last_counted() const { return parts_.pipeline.durable(); }

Status Membership::describe(alloc::Root& next) const {
  next.previous_epoch_end = parts_.pipeline.log().last().lsn;
  if (parts_.members.any_filling()) {
    const std::set<DeviceId> lost = parts_.members.lost();
    alloc::set_lost_in_zone(next, parts_.space.lost_in_zone(lost), lost);  // SL8
  }
  if (describe_) describe_(next);
  return {};
}

Result<kv::PreparedBlock> Membership::begin_epoch(const std::vector<kv::LogArea>& areas,
                                                  Epoch epoch) {
  Result<kv::PreparedBlock> fence = parts_.pipeline.begin_epoch(areas, epoch);
  if (fence.ok()) parts_.ids.begin(epoch);
  return fence;
}

Status Membership::send_again(io::IoBatch& batch) {
  return send_refused_again(io::refused_of(batch));
}

// Nobody has been told anything that rests on these writes, their bytes and places are those of the
// groups in flight, and the pipeline is paused: so they may be sent as often as it takes.
Status Membership::send_refused_again(const std::vector<io::IoRequest*>& requests) {
  if (requests.empty()) return {};
  const io::Patience patience;
  Status sent = io::send_again(requests, parts_.executor, patience,
                               [this](const Error& why) { note_refused(why); });
  note_refused(std::nullopt);
  if (!sent.ok() && sent.error().code == ErrorCode::kFenced) return sent;
  return sent.ok() ? sent : gave_up_waiting(sent.error(), patience.limit);
}

Status Membership::until_taken(const std::function<Status()>& attempt,
                               const std::function<bool()>& pointless) {
  const io::Patience patience;
  const io::Nanos end = parts_.executor.clock().now() + patience.limit;
  for (io::Nanos pause = patience.first_pause;;
       pause = std::min(2 * pause, patience.longest_pause)) {
    Status status = attempt();
    const bool fenced = !status.ok() && status.error().code == ErrorCode::kFenced;
    const bool again = !status.ok() && is_refusal(status.error()) && !fenced && !pointless();
    if (!again || parts_.executor.clock().now() >= end) {
      note_refused(std::nullopt);
      return status;
    }
    note_refused(status.error());
    parts_.executor.sleep_for(pause);
  }
}

void Membership::note_refused(std::optional<Error> why) {
  const io::Lock lock(refused_mutex_);
  if (!why.has_value()) {
    refused_.reset();
  } else if (refused_.has_value()) {
    refused_->why = std::move(*why);
  } else {
    refused_ = Refused{std::move(*why), parts_.executor.clock().now()};
  }
}

std::optional<Membership::Refused> Membership::refused() const {
  const io::Lock lock(refused_mutex_);
  return refused_;
}

std::optional<DeviceId> Membership::adding() const {
  const io::Lock lock(refused_mutex_);
  return adding_;
}

void Membership::note_adding(std::optional<DeviceId> id) {
  const io::Lock lock(refused_mutex_);
  adding_ = id;
}

// A root that some device refuses, and not by its own fault, goes to all of them again, as a new
// attempt of the same epoch (P6).
Status Membership::write(const alloc::Root& next, std::set<DeviceId>& failed) {
  Status written = until_taken([&]() HEXAD_REQUIRES(mutex_) { return write_once(next, failed); },
                               [&] { return !failed.empty(); });
  // Those that failed leave, and that takes another root.
  if (!failed.empty()) return {};
  if (written.ok() || !is_refusal(written.error())) return written;
  return Error{ErrorCode::kUnknown, written.error().message, written.error().hint};
}

Status Membership::write_once(const alloc::Root& next, std::set<DeviceId>& failed) {
  RootAttempt attempt = roots_.send(next);
  parts_.counters.add(CounterId::kDeviceBytesSuper,
                      2 * alloc::encode_root(roots_.current()).size() * attempt.written.size());
  failed.merge(attempt.failed);
  HEXAD_TRY(attempt.refused);
  if (!attempt.committed && failed.empty()) {
    return Error{ErrorCode::kUnavailable,
                 "the root was written to " + std::to_string(attempt.written.size()) +
                     " devices, too few to count",
                 "Attach the missing devices and open the store again."};
  }
  return {};
}

Status Membership::write_checkpoint(const std::function<void(alloc::Root&)>& fill,
                                    const std::function<void()>& committed) {
  for (;;) {
    std::set<DeviceId> failed;
    {
      const io::Lock lock(mutex_);
      if (const std::optional<Error> stopped = parts_.pipeline.stopped()) return *stopped;
      alloc::Root next = alloc::next_root(roots_.current());
      fill(next);
      HEXAD_TRY(write(next, failed));
      if (failed.empty()) {
        committed();
        return {};
      }
    }
    // R13: without these devices first, then the root again. The change of membership writes a root
    // of a later epoch with the manifest of before, which voids what this one has left somewhere.
    HEXAD_TRY(lose_devices(failed));
  }
}

alloc::Root Membership::root() {
  const io::Lock lock(mutex_);
  return roots_.current();
}

Status Membership::take_in(const std::set<DeviceId>& back, const std::set<DeviceId>& fresh) {
  const io::NoUnwinding none("a change of the membership");
  CommitPipeline& pipeline = parts_.pipeline;
  pipeline.pause();
  {
    const io::Lock lock(mutex_);
    pipeline.wait_quiet();
    if (const std::optional<Error> stopped = pipeline.stopped()) return *stopped;
    parts_.space.forget_suspects(back);
    for (const DeviceId id : fresh) parts_.space.begin_in_place(id);
    for (const DeviceId id : back) parts_.members.take_in(id);
    parts_.space.expect_unwritten();
  }
  pipeline.resume();
  return {};
}

// A device that fails any of the steps leaves, returned or not, and they are done again. An attempt
// that has a returned device live is followed by one that has it left, in the same epoch and so of
// more devices that have left.
Status Membership::write_return(const std::set<DeviceId>& back,
                                const std::function<void(alloc::Root&)>& fill,
                                const std::function<void()>& committed) {
  const io::NoUnwinding none("a change of the membership");
  CommitPipeline& pipeline = parts_.pipeline;
  pipeline.pause();
  {
    const io::Lock lock(mutex_);
    HEXAD_TRY_ASSIGN(std::set<DeviceId> failed, settle());
    HEXAD_TRY(change(std::move(failed), [&](alloc::Root& next) HEXAD_REQUIRES(mutex_) {
      for (const DeviceId id : back) {
        if (!parts_.members.usable(id)) continue;
        alloc::mark_back(next, id, parts_.members.find(id)->uuid);
        describe_back(next, id);
      }
      fill(next);
    }));
    committed();
    for (const DeviceId id : back) settle_back(id);
    parts_.space.free_kept_back();
  }
  pipeline.resume();
  return {};
}

// A new device stays, also where the former one was to go.
void Membership::describe_back(alloc::Root& next, DeviceId id) const {
  const Member& member = *parts_.members.find(id);
  if (!member.replaced || member.role != alloc::DeviceRole::kData) return;
  alloc::RootDevice& row = *next.find(id);
  row.draining = false;
  if (member.layout.slab_count != member.slabs_before) row.slabs = member.layout.slab_count;
}

void Membership::settle_back(DeviceId id) {
  const Member& member = *parts_.members.find(id);
  const bool named = roots_.current().find(id)->uuid == member.uuid;
  if (!member.replaced || !named || member.role != alloc::DeviceRole::kData) return;
  parts_.space.finish_in_place(id);
  parts_.members.end_draining(id);
  const Status larger = parts_.space.set_slabs(id, member.layout.slab_count);
  HEXAD_ASSERT(larger.ok());
}

// Once a root that has the row was sent, all later ones have it (P12): where the device has failed
// by then, it has left, and is removed by the root after that.
Status Membership::add_device(Member member, const std::function<void()>& added, bool& named) {
  const io::NoUnwinding none("a change of the membership");
  const DeviceId id = member.id;
  const Uuid uuid = member.uuid;
  const alloc::DeviceRole role = member.role;
  const std::uint32_t slabs = member.layout.slab_count;
  const std::string domain = member.domain;
  CommitPipeline& pipeline = parts_.pipeline;
  Members& members = parts_.members;
  pipeline.pause();
  Status done;
  {
    const io::Lock lock(mutex_);
    HEXAD_TRY_ASSIGN(std::set<DeviceId> failed, settle());
    const std::uint32_t lost = parts_.space.lost_cells();
    if (role == alloc::DeviceRole::kData && lost > 0 && lost >= parts_.shape.m()) {
      done = Error{ErrorCode::kUnavailable,
                   describe_lost(lost, members.domain_cells()) +
                       " are lost or lack something, as many as the profile survives",
                   "Bring one of them back, or replace it, and then add a device."};
    } else {
      // Of an attempt before, whose number this one has again.
      parts_.space.forget_suspects({id});
      failed.erase(id);
      members.add(std::move(member));
      named = false;
      if (parts_.shape.m() == 0) note_adding(id);
      bool stays = false;  // its row, whatever becomes of it
      const Status changed = change(std::move(failed), [&](alloc::Root& next) {
        if (parts_.shape.m() == 0) stays = stays && members.usable(id);  // P13
        if (next.find(id) != nullptr || (!stays && !members.usable(id))) return;
        stays = named = true;
        alloc::add_row(next, id, uuid, role, slabs, domain);
        if (!members.usable(id)) alloc::mark_left(next, id, last_counted());
      });
      note_adding(std::nullopt);
      HEXAD_TRY(changed);
      named = stays;  // what counts now is newer than whatever else was sent
      parts_.space.free_kept_back();
      if (members.usable(id)) {
        added();
      } else {
        done = Error{ErrorCode::kIo, "it has failed while it was added", "Choose another device."};
        if (roots_.current().find(id) != nullptr) HEXAD_TRY(drop(id, {}));
        if (members.has(id)) members.remove(id);
      }
    }
  }
  pipeline.resume();
  return done;
}

// The device is a member still, so that whoever looks sees that it does not answer, and nothing has
// to be taken back where it never does. Where others have the log whole it is not asked.
Status Membership::save_log_of(DeviceId id, std::set<DeviceId>& failed) {
  const io::Recall::Stay stay;
  const std::vector<DeviceId>& held = roots_.current().log_devices;
  const Member& member = *parts_.members.find(id);
  if (std::find(held.begin(), held.end(), id) == held.end() || member.device == nullptr) return {};
  const std::vector<DeviceId> ids = choose_log_devices(parts_.members, parts_.shape.m(), id);
  std::vector<kv::LogArea> sources;
  for (const DeviceId other : ids) sources.push_back(parts_.members.find(other)->log_area());
  const auto save = [&] {
    return resync_log_copies(sources, ids, parts_.pipeline.log(), parts_.shape.uuid, failed);
  };
  if (save().ok()) return {};
  sources.push_back(member.log_area());
  Status saved = until_taken(save, [] { return false; });
  if (saved.ok() || saved.error().code == ErrorCode::kFenced) return saved;
  return Error{saved.error().code,
               "the log was copied neither from the other devices nor from " + member.path + ": " +
                   saved.error().message + "; the device is used as before",
               "Try again when they answer."};
}

// `failed`: what goes with it.
Status Membership::may_remove(DeviceId id, const std::set<DeviceId>& failed) const {
  const std::uint32_t m = parts_.shape.m();
  std::set<DeviceId> leaving = failed;
  leaving.insert(id);
  const std::uint32_t lost = parts_.space.lost_cells(leaving);
  const bool data = parts_.members.find(id)->role == alloc::DeviceRole::kData;
  if (!data || !parts_.members.usable(id) || lost <= std::max(m, 1U)) return {};
  return Error{
      ErrorCode::kUnavailable,
      "beside it " + describe_lost(parts_.space.lost_cells(failed), parts_.members.domain_cells()) +
          " are lost or lack something; " +
          (m > 0
               ? std::to_string(m) + " may be, and the device that is removed is one of them for a "
                                     "moment"
               : survives(0)),
      "Bring one of the others back first, or replace it."};
}

// AD3: the two roots, with nothing in between; one where there is no parity.
Status Membership::remove_device(DeviceId id, const std::function<bool()>& begin) {
  const io::NoUnwinding none("a change of the membership");
  CommitPipeline& pipeline = parts_.pipeline;
  Members& members = parts_.members;
  pipeline.pause();
  Status done;
  {
    const io::Lock lock(mutex_);
    HEXAD_TRY_ASSIGN(std::set<DeviceId> failed, settle());
    failed.erase(id);
    const bool parity = parts_.shape.m() > 0;
    const bool data = members.find(id)->role == alloc::DeviceRole::kData;
    done = may_remove(id, failed);
    // A fast one has the only copy of nothing, and may be the one that does not answer.
    if (done.ok() && data && !parity) done = save_log_of(id, failed);
    // Copies of the log that nobody needs do no harm; what comes now cannot be left.
    if (done.ok() && !begin()) {
      done = Error{ErrorCode::kClosed, "nobody waits for the removal any more", ""};
    }
    if (done.ok()) {
      parts_.space.forget_suspects({id});
      const bool answered = members.usable(id);
      if (answered) members.dismiss(id, "it is being removed");
      if (!parity) {  // P13: no root lists it as left
        members.remove(id);
        HEXAD_TRY(drop(id, std::exchange(failed, {})));
      } else if (answered) {
        HEXAD_TRY(change(std::exchange(failed, {}), [id, data](alloc::Root& next) {
          if (data) alloc::begin_draining(next, id);
        }));
      }
      if (parity) {
        HEXAD_TRY(drop(id, std::move(failed)));
        members.remove(id);
      }
      parts_.space.free_kept_back();
    }
  }
  pipeline.resume();
  return done;
}

Status Membership::drop(DeviceId id, std::set<DeviceId> failed) {
  return change(std::move(failed), [id](alloc::Root& next) {
    if (next.find(id) != nullptr) alloc::drop_row(next, id);
  });
}

}  // namespace hexad::core
