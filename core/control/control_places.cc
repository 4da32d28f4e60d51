#include "core/control/control_places.h"

#include <charconv>
#include <string_view>

#include "io/lines/line_service.h"

namespace hexad::core {

namespace {

constexpr const char* kShared = "/hexad-";  // how a name begins in what users' processes share

}  // namespace

std::vector<std::string> control_directories(const std::vector<std::string>& fast_directories,
                                             const Uuid& store,
                                             const std::vector<unsigned>& users) {
  std::vector<std::string> directories;
  if (!fast_directories.empty()) directories.push_back(fast_directories.front() + "/control");
  for (const unsigned user : users) {
    for (const std::string& base : io::runtime_directories(user)) {
      directories.push_back(base + kShared + std::to_string(user) + "-" + to_string(store));
    }
  }
  return directories;
}

std::optional<unsigned> user_of_place(const std::string& directory) {
  const std::size_t slash = directory.rfind('/');
  if (slash == std::string::npos || !directory.substr(slash).starts_with(kShared)) {
    return std::nullopt;
  }
  const std::string name = directory.substr(slash + std::string_view(kShared).size());
  unsigned user = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), user);
  if (error != std::errc() || end == name.data() + name.size() || *end != '-') return std::nullopt;
  return user;
}

}  // namespace hexad::core
