#include "tools/import_export/tree_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <algorithm>

#include "tools/cli/file.h"

namespace hexad::tools {

namespace {

class Walk {
 public:
  explicit Walk(TreeVisitor& visitor) : visitor_(visitor) {}

  Status directory(int fd, const std::string& path) {
    const Result<std::vector<std::string>> names = names_in_directory(fd, path);
    if (!names.ok()) {
      visitor_.unreadable(path, names.error());
      return {};
    }
    for (const std::string& leaf : *names) {
      HEXAD_TRY(entry(fd, path.empty() ? leaf : path + "/" + leaf, leaf));
    }
    return {};
  }

 private:
  Status entry(int parent_fd, const std::string& path, const std::string& leaf) {
    TreeEntry found{path, parent_fd, leaf, {}};
    if (fstatat(parent_fd, leaf.c_str(), &found.info, AT_SYMLINK_NOFOLLOW) != 0) {
      visitor_.unreadable(path, system_error(errno, path, "cannot look at"));
      return {};
    }
    HEXAD_TRY_ASSIGN(const Descend descend, visitor_.visit(found));
    if (!S_ISDIR(found.info.st_mode) || descend == Descend::kSkip) return {};
    const Fd child(
        openat(parent_fd, leaf.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child.valid()) {
      visitor_.unreadable(path, system_error(errno, path, "cannot open the directory"));
      return {};
    }
    return directory(child.get(), path);
  }

  TreeVisitor& visitor_;
};

}  // namespace

Result<std::vector<std::string>> names_in_directory(int fd, const std::string& path) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  DIR* stream = copy >= 0 ? fdopendir(copy) : nullptr;
  if (stream == nullptr) {
    const Error error = system_error(errno, path, "cannot read the directory");
    const Fd unused(copy);
    return error;
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(stream)) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      names.emplace_back(entry->d_name);
    }
    errno = 0;
  }
  const int failure = errno;
  closedir(stream);
  if (failure != 0) return system_error(failure, path, "cannot read the directory");
  std::sort(names.begin(), names.end());
  return names;
}

Status walk_tree(const std::string& root, TreeVisitor& visitor) {
  const Fd fd(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return system_error(errno, root, "cannot open the directory");
  return Walk(visitor).directory(fd.get(), "");
}

}  // namespace hexad::tools
