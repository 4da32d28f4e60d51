// What every index refuses, in the same words.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"
#include "kv/index.h"

namespace hexad::kv {

// kInvalidArgument: no key can be that short or that long.
Status check_index_key(std::string_view key);

// Whether an index that is at `applied` may apply `changes` and be at `lsn` then. Errors:
// kInvalidArgument (the LSN goes back, not sorted, a key twice, key or value too long).
Status check_index_changes(Lsn applied, Lsn lsn, std::span<const IndexChange> changes);

}  // namespace hexad::kv
