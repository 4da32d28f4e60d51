// The machine that figures were measured on, for the head of their table.
#pragma once

#include <filesystem>

#include "benchmarks/commit_path/report.h"

namespace hexad::bench {

// Kernel, disk and file system of `directory`, processors, load average now.
Settings machine_settings(const std::filesystem::path& directory);

}  // namespace hexad::bench
