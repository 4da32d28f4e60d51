// What fsck and scrub have found, for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/hexad.h"
#include "tools/cli/output.h"

namespace hexad::tools {

Json findings_as_json(const std::vector<Finding>& findings);
// A line each.
void print_findings(Output& out, const std::vector<Finding>& findings);
// Of cells that a crash has left torn (FsckReport::torn_cells), in a store with such a status: that
// it is no damage, and what writes them again.
std::string describe_torn(std::uint64_t cells, const StoreStatus& status);

}  // namespace hexad::tools
