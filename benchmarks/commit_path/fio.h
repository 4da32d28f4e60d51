// fio, as a program of its own: what the same disk does in the same minute without a store.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hexad::bench {

struct FioResult {
  double operations_per_second = 0;
  double bytes_per_second = 0;
  double p50_us = 0;  // of completion, the durable part of a dsync write included
  double p95_us = 0;
  double p99_us = 0;
};

// "fio-3.33", or nothing when there is none on the PATH.
std::optional<std::string> fio_version();
// The same; without one `program` says loudly on standard error what is missing: a table without
// ratios looks complete.
std::optional<std::string> find_fio(const std::string& program);
// Runs fio with one job of direct I/O for `seconds`, or longer where nothing has ended by then.
// `files` exist and are written in full;
// `arguments` as on fio's command line.
FioResult run_fio(const std::vector<std::string>& files, double seconds,
                  const std::vector<std::string>& arguments);
// Out of fio's --output-format=json. Nothing: not such an output.
std::optional<FioResult> parse_fio(const std::string& output);

}  // namespace hexad::bench
