#include "core/commit/commit_log.h"

#include <algorithm>

#include "base/units.h"

namespace hexad::core {

namespace {

// Payloads that have no place yet take at most this part of the log.
constexpr std::uint64_t kPayloadShare = 4;
// Of the log's reserve: see C4.
constexpr std::uint64_t kReserveParts = 4;
// A record that packs payloads takes at most this part of what a record may take.
constexpr std::uint64_t kPackingShare = 2;

}  // namespace

// What a record can cost at most: a block of its own, and as much again lost at the end of a lap
// because blocks do not wrap (C4).
std::uint64_t CommitLog::room_for(std::uint64_t bytes) const {
  return 2 * round_up(kv::kLogHeaderSize + kv::kLogTrailerSize + kRecordFraming + bytes,
                      writer_.block_size());
}

// Packing what rides in the log takes room in the log, too, and comes before the checkpoint that
// makes room: so much is left alone by everybody else.
std::uint64_t CommitLog::kept_for_packing() const {
  return packing_room(log_blobs_.payload_bytes(), log_blobs_.packing_bytes());
}

// What was kept for packing was there before fences and watermarks took theirs from the reserve.
bool CommitLog::has_room(std::uint64_t room, LogRoom from) const {
  const bool packing = from == LogRoom::kPacking;
  const std::uint64_t kept = packing ? 0 : kept_for_packing();
  const std::uint64_t alone = packing ? writer_.reserve() / kReserveParts : writer_.reserve();
  return writer_.used() + reserved_ + kept + room <= writer_.capacity() - alone;
}

Status CommitLog::check_reserve(std::uint64_t parts_left) const {
  const std::uint64_t taken = writer_.used() + reserved_ + kept_for_packing();
  const std::uint64_t left = parts_left * (writer_.reserve() / kReserveParts);
  if (taken + writer_.block_size() + left <= writer_.capacity()) return {};
  return Error{ErrorCode::kNoSpace,
               "the log has no room for a block of its own: of " + format_size(writer_.capacity()) +
                   ", " + format_size(taken) + " are in use or set aside",
               "A checkpoint makes room."};
}

// Of the records that pack `payload` bytes, whose places take `places` bytes to say. All but the
// last are filled to a half at least, with the one or with the other.
std::uint64_t CommitLog::packing_room(std::uint64_t payload, std::uint64_t places) const {
  const std::uint64_t limit = packing_limit();
  const std::uint64_t records = 2 + 2 * (payload / kPackBytes) + 2 * (places / limit);
  return records * (room_for(0) + 2 * std::uint64_t{writer_.block_size()}) + 2 * places;
}

std::uint64_t CommitLog::packing_limit() const { return record_limit() / kPackingShare; }

std::uint64_t CommitLog::record_limit() const {
  const std::uint64_t share = (writer_.capacity() - writer_.reserve()) / 4;
  const std::uint64_t framing =
      kv::kLogHeaderSize + kv::kLogTrailerSize + kRecordFraming + writer_.block_size();
  return std::min<std::uint64_t>(share, kv::kMaxLogBlock / 2) - framing;
}

CommitLog::PayloadRoom CommitLog::hold_payload_room(const std::vector<Submission>& members) {
  if (!payloads_allowed_) return {};
  const std::uint64_t waiting = log_blobs_.payload_bytes();
  const std::uint64_t share = writer_.capacity() / kPayloadShare;
  if (waiting >= share) return {};
  std::uint64_t keys = 0;
  std::uint64_t stored = 0;
  std::uint64_t places = 0;
  for (const Submission& member : members) {
    for (const UnplacedBlob& blob : member.unplaced) {
      keys += blob.owner.size();
      stored += blob.stored.size();
      places += group_part_bound(blob.stored.size(), shape_);
    }
  }
  // With half of the log used, a checkpoint is due, and what comes now should not be in its way.
  const std::uint64_t used = writer_.used() + reserved_ + 2 * (keys + writer_.block_size());
  const std::uint64_t half = (writer_.capacity() - writer_.reserve()) / 2;
  if (stored == 0 || used >= half) return {};
  PayloadRoom room;
  room.payload = std::min({share - waiting, (half - used) / 4, kMaxGroupBytes, stored});
  const std::uint64_t packing = log_blobs_.packing_bytes();
  room.held = 2 * (room.payload + keys + writer_.block_size()) +
              packing_room(waiting + room.payload, packing + places) -
              packing_room(waiting, packing);
  if (!has_room(room.held)) return {};
  reserved_ += room.held;
  return room;
}

}  // namespace hexad::core
