// What fsck and scrub have found, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "core/hexad.h"
#include "tools/cli/output.h"

namespace hexad::tools {

Json findings_as_json(const std::vector<Finding>& findings);
// A line each.
void print_findings(Output& out, const std::vector<Finding>& findings);

}  // namespace hexad::tools
