// Directories below one root, reached component by component without following symbolic links, so
// that nothing in the tree, whoever put it there, can lead a write outside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tools/cli/file.h"

namespace hexad::tools {

class SafeTree {
 public:
  // Creates the root and its parents where missing; the root itself may be a symbolic link, the
  // user has named it. Errors: kIo and the like.
  static Result<SafeTree> open(const std::string& root);

  // A descriptor of the directory, made where missing; valid until the next call. Errors:
  // kInvalidArgument (a link or a file is in the way; its path is in the message), kIo, kNoSpace.
  // What earlier runs have left of files that they did not finish is removed.
  // kMakeUsable: where the last one may not be entered, read or written although it belongs to this
  // user, he is given those rights; whoever asks for that sets the mode afterwards.
  enum class Rights : std::uint8_t { kAsTheyAre, kMakeUsable };
  Result<int> directory(const std::vector<std::string>& components,
                        Rights rights = Rights::kAsTheyAre);
  int root() const { return root_.get(); }

 private:
  explicit SafeTree(Fd root) : root_(std::move(root)) {}

  // Once for each directory.
  void tidy(int directory);

  Fd root_;
  std::set<std::pair<dev_t, ino_t>> tidied_;
  // The directory of the last call: names come sorted, so the next one is often the same.
  std::vector<std::string> last_components_;
  Fd last_;
};

}  // namespace hexad::tools
