// The log as the commit pipeline fills it: its writer, and how much of the ring is set aside for
// what has no block yet.
//
// All under the pipeline's lock.
//
// Invariants
//   C4  the log has room for everything enqueued, for the payloads of the group that is being
//       sealed, and for the records that pack all payloads: none of them waits for a trim. Fences
//       and watermarks, which have no room set aside, come out of the log's reserve and end where
//       it would be needed for that: watermarks at its half, fences at a quarter, which openings
//       have
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/commit/commit_group.h"
#include "core/commit/log_room.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "kv/log/log_writer.h"

namespace hexad::core {

// Payload of one packing record, bytes: bounds its cells in memory.
inline constexpr std::uint64_t kPackBytes = 16 << 20;

class CommitLog {
 public:
  // The last two outlive it.
  CommitLog(kv::LogWriter writer, const LogBlobs& log_blobs, const RecordShape& shape)
      : writer_(std::move(writer)), log_blobs_(log_blobs), shape_(shape) {}

  kv::LogWriter& writer() { return writer_; }
  const kv::LogWriter& writer() const { return writer_; }

  // Largest record that a transaction may have, bytes.
  std::uint64_t record_limit() const;
  // How long a record may get that says where packed payloads are, bytes (C4).
  std::uint64_t packing_limit() const;

  // What a record of `bytes` can cost at most.
  std::uint64_t room_for(std::uint64_t bytes) const;
  bool has_room(std::uint64_t room, LogRoom from = LogRoom::kCommon) const;
  // For a block that has no room set aside: with it, everything that has still fits, and so many
  // parts of the reserve are left (C4). Errors: kNoSpace.
  Status check_reserve(std::uint64_t parts_left) const;

  void set_aside(std::uint64_t room) { reserved_ += room; }
  // It has its block.
  void take(std::uint64_t room) { reserved_ -= room; }
  // What a group's payloads may take of the log, and what is set aside for that; bytes.
  struct PayloadRoom {
    std::uint64_t payload = 0;
    std::uint64_t held = 0;
  };
  // How many bytes of payload the log can take besides what is reserved in it. They
  // are set aside, with what packing them takes, until the group has its block: others reserve
  // meanwhile (C4).
  PayloadRoom hold_payload_room(const std::vector<Submission>& members);

  // Whether unplaced blobs may ride in the log from the next group on.
  void pause_payloads() { payloads_allowed_ = false; }
  void resume_payloads() { payloads_allowed_ = true; }

 private:
  std::uint64_t kept_for_packing() const;
  std::uint64_t packing_room(std::uint64_t payload, std::uint64_t places) const;

  kv::LogWriter writer_;
  const LogBlobs& log_blobs_;
  const RecordShape& shape_;
  std::uint64_t reserved_ = 0;  // bytes of the ring set aside and not sealed yet
  bool payloads_allowed_ = true;
};

}  // namespace hexad::core
