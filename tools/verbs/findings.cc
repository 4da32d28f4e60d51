#include "tools/verbs/findings.h"

#include <fmt/format.h>

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

}  // namespace hexad::tools
