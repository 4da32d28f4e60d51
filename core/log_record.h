// What one transaction leaves in the log: the metadata after it (post-images) and what it did to
// space. Replaying records in LSN order over a checkpoint gives the state; nothing has to be read.
// doc/format.md#log-record describes the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/zone.h"
#include "base/error.h"
#include "core/record.h"

namespace hexad::core {

struct PostImage {
  std::string key;
  std::optional<std::string> value;  // nothing: the key is gone
  bool operator==(const PostImage&) const = default;
};

// A stripe this transaction allocated. While its LSN lies above the watermark, recovery proves the
// cells by these sums (rule R7), unless they were durable before the record was written.
struct StripeProof {
  alloc::Extent where;
  std::uint32_t cell_bytes = 0;
  bool durable_before = false;
  std::vector<std::uint64_t> cell_sums;  // k+m, of the store's checksum type
  bool operator==(const StripeProof&) const = default;
};

struct ZoneCreation {
  std::uint32_t zone = 0;
  std::uint32_t units = 0;  // the header's included
  std::vector<alloc::ZoneSlot> slots;
  bool operator==(const ZoneCreation&) const = default;
};

// Change of the bytes alive in a pack stripe.
struct LiveChange {
  alloc::Extent where;
  std::int64_t bytes = 0;
  bool operator==(const LiveChange&) const = default;
};

struct LogRecord {
  std::int64_t time = 0;  // nanoseconds since 1970, for people
  std::vector<PostImage> images;
  std::vector<StripeProof> allocated;
  std::vector<alloc::Extent> freed;
  std::vector<LiveChange> live;
  std::vector<ZoneCreation> zones;
  bool operator==(const LogRecord&) const = default;
};

std::string encode_log_record(const LogRecord& record, const RecordShape& shape);
// Errors: kCorruption; survives any input.
Result<LogRecord> decode_log_record(std::string_view bytes, const RecordShape& shape);

}  // namespace hexad::core
