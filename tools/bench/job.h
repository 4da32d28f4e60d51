// One run of a load, as a user asks for it: on the command line, or as a section of a job file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/clock.h"
#include "tools/bench/load.h"
#include "tools/cli/arguments.h"

namespace hexad::tools {

struct Job {
  std::string name;  // of its section; empty on the command line
  std::string workload = "put";
  std::string durability = "durable";
  std::uint64_t block = 4096;           // bytes
  std::uint64_t object_size = 1 << 20;  // bytes, of the objects that ranges lie in
  std::uint64_t objects = 1000;
  std::uint64_t threads = 1;
  std::uint64_t depth = 1;
  std::uint64_t batch = 1;
  double runtime_s = 10;
  double zipf = 0;
  std::uint64_t read_percent = 50;
  std::uint64_t compressible_percent = 0;
  std::uint64_t seed = 0;

  // The options of a job. The job outlives the arguments.
  void declare(Arguments& arguments);
  // What the options mean. Errors: kInvalidArgument, which names the option.
  Result<LoadOptions> load(const std::string& collection) const;
  io::Nanos runtime() const { return static_cast<io::Nanos>(runtime_s * 1e9); }
};

// Sections of a job file: [name], then lines "option = value", options as on the command line
// without their dashes. What stands in [global] holds for all sections behind it. A # begins a
// comment; empty lines count for nothing. `defaults`: what holds when the file says nothing.
// Errors: kInvalidArgument, with the line or the section.
Result<std::vector<Job>> parse_jobs(const std::string& text, const Job& defaults);

}  // namespace hexad::tools
