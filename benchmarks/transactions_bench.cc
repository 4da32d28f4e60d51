// How many small transactions of metadata are done in a second, beside stores of keys and values,
// and what do a page of names, a clone of a large omap, and a split cost? doc/benchmarks.md has the
// method.
//
// Prints a markdown table; --json FILE also writes the figures for programs. All files lie in one
// directory of its own under --dir, and are removed.

#include <fmt/format.h>

#include "base/units.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/program.h"
#include "benchmarks/transactions/rows.h"

int main(int argc, char** argv) {
  using namespace hexad;
  bench::ProgramOptions defaults;
  defaults.seconds = 3;
  bench::Program program(
      "Measures transactions of metadata beside LMDB and RocksDB, listings and clones.", defaults);
  CLI::App& app = program.app();
  bench::TransactionsPlan plan;
  plan.objects = 10'000'000;
  plan.keys = 1'000'000;
  auto* objects = app.add_option("--objects", plan.objects, "of the large collection");
  auto* keys = app.add_option("--keys", plan.keys, "of the omap that is cloned");
  CLI11_PARSE(app, argc, argv);
  const bench::ProgramOptions& options = program.options({128, 0.02});
  if (options.quick) {
    if (objects->empty()) plan.objects = 20'000;
    if (keys->empty()) plan.keys = 2000;
  }
  const bench::WorkingDirectory directory(options.directory);
  plan.directory = directory.path();
  plan.device_size = options.device_mib * 1_MiB;
  plan.seconds = options.seconds;
  plan.repetitions = options.repetitions;
  plan.only = options.only;
  bench::Settings settings = bench::head_of_table(
      options, plan.directory,
      {{"pool", fmt::format("4+2 over six files of {} MiB, one fast directory, copies of the log "
                            "as by default",
                            options.device_mib)},
       {"key-value stores", "one directory each on the same disk, one copy of all"}});
  for (auto& line : bench::key_value_settings()) settings.push_back(std::move(line));
  bench::print_rows(options, settings, bench::measure_transactions(plan));
  return 0;
}
