// Whether an object holds the bytes that another one, or a local file, holds.
#pragma once

#include <cstdint>
#include <string>

#include "core/store.h"
#include "io/executor.h"
#include "tools/cli/wrong_reads.h"

namespace hexad::tools {

// Both have `size` bytes. Also whether they have the same holes. For a pool that is open read-only.
// Memory: six pieces (PieceReader). Errors: those of the store, a signal.
Result<bool> same_objects(Store& store, io::Executor& executor, const std::string& collection,
                          const std::string& name, const std::string& other, std::uint64_t size);

// The file that `fd` reads has `size` bytes, too. Holes are zeros. False also when the file cannot
// be read. `wrong_reads`: as for PieceReader. Errors as above.
Result<bool> same_as_file(Store& store, io::Executor& executor, const std::string& collection,
                          const std::string& name, std::uint64_t size, int fd,
                          WrongReads* wrong_reads = nullptr);

}  // namespace hexad::tools
