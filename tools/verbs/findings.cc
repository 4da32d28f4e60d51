#include "tools/verbs/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/device_path.h"

namespace hexad::tools {

Json findings_as_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back(Json{{"subject", finding.subject},
                        {"problem", finding.problem},
                        {"repaired", finding.repaired}});
  }
  return list;
}

void print_findings(Output& out, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    out.write(out.typed(fmt::format("{}: {}{}\n", finding.subject, finding.problem,
                                    finding.repaired ? " (repaired)" : "")));
  }
}

std::string describe_torn(std::uint64_t cells, const StoreStatus& status) {
  const bool in_snapshot =
      std::any_of(status.devices.begin(), status.devices.end(),
                  [](const DeviceStatus& device) { return io::is_snapshot_path(device.path); });
  return fmt::format(
      "{} cells of the last commits are not whole, as a crash leaves them, and the others make up "
      "for them: {}",
      cells,
      in_snapshot ? "they stay so in a snapshot; in the pool that it was taken of, its writer or "
                    "the next command that writes to it writes them"
                  : "the next command that writes to the pool writes them again");
}

}  // namespace hexad::tools
