// What the transactions of a group have to do with the rest of the store: their blobs are known
// from before anybody may see them, get their places when the group is sealed, and belong to the
// space when it is durable; and what their records in the log look like.
//
// Any thread, no lock of its own; takes that of Space.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "core/blob/in_flight_cells.h"
#include "core/commit/commit_group.h"
#include "core/commit/stripe_placer.h"
#include "core/record/group_part.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "kv/log/log_buffers.h"
#include "kv/log/log_format.h"

namespace hexad::core {

class GroupRecords {
 public:
  // All outlive it.
  GroupRecords(const StoreShape& shape, Space& space, LogBlobs& log_blobs,
               InFlightCells& in_flight_cells, const StripePlacer& placer, Counters& counters)
      : shape_(shape),
        space_(space),
        log_blobs_(log_blobs),
        in_flight_cells_(in_flight_cells),
        placer_(placer),
        counters_(counters) {}

  // The most bytes that the submission's record can have when its group is sealed, payloads apart.
  std::uint64_t bound(const Submission& submission) const;
  // Its blobs can be read (C6 of core/commit/commit_positions.h).
  void make_readable(const Submission& submission) const;
  // The places of the members' unplaced blobs, into the record of the first; at most so many bytes
  // of them ride in the log. Errors: as StripePlacer::place().
  Status place_unplaced(std::vector<Submission>& members, std::uint64_t payload_room) const;
  // What encode() needs for as long as it runs, kept so that it asks for no memory. Of whoever
  // seals (C5).
  struct Scratch {
    CutGroupParts groups;
    kv::GatheredRecords records;
  };
  // The records of the members, as they stand in a log block; in memory of `buffers`.
  kv::LogBody encode(const std::vector<Submission>& members, std::uint32_t block_size,
                     kv::LogBuffers& buffers, Scratch& scratch) const;
  // The group is durable.
  void publish(const CommitGroup& group) const;

 private:
  const StoreShape& shape_;
  Space& space_;
  LogBlobs& log_blobs_;
  InFlightCells& in_flight_cells_;
  const StripePlacer& placer_;
  Counters& counters_;
};

}  // namespace hexad::core
