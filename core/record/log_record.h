// What one transaction leaves in the log: the metadata after it (post-images) and what it did to
// space. Replaying records in LSN order over a checkpoint gives the state; nothing has to be read,
// for what a patch changes was written since the checkpoint, too.
// doc/format.md#log-record describes the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/zone.h"
#include "base/error.h"
#include "core/record/image_patch.h"
#include "core/record/record.h"

namespace hexad::core {

struct PostImage {
  std::string key;
  std::optional<std::string> value;  // nothing: the key is gone
  // What the log has in the value's place. Decoding leaves `value` empty where there is one.
  std::optional<ImagePatch> patch = {};
  // What the key shows is as it was, and lies elsewhere: for the read cache, and not in the log.
  bool moved = false;
  // What `value` was made of, where that is known: a patch, if the log has that. Not in the log.
  std::optional<ImageChange> change = {};
  bool operator==(const PostImage&) const = default;
};

// A stripe this transaction allocated. While its LSN lies above the watermark, recovery proves the
// cells by these sums (rule R7), unless they were durable before the record was written.
struct StripeProof {
  alloc::Extent where;
  std::uint32_t cell_bytes = 0;
  bool durable_before = false;
  SumList cell_sums;       // k+m, of the store's checksum type
  std::uint64_t live = 0;  // of a pack stripe: bytes alive in it; else 0
  // Slots of its zone on which the cell is not durable, a bit each, when the record was written: at
  // most m.
  std::uint64_t unwritten = 0;
  std::uint32_t footer = 0;  // of a pack stripe: the crc of its footer
  bool operator==(const StripeProof&) const = default;
};

struct ZoneCreation {
  alloc::ZoneId zone = 0;
  std::uint32_t units = 0;  // the header's included
  std::vector<alloc::ZoneSlot> slots;
  bool operator==(const ZoneCreation&) const = default;
};

// A packed blob dies: so many bytes of the pack stripe that begins there.
struct PackedRelease {
  alloc::ZoneId zone = 0;
  std::uint32_t unit = 0;
  std::uint32_t bytes = 0;  // the blob's `stored`
  bool operator==(const PackedRelease&) const = default;
};

// Where an unplaced blob is from now on: in one of the stripes that the same record allocates.
struct UnplacedPlace {
  LogPlace from;
  std::uint32_t stored = 0;  // bytes
  Placement placement = Placement::kPacked;
  alloc::Extent where;  // as in Blob, like the rest
  std::uint32_t cell = 0;
  std::uint32_t cell_offset = 0;
  std::uint32_t cell_bytes = 0;
  SumList cell_sums;   // private only
  SumList block_sums;  // private only
  bool operator==(const UnplacedPlace&) const = default;
};

// The bytes of an unplaced blob that went into the log instead of a stripe.
struct UnplacedPayload {
  LogPlace place;
  std::string owner;         // the object's key, for the footer of its stripe
  std::uint64_t offset = 0;  // where in the object the blob begins, bytes
  std::string bytes;         // as stored
  bool operator==(const UnplacedPayload&) const = default;
};

// What the sealing of a group decided about the unplaced blobs of its transactions. Stands in the
// record of its first transaction, and takes effect before anything else in that. Agrees with
// itself, which encoder and decoder check: every blob is in it once, each place lies in a stripe
// that it allocates, beside the others, and the live bytes of a pack stripe are those placed in it.
struct GroupPart {
  std::vector<StripeProof> allocated;
  std::vector<UnplacedPlace> placed;
  std::vector<UnplacedPayload> payloads;
  bool empty() const { return allocated.empty() && placed.empty() && payloads.empty(); }
  bool operator==(const GroupPart&) const = default;
};

struct LogRecord {
  std::int64_t time = 0;  // nanoseconds since 1970, for people
  std::vector<PostImage> images;
  std::vector<StripeProof> allocated;
  std::vector<alloc::Extent> freed;
  std::vector<PackedRelease> packed_releases;
  std::vector<LogPlace> unplaced_releases;  // of blobs whose place was not known yet
  std::vector<ZoneCreation> zones;
  GroupPart group;
  bool operator==(const LogRecord&) const = default;
};

// The transaction gives `blob` up.
void add_release(LogRecord& record, const Blob& blob);

// The two parts of a record's bytes: what the transaction is, known when it gets its LSN, and the
// group's part, known when the group is sealed.
std::string encode_own_part(const LogRecord& record, const RecordShape& shape);
std::string encode_group_part(const GroupPart& group, const RecordShape& shape);
std::string encode_log_record(const LogRecord& record, const RecordShape& shape);
// Bytes that an unplaced blob of `stored` bytes adds to the group's part at most, without its
// payload and the key of its owner: a private stripe of its own.
std::uint64_t group_part_bound(std::uint64_t stored, const RecordShape& shape);
// Errors: kCorruption; survives any input.
Result<LogRecord> decode_log_record(std::string_view bytes, const RecordShape& shape);

}  // namespace hexad::core
