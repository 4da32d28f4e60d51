// A file or link of an export under a name of its own (tools/cli/part_file.h), until it is whole.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "tools/cli/file.h"

namespace hexad::tools {

// Disappears unless it is renamed to its real name.
class TemporaryEntry {
 public:
  // The directory's descriptor outlives this.
  explicit TemporaryEntry(int directory) : directory_(directory) {}
  TemporaryEntry(const TemporaryEntry&) = delete;
  TemporaryEntry& operator=(const TemporaryEntry&) = delete;
  ~TemporaryEntry();

  // A new, empty file for what will be `leaf`. Errors: kIo, kNoSpace.
  Result<Fd> open(const std::string& leaf);
  // A link; see make_part(). Errors: kIo, kNoSpace.
  Status make(const std::string& leaf, const std::function<int(const char*)>& make);
  const std::string& name() const { return name_; }
  // Takes the place of what has that name. Errors: kInvalidArgument (a directory has it), kIo.
  Status rename_to(const std::string& leaf);

 private:
  int directory_;
  std::string name_;  // empty: nothing to remove
};

}  // namespace hexad::tools
