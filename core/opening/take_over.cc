#include "core/opening/take_over.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/membership/membership_change.h"
#include "core/space/log_set.h"
#include "io/refused.h"

namespace hexad::core {

namespace {

// Epochs of two openings by word never meet: each leaps far, by chance (P9). The low half of an
// epoch is in the ids that its writer gives out (IdSource::new_body), so within one lineage it only
// grows (R16): by an eighth of what is left at most, so that kMaxForks of them leave enough.
Epoch leap(Epoch from, io::System& system) {
  constexpr Epoch kHalf = Epoch{1} << 32;
  constexpr Epoch kFarthest = Epoch{1} << 25;  // kMaxForks of them stay below what a root may have
  const Epoch far = 1 + system.draw_seed() % kFarthest;
  const Epoch near = system.draw_seed() % ((kHalf - from % kHalf) / 8 + 1);
  return far * kHalf + near;
}
static_assert(alloc::kMaxForks < 32);

std::string describe_left(const Members& members, DeviceId id) {
  std::string text = "device " + std::to_string(id);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members.at(i).id != id) continue;
    const std::string detail = members.detail(i);
    if (!members.at(i).path.empty()) text += " (" + members.at(i).path + ")";
    text += " has left the pool: it is " + members.state(i) +
            (detail.empty() ? "" : " (" + detail + ")");
  }
  return text +
         "; what is written from now on is not on it, until an opening for writing finds it again, "
         "or hexad device online POOL " +
         std::to_string(id) + " takes it in";
}

// The devices that have left between the two roots.
std::set<DeviceId> departures(const alloc::Root& before, const alloc::Root& after) {
  std::set<DeviceId> left;
  for (const alloc::RootDevice& row : after.devices) {
    const alloc::RootDevice* const old = before.find(row.id);
    const bool was_live = old == nullptr || old->state == alloc::MemberState::kLive;
    if (row.state == alloc::MemberState::kLeft && was_live) left.insert(row.id);
  }
  return left;
}

void warn_of_departures(const alloc::Root& before, const alloc::Root& after, const Members& members,
                        std::vector<std::string>& warnings) {
  for (const DeviceId id : departures(before, after)) {
    // One that is replaced is no news.
    if (!members.find(id)->replaced) warnings.push_back(describe_left(members, id));
  }
}

// Roots that this opening writes have numbers above these (found by reading: the promise behind one
// of 2^62 ended the process).
Status check_room_to_go_on(const Recovered& recovered, const alloc::RootChoice& choice) {
  alloc::Root highest = choice.root;
  highest.promised_epoch = choice.promised_epoch;
  highest.sequence = choice.sequence;
  highest.previous_epoch_end = std::max(recovered.last_lsn, recovered.scan.max_watermark);
  highest.log_trim.end = std::max<std::uint64_t>(highest.log_trim.end, recovered.scan.fresh);
  return alloc::check_room_to_go_on(highest);
}

std::uint64_t draw_nonce(io::System& system) {
  for (;;) {
    if (const std::uint64_t nonce = system.draw_seed(); nonce != 0) return nonce;
  }
}

class TakeOver : private MembershipSteps {
 public:
  // `ground`: what it stands on (P8), not kNone.
  TakeOver(StoreParts& parts, const Recovered& recovered, const alloc::RootChoice& choice,
           alloc::Ground ground)
      : parts_(parts),
        recovered_(recovered),
        choice_(choice),
        ground_(ground),
        proven_(std::max(recovered.scan.max_watermark, choice.root.checkpoint_lsn)),
        roots_(*parts.members, parts.shape->m(), choice.root, draw_nonce(*parts.system)),
        tail_(recovered.scan.fresh) {}

  Status run(Recovery& recovery) {
    HEXAD_TRY(check_room_to_go_on(recovered_, choice_));
    HEXAD_TRY_ASSIGN(std::set<DeviceId> failed, recovery.heal(recovered_.incomplete));
    if (!recovered_.incomplete.empty()) {
      parts_.notes.push_back("recovery: healed " + std::to_string(recovered_.incomplete.size()) +
                             " stripes of the last commits");
    }
    failed.merge(parts_.members->poisoned());  // R11
    HEXAD_TRY(stop_using(failed));
    HEXAD_TRY_ASSIGN(failed, promise());
    HEXAD_TRY(
        change_membership(*parts_.members, parts_.shape->m(), roots_, *this, std::move(failed)));
    HEXAD_TRY(recovery.note_departures(recovered_.scan, departures(choice_.root, roots_.current()),
                                       proven_));
    warn_of_departures(choice_.root, roots_.current(), *parts_.members, parts_.warnings);
    parts_.log = std::move(*writer_);
    parts_.root = roots_.current();
    return {};
  }

 private:
  static Error too_few(const std::string& what, std::size_t devices) {
    return Error{ErrorCode::kUnavailable,
                 what + " to " + std::to_string(devices) + " devices, too few to go on",
                 "Attach the missing devices and open the store again."};
  }

