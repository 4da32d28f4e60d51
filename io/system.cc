#include "io/system.h"

#include <sys/stat.h>

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

Status System::make_directory(const std::string& path) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) return directory_error(error.value(), parent.string());
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  const int reason = errno;
  if (reason == EEXIST && std::filesystem::is_directory(path, error)) return {};
  return directory_error(reason, path);
}

Status System::remove_created(const std::string&) { return {}; }

}  // namespace hexad::io
