// What do commits, gets and deletes cost beside the bare disk of the same minute? Each row of
// architecture.md's figures for the commit path, in one run, with fio on written files of the same
// disk in between. doc/benchmarks.md has the method.
//
// Prints a markdown table; --json FILE also writes the figures for programs. All files lie in one
// directory of its own under --dir, and are removed.

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/units.h"
#include "benchmarks/commit_path/fio.h"
#include "benchmarks/commit_path/kernel_counts.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/program.h"
#include "benchmarks/commit_path/rows.h"

namespace {

using namespace hexad;

void measure_and_print(const bench::ProgramOptions& options, double long_seconds, bool no_fio) {
  const bench::WorkingDirectory directory(options.directory);
  const std::optional<std::string> fio =
      no_fio ? std::nullopt : bench::find_fio("commit_path_bench");
  bench::Plan plan;
  plan.directory = directory.path();
  plan.device_size = options.device_mib * 1_MiB;
  plan.space_bytes = plan.device_size / 16;
  plan.seconds = options.seconds;
  plan.long_seconds = long_seconds;
  plan.repetitions = options.repetitions;
  plan.fio = fio.has_value();
  plan.only = options.only;
  // What lies on the disk at once at most: the pool and fio's file, and a pool beside them.
  bench::check_room(plan.directory, 8 * plan.device_size + 1_GiB, "--device-mib or --dir");
  const bench::Settings settings = bench::head_of_table(
      options, plan.directory,
      {{"fio", fio.value_or("missing")},
       {"pool", fmt::format("4+2 over six files of {} MiB, block and unit 4 KiB, one fast "
                            "directory, log there and on three devices, all other options default",
                            options.device_mib)},
       {"data", "incompressible"},
       {"runs", fmt::format("medians of {} in turn with fio, {:g} s each (least..most)",
                            plan.repetitions, plan.seconds)}});
  bench::print_rows(options, settings, bench::measure(plan));
}

}  // namespace

int main(int argc, char** argv) {
  bench::count_system_calls();
  bench::Program program("Measures the commit path beside fio on the same disk.");
  double long_seconds = 60;
  bool no_fio = false;
  auto* longer = program.app().add_option("--long-seconds", long_seconds, "of the long run");
  program.app().add_flag("--no-fio", no_fio, "leave fio out");
  CLI11_PARSE(program.app(), argc, argv);
  const bench::ProgramOptions& options = program.options({256, 0.1});
  if (options.quick && longer->empty()) long_seconds = 0.3;
  measure_and_print(options, long_seconds, no_fio);
  return 0;
}
