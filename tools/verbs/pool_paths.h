// The paths of devices in the description of a pool: what the next opening looks at. A path there
// that is no device of the pool does no harm; a device of it that is in no description looks lost.
#pragma once

#include <string>

#include "base/error.h"
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

// The description names the fast directory `directory` in the place of `old` from then on, or
// beside those that it names. Errors: as above.
Status put_fast_in_place(const Session& session, const std::string& old,
                         const std::string& directory);

// The path that the status shows is that of the device: what is not there is shown at one of the
// paths where nothing is, which is its own if it is alone.
bool is_its_path(const StoreStatus& before, const DeviceStatus& device);

}  // namespace hexad::tools
