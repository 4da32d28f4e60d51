// Looks at what is below a directory, by path, without ever following a symbolic link on the way.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tools/cli/file.h"

namespace hexad::tools {

class LocalEntries {
 public:
  // `root`: a descriptor that outlives this; -1: there is no such directory, and nothing in it.
  explicit LocalEntries(int root) : root_(root) {}

  // The entry itself (lstat). Nothing: there is none, or something on the way is no directory. The
  // path has "/" between its components and none at its end. Errors: the way cannot be looked at.
  Result<std::optional<struct stat>> find(std::string_view path);
  // Where the entry that find() has found last is; valid until the next call.
  int parent() const { return parent_.valid() ? parent_.get() : root_; }

 private:
  // False: there is no such directory.
  Result<bool> enter(std::string_view path);

  int root_;
  std::string parent_path_;  // names come sorted, so the next one is often in the same directory
  Fd parent_;                // not valid: the root
};

}  // namespace hexad::tools
