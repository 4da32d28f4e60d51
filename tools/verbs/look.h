// What verbs that describe a pool have in common, whether or not it opens.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/api/types.h"
#include "tools/cli/pool_view.h"
#include "tools/cli/verb.h"

namespace hexad::tools {

// In place of the id of a device, where it is not known.
inline constexpr DeviceId kNoId = std::numeric_limits<DeviceId>::max();

// Gives those that could not be asked the ids that they must have, or kNoId: pools describe their
// devices in the order of the ids, and as long as all that answer stand where they should, so do
// the others. `devices`: as inspect() gives them.
void tell_ids(std::vector<DeviceStatus>& devices);

// The number of a device, as a user types it. Errors: kInvalidArgument.
Result<DeviceId> parse_device(const std::string& word, const Session& session);

// The device of the pool that has the number; nothing: there is none.
std::optional<DeviceStatus> find_device(const StoreStatus& status, DeviceId id);

// The status of a pool that opens, or whose process answers, or else as far as its labels and roots
// tell. Errors: those of Session::open_view().
Result<StoreStatus> look_at_devices(Session& session);

const char* health_name(Health health);  // "ok", "degraded", "damaged", "unavailable"

// The status of a pool; where it knows of damage, as it is when that has been looked at again,
// which takes a pass over all objects. Errors: those of PoolView::status().
Result<StoreStatus> judged_status(PoolView& view);

}  // namespace hexad::tools
