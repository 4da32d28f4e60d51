// The pool description: a small readable file, `hexad.pool`, in a directory, that says where the
// devices and fast directories of a store are.
//
// It is a convenience: the labels have everything else, and a store opens from its device paths
// alone.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace hexad {

// Where the devices and fast directories of a store are.
struct PoolDescription {
  std::vector<std::string> devices;  // paths of the data devices, in any order
  // Each holds a log file, and the first one the index. Empty: those that the labels name. A store
  // that was made without any takes one that exists for the index alone.
  std::vector<std::string> fast_directories;
};

// A device of a pool that a process has open for writing.
struct DeviceHolder {
  std::string path;              // of the device
  std::string who;               // for people: which process, on which machine where that is known
  bool can_be_shut_out = false;  // by Store::take_over()
};

// Writes a description to `hexad.pool` in the directory.
//
// Paths inside the directory are stored relative to it, so that it can be moved. The file has mode
// 0600. After a crash it is the old file or the new one.
//
// Errors: kInvalidArgument (an empty path), kTooBig (more than 1 MiB), kIo, and others of the
// operating system.
Status write_pool(const std::string& directory, const PoolDescription& pool);
// Reads the description from `hexad.pool` in the directory; an empty text means the current one.
//
// Errors: kNotFound (there is no such file), kInvalidArgument (it is no pool description: the
// message has the line and why), kTooBig (more than 1 MiB), kIo.
Result<PoolDescription> read_pool(const std::string& directory);

}  // namespace hexad
