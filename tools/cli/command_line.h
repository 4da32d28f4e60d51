// From words to a verb, its run and an exit code.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/cli/verb.h"

namespace hexad::tools {

// `words`: argv without the program name. `verbs`: in the order in which help shows them. Prints
// help, runs the verb, reports its error; returns the exit code of the process.
int run_command_line(const std::vector<std::string>& words, std::span<const VerbEntry> verbs);

}  // namespace hexad::tools
