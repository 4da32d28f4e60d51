// The groups that have their place in the log and are not durable on all copies yet, in order: how
// many there may be, and which devices failed them.
//
// All under the pipeline's lock. Pointers to a group stay good until it is taken.
//
// Invariants
//   C1  they are in LSN order without gaps; what is durable ends before the first of them
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "core/api/options.h"
#include "core/commit/commit_group.h"
#include "core/space/members.h"
#include "io/executor.h"

namespace hexad::core {

class GroupsInFlight {
 public:
  // All outlive it.
  GroupsInFlight(io::Executor& executor, const Members& members, LogDurability log_durability)
      : executor_(executor), members_(members), log_durability_(log_durability) {}

  bool empty() const { return groups_.empty(); }
  // Bytes of cells that only recovery could prove (C7 of core/commit/group_requests.h).
  std::uint64_t unproven() const { return unproven_; }
  // The next one in the order.
  CommitGroup* add(std::unique_ptr<CommitGroup> group);

  // Whether one more may be in flight, for an open group of so many bytes.
  bool has_slot(std::uint64_t open_bytes) const;
  // Who waits for groups that are not answered.
  std::size_t callers_under_way() const;
  // No request of any of them is without its outcome.
  bool all_io_done() const;

  const std::deque<std::unique_ptr<CommitGroup>>& groups() const { return groups_; }
  // The first one, when all its copies have their outcome; else nothing.
  bool front_done() const { return !groups_.empty() && groups_.front()->io_done(); }
  std::unique_ptr<CommitGroup> take_front();

  // --- without any request in flight ---

  // Requests that were refused, and not by their devices' fault (io/refused.h).
  std::vector<io::IoRequest*> refused_requests() const;
  // Devices that failed requests, and those of domains whose flush failed.
  std::set<DeviceId> failed_devices() const;

 private:
  io::Executor& executor_;
  const Members& members_;
  const LogDurability log_durability_;
  std::deque<std::unique_ptr<CommitGroup>> groups_;
  std::uint64_t unproven_ = 0;  // of all groups
};

}  // namespace hexad::core
