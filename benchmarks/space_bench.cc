// What does it cost to overwrite objects in a store that is nearly full: bytes written by cause,
// rates, the slowest puts, space? Beside RocksDB's BlobDB and plain files with the same objects on
// the same disk. doc/benchmarks.md has the method.
//
// Prints a markdown table; --json FILE also writes the figures for programs. All files lie in one
// directory of its own under --dir, and are removed.

#include <fmt/format.h>

#include <cstdio>

#include "base/units.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/program.h"
#include "benchmarks/space/rows.h"

int main(int argc, char** argv) {
  using namespace hexad;
  bench::ProgramOptions defaults;
  defaults.device_mib = 256;
  defaults.seconds = 600;
  bench::Program program("Measures what it costs to overwrite objects in a store that is full.",
                         defaults);
  CLI::App& app = program.app();
  bench::SpacePlan plan;
  plan.sizes = bench::space_sizes();
  plan.loads = bench::space_loads();
  plan.fills = {10, 50, 75, 85, 90, 95};
  plan.warm_laps = 2;
  plan.laps = 2;
  auto* sizes = app.add_option("--sizes", plan.sizes, "of objects: 4k 16k 64k mixed")
                    ->check(CLI::IsMember(plan.sizes));
  auto* loads =
      app.add_option("--loads", plan.loads, "what is put: uniform 90:10 zipf0.8 zipf0.99 zipf1.2")
          ->check(CLI::IsMember(plan.loads));
  auto* fills =
      app.add_option("--fills", plan.fills, "percent of what fits")->check(CLI::Range(1, 100));
  auto* warm = app.add_option("--warm-laps", plan.warm_laps, "of overwriting, before each row");
  auto* laps = app.add_option("--laps", plan.laps, "of overwriting, measured");
  app.add_option("--callers", plan.callers, "that put")->check(CLI::Range(1, 1024));
  CLI11_PARSE(app, argc, argv);
  bench::ProgramOptions options = program.options({64, 120});
  if (options.quick) {
    if (sizes->empty()) plan.sizes = {"4k", "64k"};
    if (loads->empty()) plan.loads = {"uniform", "90:10", "zipf0.99"};
    if (fills->empty()) plan.fills = {10, 50, 85, 90};
    if (warm->empty()) plan.warm_laps = 1;
    if (laps->empty()) plan.laps = 1;
  }
  options.quick = false;  // fewer rows of a smaller pool, which mean what they say
  const bench::WorkingDirectory directory(options.directory);
  plan.directory = directory.path();
  plan.device_size = options.device_mib * 1_MiB;
  plan.seconds = options.seconds;
  plan.only = options.only;
  // hexad's files, and the same objects in another store with as much garbage again.
  bench::check_room(plan.directory, 14 * plan.device_size + 1_GiB, "--device-mib or --dir");
  const bench::Settings settings = bench::head_of_table(
      options, plan.directory,
      {{"pool", fmt::format("4+2 over six files of {} MiB and one fast directory, all options at "
                            "their defaults",
                            options.device_mib)},
       {"load", fmt::format("{} callers overwrite whole objects, incompressible, each put durable; "
                            "{:g} laps before each row, {:g} measured",
                            plan.callers, plan.warm_laps, plan.laps)}});
  const std::vector<bench::Row> rows = bench::measure_space_curve(plan);
  if (rows.empty()) bench::die("there is no row '" + plan.only + "'");
  std::printf("%s", bench::space_curve(settings, rows).c_str());
  bench::write_json(options, settings, rows);
  return 0;
}
