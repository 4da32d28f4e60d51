// The paths of devices in the description of a pool: what the next opening looks at. A path there
// that is no device of the pool does no harm; a device of it that is in no description looks lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "core/api/pool.h"
#include "core/api/types.h"
#include "tools/cli/verb.h"

namespace hexad::tools {

// As the process that has the pool understands it, which may be in another folder.
std::string absolute_path(const std::string& path);

// `path` is in the description from then on, in the place of `old` where that is. Nothing happens
// to a pool that is named by its devices, or that has the path. Errors: those of read_pool() and
// write_pool().
Status put_path_in_place(const Session& session, const std::string& old, const std::string& path);

// The description has the path from then on. Whether it had not: false, too, where the pool is
// named by its devices. Errors: as above.
Result<bool> add_path(const Session& session, const std::string& path);
// It has it no more. Errors: as above.
Status remove_path(const Session& session, const std::string& path);

// As those, of a fast directory. Where the description names none, the labels do: then it names
// those that `status` shows, too. Errors: as above.
Result<bool> add_fast_path(const Session& session, const StoreStatus& status,
                           const std::string& directory);
Status remove_fast_path(const Session& session, const StoreStatus& status,
                        const std::string& directory);
// The new one is in the place of `old`, and that is not named any more; where it was not, the new
// one is the first. Errors: as above.
Status put_fast_in_place(const Session& session, const std::string& old,
                         const std::string& directory);

// Behind a change that was refused: the description does not name the path any more, unless it may
// have become one of the pool all the same. `now`: the status since; a store that has turned
// read-only does not know which of its roots counts. What stays, and why, is a warning.
enum class PathOf : std::uint8_t { kData, kFast };
void take_back_path(Session& session, const Result<StoreStatus>& now, const std::string& path,
                    PathOf of);

// Fast directories that the description names, and in which no device of the pool is: the index
// alone is kept there. That of a removal that ended before its last step; or somebody wants it so.
// None where it is not known of each fast device where it is.
std::vector<std::string> without_device(const PoolDescription& pool, const StoreStatus& status);

// Of a fast device; empty where that is not known, as is_its_path() has it. Nothing: it is none, or
// no device of the pool.
std::optional<std::string> fast_directory_of(const StoreStatus& status, DeviceId id);

// The path that the status shows is that of the device: what is not there is shown at one of the
// paths where nothing is, which is its own if it is alone.
bool is_its_path(const StoreStatus& before, const DeviceStatus& device);

}  // namespace hexad::tools
