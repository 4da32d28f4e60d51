#include "tools/import_export/local_entries.h"

#include <errno.h>
#include <fcntl.h>

namespace hexad::tools {

Result<bool> LocalEntries::enter(std::string_view path) {
  if (path == parent_path_) return true;
  parent_path_.clear();
  parent_ = Fd();
  Fd at;
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t slash = rest.find('/');
    const std::string component(rest.substr(0, slash));
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
    Fd next(openat(at.valid() ? at.get() : root_, component.c_str(),
                   O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) {
      if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return false;
      return system_error(errno, path, "cannot open the directory");
    }
    at = std::move(next);
  }
  parent_path_ = path;
  parent_ = std::move(at);
  return true;
}

Result<std::optional<struct stat>> LocalEntries::find(std::string_view path) {
  std::optional<struct stat> found;
  if (root_ < 0) return found;
  const std::size_t slash = path.rfind('/');
  const std::string_view parent_path =
      slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  const std::string leaf(slash == std::string_view::npos ? path : path.substr(slash + 1));
  HEXAD_TRY_ASSIGN(const bool there, enter(parent_path));
  if (!there) return found;
  struct stat info = {};
  if (fstatat(parent(), leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    found = info;
    return found;
  }
  if (errno == ENOENT || errno == ENOTDIR) return found;
  return system_error(errno, path, "cannot look at");
}

}  // namespace hexad::tools
