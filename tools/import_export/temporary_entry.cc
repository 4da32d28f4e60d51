#include "tools/import_export/temporary_entry.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <utility>

#include "tools/cli/names.h"
#include "tools/cli/part_file.h"

namespace hexad::tools {

TemporaryEntry::~TemporaryEntry() {
  if (!name_.empty()) unlinkat(directory_, name_.c_str(), 0);
}

Result<Fd> TemporaryEntry::open(const std::string& leaf) {
  std::string name;
  Fd fd(open_part(directory_, leaf, name));
  if (!fd.valid()) return system_error(errno, leaf, "cannot create");
  name_ = std::move(name);
  return fd;
}

Status TemporaryEntry::make(const std::string& leaf, const std::function<int(const char*)>& make) {
  std::string name;
  if (make_part(directory_, leaf, name, make) < 0) {
    return system_error(errno, leaf, "cannot create the link");
  }
  name_ = std::move(name);
  return {};
}

Status TemporaryEntry::rename_to(const std::string& leaf) {
  if (renameat(directory_, name_.c_str(), directory_, leaf.c_str()) != 0) {
    if (errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST) {
      return Error{ErrorCode::kInvalidArgument,
                   display_name(leaf) + " is a directory here; only --delete replaces it", ""};
    }
    return system_error(errno, leaf, "cannot put it in place");
  }
  name_.clear();
  return {};
}

}  // namespace hexad::tools
