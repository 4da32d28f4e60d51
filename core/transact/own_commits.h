// Changes of the store's own on their way to the pipeline.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/commit/commit_pipeline.h"
#include "core/commit/internal_commits.h"
#include "core/read/store_reader.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/space/space.h"
#include "core/transact/attempt.h"
#include "core/transact/order.h"
#include "core/transact/write_gate.h"
#include "io/clock.h"

namespace hexad::core {

class OwnCommits final : public InternalCommits {
 public:
  // All outlive it.
  struct Parts {
    Order& order;
    const WriteGate& gate;
    StoreReader& reads;
    CommitPipeline& pipeline;
    Space& space;
    LogBlobs& log_blobs;
    const RecordShape& shape;
    io::Clock& clock;
    // RoomMaker::make_way(), which commits itself what goes this way.
    std::function<Status(const Attempt&)> make_way;
  };
  // What a try to give a record its place lacked.
  struct Lacking {
    std::uint64_t log_bytes = 0;    // not zero: the log has no room for so many
    bool too_many_deleted = false;  // keys that were deleted since the last checkpoint
  };

  explicit OwnCommits(Parts parts) : parts_(std::move(parts)) {}

  using InternalCommits::commit_internal;
  Result<Lsn> commit_internal(const FillRecord& fill, const std::function<void()>& placed,
                              LogRoom room) override;
  // One try of it; not durable yet. 0: something was lacking.
  Result<Lsn> try_commit(const FillRecord& fill, const std::function<void()>& placed, LogRoom room,
                         Lacking& lacking);

  // --- PlanSource: the newest state; under the sequencer's lock, of which the interface knows
  // nothing, and nor does the analysis ---
  Result<std::optional<std::string>> get(std::string_view key) override
      HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    return parts_.order.newest.get(key);
  }
  Status scan(std::string_view prefix,
              const Visit& visit) override HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    return parts_.order.newest.scan(prefix, visit);
  }
  Status scan_from(std::string_view prefix, std::string_view from,
                   const Visit& visit) override HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    return parts_.order.newest.scan_from(prefix, from, visit);
  }
  Status scan_to_fill(std::string_view prefix, std::string_view from,
                      const Visit& visit) override HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    return parts_.order.newest.scan_within(prefix, from, visit, parts_.order.newest.fill_walk());
  }

 private:
  const Parts parts_;
};

}  // namespace hexad::core
