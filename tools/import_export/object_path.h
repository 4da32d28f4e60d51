// From object names, which are any bytes, to paths that stay below the directory of an export.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace hexad::tools {

struct ObjectPath {
  std::vector<std::string> parents;  // directories from the root of the export down
  std::string leaf;
  bool directory = false;  // the name ended in "/"
};

// Errors: kInvalidArgument, saying what is wrong: an empty name, an absolute one, an empty, "." or
// ".." component, a zero byte, a component over 255 bytes. Pure text: symbolic links are the
// business of SafeTree.
Result<ObjectPath> split_object_name(std::string_view name);

}  // namespace hexad::tools
