#include "benchmarks/commit_path/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace hexad::bench {

namespace {

std::string kernel() {
  utsname name{};
  uname(&name);
  return fmt::format("{} {}", name.sysname, name.release);
}

// The line of /proc/self/mounts that covers the directory: device, type and options.
std::string disk_of(const std::filesystem::path& directory) {
  std::ifstream mounts("/proc/self/mounts");
  const std::string path = std::filesystem::canonical(directory).string();
  std::string device;
  std::string point;
  std::string type;
  std::string options;
  std::string rest;
  std::string best = "unknown";
  std::size_t longest = 0;
  while (mounts >> device >> point >> type >> options && std::getline(mounts, rest)) {
    const bool covers = path.starts_with(point) &&
                        (point == "/" || path.size() == point.size() || path[point.size()] == '/');
    if (!covers || point.size() < longest) continue;
    longest = point.size();
    best = fmt::format("{} {} ({})", device, type, options);
  }
  return best;
}

std::string load_average() {
  std::array<double, 1> load{};
  return getloadavg(load.data(), 1) == 1 ? fmt::format("{:.1f}", load[0]) : "unknown";
}

}  // namespace

Settings machine_settings(const std::filesystem::path& directory) {
  return {{"kernel", kernel()},
          {"disk", disk_of(directory)},
          {"processors", fmt::format("{}", std::thread::hardware_concurrency())},
          {"load average at the start", load_average()}};
}

}  // namespace hexad::bench
