#include "tools/bench/workload.h"

#include <array>

#include "tools/cli/names.h"

namespace hexad::tools {

namespace {

constexpr std::array<std::string_view, 10> kNames = {
    "put", "get", "write", "read", "randwrite", "randread", "randrw", "delete", "list", "stat"};

}  // namespace

std::span<const std::string_view> workload_names() { return kNames; }

std::string_view to_string(Workload workload) {
  return kNames.at(static_cast<std::size_t>(workload));
}

Result<Workload> parse_workload(std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Workload>(i);
    all += (all.empty() ? "" : ", ") + std::string(kNames[i]);
  }
  return Error{ErrorCode::kInvalidArgument,
               "--rw: \"" + display_name(std::string(text)) + "\" is no workload",
               "One of: " + all};
}

}  // namespace hexad::tools
