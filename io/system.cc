#include "io/system.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "io/os_error.h"

namespace hexad::io {

namespace {

Error directory_error(int number, const std::string& path) {
  if (number == EEXIST || number == ENOTDIR) {
    return Error{ErrorCode::kInvalidArgument,
                 "cannot create directory " + path + ": a file is in the way",
                 "Name another place."};
  }
  return os_error(number, "cannot create directory " + path);
}

}  // namespace

Result<std::vector<std::string>> System::make_directory(const std::string& path) {
  std::vector<std::string> missing = {path};  // innermost first
  std::error_code error;
  for (std::filesystem::path at = std::filesystem::path(path).parent_path();
       !at.empty() && !std::filesystem::is_directory(at, error); at = at.parent_path()) {
    missing.push_back(at.string());
  }
  std::vector<std::string> made;
  for (auto next = missing.rbegin(); next != missing.rend(); ++next) {
    // The parents are nobody's secret.
    if (::mkdir(next->c_str(), *next == path ? 0700 : 0777) == 0) {
      made.push_back(*next);
      continue;
    }
    const int reason = errno;
    if (reason == EEXIST && std::filesystem::is_directory(*next, error)) continue;
    for (auto back = made.rbegin(); back != made.rend(); ++back) ::rmdir(back->c_str());
    return directory_error(reason, *next);
  }
  return made;
}

Status System::remove_directory(const std::string& path) {
  if (::rmdir(path.c_str()) == 0) return {};
  if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST) return {};
  return os_error(errno, path + ": cannot be removed");
}

Result<std::optional<Holder>> System::holder(const std::string& path) {
  const Result<std::unique_ptr<Device>> opened = open_device(path, OpenMode::kReadWrite);
  if (opened.ok()) return std::optional<Holder>();
  if (opened.error().code != ErrorCode::kBusy) return opened.error();
  return std::optional<Holder>(Holder{opened.error().message, false});
}

Status System::shut_out(const std::string& path) {
  HEXAD_TRY_ASSIGN(const std::optional<Holder> has_it, holder(path));
  if (!has_it.has_value()) return {};
  return Error{ErrorCode::kUnsupported, has_it->who + ", and nothing shuts it out of that",
               "End that process."};
}

Status System::remove_created(const std::string&) { return {}; }

}  // namespace hexad::io
