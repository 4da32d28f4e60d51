// What a window of a measurement with very many objects has shown, as an object of JSON and as a
// line of a table.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/hexad.h"
#include "tools/bench/figures.h"
#include "tools/bench/histogram.h"

namespace hexad::tools {

// A store that was left without being closed, opened, closed and opened again, and then looked at.
struct Reopening {
  double after_leaving_s = 0;      // the first opening, which recovers
  std::uint64_t transactions = 0;  // that it found in the log
  std::uint64_t log_bytes = 0;     // of one copy
  double close_s = 0;              // with a checkpoint of what was found
  Traffic traffic;                 // of that checkpoint, and of merges beside it
  double after_closing_s = 0;      // the second opening
  SpaceUsage space;                // when all of the metadata is in the runs
  double space_s = 0;              // what finding that out took: it looks at each object

  // What lies on the data devices, parity and padding included, bytes.
  std::uint64_t run_bytes() const;
  std::uint64_t data_bytes() const;
};

struct ScaleWindow {
  std::uint64_t objects = 0;  // in the pool, at its end
  std::uint64_t puts = 0;
  double put_s = 0;       // until all were durable
  double put_cpu_us = 0;  // of the process in the whole window, but for the looks
  Histogram get;          // nanoseconds
  Histogram stat;
  Traffic traffic;               // of the window
  std::uint64_t memory = 0;      // anonymous, bytes
  std::uint64_t disk = 0;        // bytes on disk, of the whole folder
  std::uint64_t not_stored = 0;  // bytes of zeros that the devices left out
  std::optional<Reopening> reopening;
};

// All of it; doc/command_line.md has the keys.
nlohmann::ordered_json scale_json(const ScaleWindow& window);
// Two lines, and one for each window below them, or three where the pool was opened again.
std::string scale_heading();
std::string scale_line(const ScaleWindow& window);

// Memory of this process that no file is behind, bytes. Errors: kIo.
Result<std::uint64_t> anonymous_memory();

}  // namespace hexad::tools
