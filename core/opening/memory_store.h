// A store in memory: io::MemorySystem for its devices, an index in memory, and the same engine.
#pragma once

#include "base/error.h"
#include "core/api/options.h"
#include "core/opening/store_parts.h"

namespace hexad::core {

// k+m devices with room for the capacity, the log and the headers, and no fast directory.
// Precondition: `options` are valid.
FormatOptions memory_format(const MemoryStoreOptions& options);

// Formats and opens. The parts own the system and the index. Errors: kInvalidArgument (options; a
// store that begins empty is not for reading alone), kNoSpace (address space).
Result<StoreParts> make_memory_parts(const MemoryStoreOptions& options,
                                     const RuntimeOptions& runtime);

}  // namespace hexad::core
