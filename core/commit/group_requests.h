// What a group asks of devices: its cells and its log blocks, in which round each goes out, and how
// each becomes durable. Sends nothing.
//
// Any thread; `unproven` is read under the pipeline's lock.
//
// Invariants
//   C7  of cells that go out together with their log block, whose recovery has to prove them, at
//       most kMaxUnproven bytes are in flight (R8); other groups write their cells first
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/api/options.h"
#include "core/commit/commit_group.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"

namespace hexad::core {

inline constexpr std::uint64_t kMaxUnproven = 64 << 20;

class GroupRequests {
 public:
  // All outlive it.
  GroupRequests(const StoreShape& shape, Space& space, Members& members, Counters& counters,
                LogDurability log_durability)
      : shape_(shape),
        space_(space),
        members_(members),
        counters_(counters),
        log_durability_(log_durability) {}

  // The group of `members`, whose records stand in `block`; so many bytes of cells in flight are
  // unproven already.
  std::unique_ptr<CommitGroup> make(kv::PreparedBlock block, std::vector<Submission> members,
                                    std::uint64_t unproven) const;

 private:
  void choose_modes(std::vector<io::IoRequest>& requests) const;
  void note_size(const CommitGroup& group) const;

  const StoreShape& shape_;
  Space& space_;
  Members& members_;
  Counters& counters_;
  const LogDurability log_durability_;
};

}  // namespace hexad::core
