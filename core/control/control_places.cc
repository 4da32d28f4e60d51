#include "core/control/control_places.h"

#include "io/lines/line_service.h"

namespace hexad::core {

std::vector<std::string> control_directories(const std::vector<std::string>& fast_directories,
                                             const Uuid& store,
                                             const std::vector<unsigned>& users) {
  std::vector<std::string> directories;
  if (!fast_directories.empty()) directories.push_back(fast_directories.front() + "/control");
  for (const unsigned user : users) {
    for (const std::string& base : io::runtime_directories(user)) {
      directories.push_back(base + "/hexad-" + std::to_string(user) + "-" + to_string(store));
    }
  }
  return directories;
}

}  // namespace hexad::core
