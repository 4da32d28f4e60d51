#include "core/commit/groups_in_flight.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "core/commit/group_requests.h"
#include "core/commit/open_group.h"
#include "io/refused.h"

namespace hexad::core {

namespace {

// More groups in flight hide latency, fewer make them larger. Where as much waits as makes a group
// large by itself, there may be more of them, for as long as their cells may go out with their log
// blocks (C7): a disk with much to do finishes it at a higher rate.
constexpr std::size_t kMaxGroupsInFlight = 4;
constexpr std::size_t kMaxLargeGroupsInFlight = 8;
// With LogDurability::kFast: groups that are answered and not on all copies yet, and how long one
// may be so before the next commit waits. It bounds what the loss of the fast device can take.
constexpr std::size_t kMaxGroupsBehind = 16;
constexpr io::Nanos kLossWindow = 50'000'000;

}  // namespace

CommitGroup* GroupsInFlight::add(std::unique_ptr<CommitGroup> group) {
  unproven_ += group->unproven;
  groups_.push_back(std::move(group));
  return groups_.back().get();
}

std::unique_ptr<CommitGroup> GroupsInFlight::take_front() {
  std::unique_ptr<CommitGroup> group = std::move(groups_.front());
  groups_.pop_front();
  unproven_ -= group->unproven;
  return group;
}

bool GroupsInFlight::has_slot(std::uint64_t open_bytes) const {
  const bool large = open_bytes >= kLargeGroup && unproven_ + open_bytes <= kMaxUnproven;
  const std::size_t most = large ? kMaxLargeGroupsInFlight : kMaxGroupsInFlight;
  if (log_durability_ != LogDurability::kFast) return groups_.size() < most;
  std::size_t answered = 0;
  while (answered < groups_.size() && groups_[answered]->answered) ++answered;
  if (groups_.size() - answered >= most) return false;
  if (answered == 0) return true;
  const io::Nanos waiting = executor_.clock().now() - groups_.front()->answered_at;
  return answered < kMaxGroupsBehind && waiting < kLossWindow;
}

std::size_t GroupsInFlight::callers_under_way() const {
  std::size_t callers = 0;
  for (const std::unique_ptr<CommitGroup>& group : groups_) {
    if (!group->answered) callers += group->callers;
  }
  return callers;
}

bool GroupsInFlight::all_io_done() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [](const auto& group) { return group->io_done(); });
}

std::vector<io::IoRequest*> GroupsInFlight::refused_requests() const {
  std::vector<io::IoRequest*> refused;
  for (const auto& group : groups_) {
    for (Round* round : {&group->ahead, &group->main, &group->behind}) {
      for (io::IoRequest& request : round->batch.requests) {
        if (io::is_refused(request)) refused.push_back(&request);
      }
    }
  }
  return refused;
}

std::set<DeviceId> GroupsInFlight::failed_devices() const {
  std::set<DeviceId> failed = members_.poisoned();
  for (const auto& group : groups_) {
    for (const Round* round : {&group->ahead, &group->main, &group->behind}) {
      std::set<FlushDomain> unflushed;
      for (const io::IoRequest& request : round->batch.requests) {
        if (request.status.ok()) unflushed.insert(members_.flush_domain(request.device));
        if (request.status.ok() || io::is_refused(request)) continue;
        const Member* member = members_.owner(request.device);
        HEXAD_ASSERT(member != nullptr);
        failed.insert(member->id);
      }
      unflushed.erase(kNoFlushDomain);
      const bool told = std::any_of(unflushed.begin(), unflushed.end(), [this](FlushDomain domain) {
        return members_.flush_failed(domain);
      });
      if (!round->flush_failed || told) continue;
      // No device says that it has failed one, so all that may have are to blame: nothing is
      // acknowledged without its flush (R11).
      for (const DeviceId id : members_.usable_ids()) {
        const io::Device* const device = members_.find(id)->device.get();
        if (unflushed.contains(members_.flush_domain(device))) failed.insert(id);
      }
    }
  }
  return failed;
}

}  // namespace hexad::core
