#include "io/system.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "io/os_error.h"

namespace hexad::io {

Status System::make_directory(const std::string& path) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) return os_error(error.value(), "cannot create directory " + parent.string());
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  const int reason = errno;
  if (reason == EEXIST && std::filesystem::is_directory(path, error)) return {};
  return os_error(reason, "cannot create directory " + path);
}

Status System::remove_created(const std::string&) { return {}; }

}  // namespace hexad::io
