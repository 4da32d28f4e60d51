// Walks a directory tree without ever following a symbolic link.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace hexad::tools {

struct TreeEntry {
  std::string path;       // relative to the root of the walk, no leading slash
  int directory_fd = -1;  // where `leaf` is; valid during the visit
  std::string leaf;
  struct stat info = {};  // of the entry itself (lstat)
};

enum class Descend : std::uint8_t { kEnter, kSkip };

class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  // Everything but the root itself, parents before children, names of one directory in bytewise
  // order. The answer matters for directories. An error ends the walk.
  virtual Result<Descend> visit(const TreeEntry& entry) = 0;
  // An entry that could not be looked at, or a directory that could not be opened or read. The
  // walk goes on behind it.
  virtual void unreadable(const std::string& path, const Error& error) = 0;
};

// The names in the directory, sorted bytewise, without "." and ".."; `fd` stays open. Errors: kIo;
// `path` is its subject.
Result<std::vector<std::string>> names_in_directory(int fd, const std::string& path);

// Holds one descriptor per level. Errors: the root cannot be opened; what visit() returned.
Status walk_tree(const std::string& root, TreeVisitor& visitor);

}  // namespace hexad::tools
