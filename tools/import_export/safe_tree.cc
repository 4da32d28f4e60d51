#include "tools/import_export/safe_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tools/cli/names.h"
#include "tools/cli/part_file.h"

namespace hexad::tools {

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string join(const std::vector<std::string>& components, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; ++i) path += (i == 0 ? "" : "/") + components[i];
  return path;
}

// Opens `name` in `parent`, or makes it first.
Result<Fd> enter(int parent, const std::string& name, const std::string& path) {
  Fd fd(openat(parent, name.c_str(), kDirectoryFlags));
  if (!fd.valid() && errno == ENOENT) {
    if (mkdirat(parent, name.c_str(), 0777) != 0 && errno != EEXIST) {
      return system_error(errno, path, "cannot create the directory");
    }
    fd = Fd(openat(parent, name.c_str(), kDirectoryFlags));
  }
  if (fd.valid()) return fd;
  if (errno == ELOOP || errno == ENOTDIR) {
    return Error{ErrorCode::kInvalidArgument,
                 display_name(path) + " is in the way: a symbolic link or a file, not a directory",
                 "Remove it, export into another directory, or let --delete remove it."};
  }
  return system_error(errno, path, "cannot open the directory");
}

// Left without rights by an earlier export. If this fails, so will what is done in it, and says
// why.
void make_usable(int parent, const std::string& name) {
  const Fd found(openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info = {};
  if (!found.valid() || fstat(found.get(), &info) != 0) return;
  if ((info.st_mode & S_IRWXU) == S_IRWXU || info.st_uid != geteuid()) return;
  // The descriptor allows no fchmod(); its name in /proc leads to the directory, and no link there.
  const std::string path = "/proc/self/fd/" + std::to_string(found.get());
  static_cast<void>(chmod(path.c_str(), (info.st_mode & 07777) | S_IRWXU));
}

}  // namespace

Result<SafeTree> SafeTree::open(const std::string& root) {
  std::error_code failure;
  std::filesystem::create_directories(root, failure);
  Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) return SafeTree(std::move(fd));
  const int error_number = failure ? failure.value() : errno;
  return system_error(error_number, root, "cannot create or open the directory");
}

void SafeTree::tidy(int directory) {
  struct stat info = {};
  if (fstat(directory, &info) != 0) return;
  if (tidied_.emplace(info.st_dev, info.st_ino).second) remove_stale_parts(directory);
}

Result<int> SafeTree::directory(const std::vector<std::string>& components, Rights rights) {
  if (components.empty()) {
    tidy(root_.get());
    return root_.get();
  }
  if (last_.valid() && components == last_components_) return last_.get();
  Fd at;
  for (std::size_t i = 0; i < components.size(); ++i) {
    const int parent = at.valid() ? at.get() : root_.get();
    const bool last = i + 1 == components.size();
    if (last && rights == Rights::kMakeUsable) make_usable(parent, components[i]);
    HEXAD_TRY_ASSIGN(Fd next, enter(parent, components[i], join(components, i + 1)));
    at = std::move(next);
  }
  last_components_ = components;
  last_ = std::move(at);
  tidy(last_.get());
  return last_.get();
}

}  // namespace hexad::tools
