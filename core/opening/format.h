// Making a store.
#pragma once

#include "base/error.h"
#include "core/api/options.h"
#include "core/api/pool.h"
#include "io/system.h"
#include "kv/index.h"

namespace hexad::core {

// Labels, roots, empty logs and an empty index, if there is a place for one; no collection yet. A
// log file of an older store that is too short for the new log grows, and files that are sparse get
// all their room. `report` may be null.
//
// All checks come before the first write. Directories and files made by a call that fails
// afterwards are removed again; of what was there, a log that has grown stays longer.
//
// `indexes`: where the index goes; null: into the first fast directory of the operating system.
// Without either the store has none, and the runs answer for the metadata.
Result<PoolDescription> format_devices(const FormatOptions& options, io::System& system,
                                       kv::IndexHome* indexes = nullptr,
                                       FormatReport* report = nullptr);

}  // namespace hexad::core