  // Returns the devices that failed.
  Result<std::set<DeviceId>> promise() {
    for (const alloc::DeviceStanding& device : choice_.devices) {
      if (device.standing == alloc::Standing::kHealthy && !device.behind) {
        informed_.push_back(device.id);
      }
    }
    alloc::Root root = alloc::promise_root(choice_);
    if (ground_ == alloc::Ground::kWord) {
      root.promised_epoch += leap(root.promised_epoch, *parts_.system);
    }
    RootAttempt attempt = roots_.send_promise(root);
    HEXAD_TRY(attempt.refused);
    if (!alloc::may_go_on(ground_, choice_.root, attempt.written, informed_, parts_.shape->m())) {
      return too_few("the note that the store is being opened was written", attempt.written.size());
    }
    informed_.insert(informed_.end(), attempt.written.begin(), attempt.written.end());
    return std::move(attempt.failed);
  }

  Status stop_using(const std::set<DeviceId>& failed) override {
    Members& members = *parts_.members;
    for (const DeviceId id : failed) members.mark_failed(id, "a write failed while opening");
    const std::uint32_t lost = parts_.space->lost_cells();
    if (lost <= parts_.shape->m()) return {};
    return Error{
        ErrorCode::kUnavailable,
        describe_lost(lost, members.domain_cells()) + " are lost, " + survives(parts_.shape->m()),
        "Attach the missing devices and open the store again."};
  }

  Status complete_log(const std::vector<kv::LogArea>& areas, const std::vector<DeviceId>& ids,
                      std::set<DeviceId>& failed) override {
    const kv::LogScan& scan = recovered_.scan;
    kv::LogWriterOptions options;
    options.uuid = parts_.shape->uuid;
    options.block_size = parts_.shape->log_block;
    options.areas = areas;
    options.trim = scan.options.trim;
    options.last = scan.end;
    options.tail = tail_;
    options.epoch = std::max(scan.max_epoch, choice_.root.epoch);
    options.nonce = roots_.nonce();
    options.live = scan.points();
    HEXAD_TRY_ASSIGN(kv::LogWriter writer, kv::LogWriter::create(std::move(options)));
    writer_.emplace(std::move(writer));
    return copy_chain(scan, areas, ids, *parts_.counters, failed);
  }

  Lsn last_counted() const override { return proven_; }

  Status describe(alloc::Root& next) const override {
    next.previous_epoch_end = recovered_.last_lsn;
    next.recorded_watermark = std::max(next.recorded_watermark, recovered_.scan.max_watermark);
    next.clean_close = false;
    if (parts_.members->any_filling()) {
      const std::set<DeviceId> lost = parts_.members->lost();
      alloc::set_lost_in_zone(next, parts_.space->lost_in_zone(lost), lost);  // SL8
    }
    next.features.incompatible |= alloc::kForwardKeysFeature;
    if (ground_ == alloc::Ground::kWord && !taken_) return alloc::fork(next, roots_.current());
    return {};
  }

  // The first root of an opening needs more than the later ones (P8).
  Status write(const alloc::Root& next, std::set<DeviceId>& failed) override {
    RootAttempt attempt = roots_.send(next);
    HEXAD_TRY(attempt.refused);
    failed = std::move(attempt.failed);
    if (!failed.empty()) return {};
    if (!attempt.committed || (!taken_ && !alloc::may_go_on(ground_, choice_.root, attempt.written,
                                                            informed_, parts_.shape->m()))) {
      return too_few("the root was written", attempt.written.size());
    }
    taken_ = true;
    return {};
  }

  Result<kv::PreparedBlock> begin_epoch(const std::vector<kv::LogArea>&, Epoch epoch) override {
    Result<kv::PreparedBlock> fence = writer_->fence(recovered_.scan.end, epoch);
    if (fence.ok()) tail_ = writer_->tail();
    return fence;
  }

  Status send_again(io::IoBatch& batch) override {
    return io::send_again_briefly(batch, parts_.system->executor());
  }

  StoreParts& parts_;
  const Recovered& recovered_;
  const alloc::RootChoice& choice_;
  const alloc::Ground ground_;
  // Up to here all live devices have what was written. What follows in the kept tail was proved by
  // any k cells, and not on a device that was absent: that is missing there.
  const Lsn proven_;
  RootWriter roots_;
  std::vector<DeviceId> informed_;       // of the newest root that was found, or of the promise
  std::optional<kv::LogWriter> writer_;  // of the last attempt
  kv::LogPosition tail_;                 // behind every fence of the attempts so far
  bool taken_ = false;                   // a root of this opening is committed
};

}  // namespace

Status take_over(StoreParts& parts, Recovery& recovery, const Recovered& recovered,
                 const alloc::RootChoice& choice, alloc::Ground ground) {
  return TakeOver(parts, recovered, choice, ground).run(recovery);
}

}  // namespace hexad::core
