// The group's part of a log record for whoever copies it into the log block: without the bytes of
// its payloads, which are copied from where they lie. doc/format.md#log-record describes the bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/record/log_record.h"

namespace hexad::core {

// What encode_group_part() gives for one part after the other, without their payloads' bytes: each
// of these comes at the next of `places`, and a part ends at the one behind its last payload.
struct CutGroupParts {
  std::string bytes;
  std::vector<std::size_t> places;  // ascending
};
void append_group_part(const GroupPart& group, const RecordShape& shape, CutGroupParts& parts);

}  // namespace hexad::core
