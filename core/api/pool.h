// The pool description: a small readable file, hexad.pool, in a directory, that says where a
// store's devices and fast directories are. It is a convenience: the labels know everything, and
// a store opens from its device paths alone.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace hexad {

struct PoolDescription {
  std::vector<std::string> devices;           // data devices; order does not matter
  std::vector<std::string> fast_directories;  // each holds a log file; the first also the index
};

// Writes DIR/hexad.pool (0600, by rename, directory synced). Paths inside DIR are stored relative
// to it, so that the directory can be moved. Errors: kIo.
Status write_pool(const std::string& directory, const PoolDescription& pool);
// Errors: kNotFound (no such file; the hint names --device), kInvalidArgument (line and why), kIo.
Result<PoolDescription> read_pool(const std::string& directory);

}  // namespace hexad
