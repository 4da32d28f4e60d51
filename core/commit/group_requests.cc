#include "core/commit/group_requests.h"

#include <algorithm>
#include <utility>

#include "core/blob/stripe_writer.h"

namespace hexad::core {

std::unique_ptr<CommitGroup> GroupRequests::make(kv::PreparedBlock block,
                                                 std::vector<Submission> members,
                                                 std::uint64_t unproven) const {
  auto group = std::make_unique<CommitGroup>();
  group->members = std::move(members);
  group->block = std::move(block);
  const StripeWriter writer(shape_, space_, members_, counters_, StripeUse::kUser);
  std::vector<io::IoRequest> cells;
  std::uint64_t bytes = 0;
  for (const Submission& member : group->members) {
    group->callers += member.durability == Durability::kDurable ? 1 : 0;
    for (const StripeWrite& stripe : member.stripes) {
      writer.append(stripe, io::WriteMode::kCached, cells);  // choose_modes() has the last word
    }
  }
  for (const io::IoRequest& cell : cells) bytes += cell.length;
  const bool first =
      log_durability_ == LogDurability::kDataFirst || unproven + bytes > kMaxUnproven;
  if (first) {
    group->ahead.batch.requests = std::move(cells);
  } else {
    group->main.batch.requests = std::move(cells);
    group->unproven = bytes;
  }
  const auto is_fast = [this](const io::IoRequest& request) {
    return members_.owner(request.device)->role == alloc::DeviceRole::kLog;
  };
  std::vector<io::IoRequest>& copies = group->block.requests;
  // In memory it is durable at once. Where it shares a cache with something that is waited for, the
  // flush of that makes it durable, too: left behind, it would take a round and a flush more from
  // the same disk, and be no gain.
  const auto goes_along = [&](const io::IoRequest& copy) {
    if (is_fast(copy) || copy.device->in_memory()) return true;
    const FlushDomain domain = members_.flush_domain(copy.device);
    if (domain == kNoFlushDomain || !members_.is_shared(domain)) return false;
    const auto is_beside = [&](const io::IoRequest& other) {
      return members_.flush_domain(other.device) == domain;
    };
    const std::vector<io::IoRequest>& before = group->main.batch.requests;
    return std::any_of(before.begin(), before.end(), is_beside) ||
           std::any_of(copies.begin(), copies.end(), [&](const io::IoRequest& other) {
             return is_fast(other) && is_beside(other);
           });
  };
  const bool answer_early =
      log_durability_ == LogDurability::kFast && std::any_of(copies.begin(), copies.end(), is_fast);
  for (const io::IoRequest& copy : copies) {
    counters_.add(CounterId::kDeviceBytesLog, copy.length);
  }
  std::vector<io::IoRequest>& main = group->main.batch.requests;
  if (main.empty() && !answer_early) {
    main = std::exchange(copies, {});
  } else {
    main.reserve(main.size() + copies.size());
    for (const io::IoRequest& copy : copies) {
      Round& round = answer_early && !goes_along(copy) ? group->behind : group->main;
      round.batch.requests.push_back(copy);
    }
  }
  for (Round* round : {&group->ahead, &group->main, &group->behind}) {
    round->group = group.get();
    round->over = round->batch.requests.empty();
    choose_modes(round->batch.requests);
  }
  if (!group->members.empty()) note_size(*group);
  return group;
}

void GroupRequests::note_size(const CommitGroup& group) const {
  std::uint64_t bytes = 0;
  for (const Round* round : {&group.ahead, &group.main, &group.behind}) {
    for (const io::IoRequest& request : round->batch.requests) bytes += request.length;
  }
  counters_.add(CounterId::kGroups);
  counters_.add(CounterId::kGroupBytes, bytes);
  const std::size_t count = group.members.size();
  counters_.add(count >= 64   ? CounterId::kGroupsOf64
                : count >= 16 ? CounterId::kGroupsOf16
                : count >= 8  ? CounterId::kGroupsOf8
                : count >= 4  ? CounterId::kGroupsOf4
                : count >= 2  ? CounterId::kGroupsOf2
                              : CounterId::kGroupsOf1);
}

// How each write becomes durable. Without a volatile cache it is when it completes. The only
// request of a group to its flush domain carries its own flush: one trip to the device. Several are
// plain writes, and one flush follows for all of them: two trips, but one flush.
void GroupRequests::choose_modes(std::vector<io::IoRequest>& requests) const {
  const std::size_t domains = members_.flush_domains();
  if (domains == 0) {
    for (io::IoRequest& request : requests) request.mode = io::WriteMode::kCached;
    return;
  }
  if (requests.empty()) return;
  std::vector<std::uint32_t> count(domains);
  for (const io::IoRequest& request : requests) {
    const FlushDomain domain = members_.flush_domain(request.device);
    if (domain != kNoFlushDomain) ++count[domain];
  }
  for (io::IoRequest& request : requests) {
    const FlushDomain domain = members_.flush_domain(request.device);
    if (domain == kNoFlushDomain) {
      request.mode = io::WriteMode::kCached;
    } else if (count[domain] == 1) {
      request.mode = io::WriteMode::kDurable;
    } else {
      request.mode = members_.is_shared(domain) ? io::WriteMode::kShared : io::WriteMode::kCached;
    }
  }
}

}  // namespace hexad::core
