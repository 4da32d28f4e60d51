// What a run of a load has shown, as an object of JSON and as text.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/hexad.h"
#include "tools/bench/job.h"
#include "tools/bench/load.h"

namespace hexad::tools {

// What a store and its devices have counted since it was opened.
struct Traffic {
  std::vector<DeviceStatus> devices;
  std::map<std::string, std::uint64_t> counters;

  static Traffic of(Store& store);
  // What came on top. `before` is of the same opening.
  Traffic since(const Traffic& before) const;
};

struct Measured {
  LoadResult load;
  double seconds = 0;  // that operations were counted for
  double cpu_us = 0;   // of the whole process in that time
  Traffic traffic;     // of all operations, those in flight at the end included
};

// What holds for all jobs of an opening.
struct Opened {
  std::string log_durability;
  std::string hedged_reads = "off";
  std::uint64_t cache_size = 0;  // bytes
};

// All of it; doc/command_line.md has the keys.
nlohmann::ordered_json figures_json(const Job& job, const LoadOptions& options,
                                    const Opened& opened, const Measured& measured);
// For people, several lines.
std::string figures_text(const Job& job, const LoadOptions& options, const Opened& opened,
                         const Measured& measured);
// One line for each job below a heading.
std::string table_heading();
std::string table_line(const Job& job, const LoadOptions& options, const Measured& measured);

}  // namespace hexad::tools
