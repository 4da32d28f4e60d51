#include "kv/index_changes.h"

#include <string>
#include <utility>

#include "base/units.h"

namespace hexad::kv {

namespace {

Error refuse(std::string what) {
  return Error{ErrorCode::kInvalidArgument, "index: " + std::move(what), ""};
}

}  // namespace

Status check_index_key(std::string_view key) {
  if (!key.empty() && key.size() <= kMaxIndexKey) return {};
  return refuse("a key of " + std::to_string(key.size()) + " bytes");
}

Status check_index_changes(Lsn applied, Lsn lsn, std::span<const IndexChange> changes) {
  if (lsn < applied) {
    return refuse("LSN " + std::to_string(lsn) + " is before the applied " +
                  std::to_string(applied));
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const IndexChange& change = changes[i];
    HEXAD_TRY(check_index_key(change.key));
    if (change.value.has_value() && change.value->size() > kMaxIndexValue) {
      return refuse("a value of " + format_size(change.value->size()));
    }
    if (i > 0 && changes[i - 1].key >= change.key) return refuse("changes are not sorted by key");
  }
  return {};
}

}  // namespace hexad::kv
