// What do gets and puts cost where the metadata is a half, once, twice and four times what the fast
// tier holds? Beside RocksDB over a fast and a slow directory of the same sizes. doc/benchmarks.md
// has the method.
//
// Prints a markdown table; --json FILE also writes the figures for programs. All files lie in one
// directory of its own under --dir, and in one under --fast where that is given, and are removed.

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>

#include "base/units.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/program.h"
#include "benchmarks/tiers/rocksdb_tiers.h"
#include "benchmarks/tiers/rows.h"

int main(int argc, char** argv) {
  using namespace hexad;
  bench::Program program("Measures gets and puts whose metadata does not fit the fast tier.");
  CLI::App& app = program.app();
  bench::TiersPlan plan;
  plan.multiples = {0.5, 1, 2, 4};
  plan.objects = 400'000;
  plan.warm = 60'000;
  plan.look_ups = 10'000;
  std::uint64_t memory_kib = 4096;
  std::string fast;
  app.add_option("--fast", fast, "directory on what is faster than --dir [there, too]");
  auto* objects =
      app.add_option("--objects", plan.objects, "of 100 bytes")->check(CLI::Range(1000, 1 << 30));
  auto* memory =
      app.add_option("--memory-kib", memory_kib, "for pieces of runs, and for RocksDB's blocks");
  app.add_option("--multiples", plan.multiples, "metadata, in multiples of the fast tier")
      ->check(CLI::Range(0.01, 1000.0));
  auto* warm = app.add_option("--warm", plan.warm, "look-ups before those that are measured");
  auto* look_ups = app.add_option("--look-ups", plan.look_ups, "measured, of each kind")
                       ->check(CLI::Range(1, 1 << 30));
  CLI11_PARSE(app, argc, argv);
  const bench::ProgramOptions options = program.options({0, 0.3});
  if (options.quick) {
    if (objects->empty()) plan.objects = 12'000;
    if (memory->empty()) memory_kib = 64;
    if (warm->empty()) plan.warm = 500;
    if (look_ups->empty()) plan.look_ups = 200;
  }
  const bench::WorkingDirectory directory(options.directory);
  plan.slow = directory.path() / "slow";
  std::optional<bench::WorkingDirectory> apart;
  if (!fast.empty()) apart.emplace(fast);
  plan.fast = (fast.empty() ? directory.path() : apart->path()) / "fast";
  plan.memory = memory_kib * 1_KiB;
  plan.seconds = options.seconds;
  plan.repetitions = options.quick ? 1 : options.repetitions;
  plan.only = options.only;
  bench::check_room(directory.path(), plan.objects * 6000 + 2_GiB, "--objects or --dir");
  const bench::Settings settings = bench::head_of_table(
      options, directory.path(),
      {{"pool", fmt::format("4+2 over six files, {} objects of 100 bytes in their records, names "
                            "in no order, {} KiB of memory for pieces of runs, no other cache",
                            plan.objects, memory_kib)},
       {"fast tier", fast.empty() ? "on the same disk" : fast},
       {"look-ups",
        fmt::format("one at a time, {} before {} that are measured", plan.warm, plan.look_ups)},
       {"puts",
        "overwrites, uniform, transactions of 64, 16 in flight; 16 MiB for pieces of runs, which "
        "every store has"},
       {"RocksDB", bench::rocksdb_tiers_settings()}});
  const std::vector<bench::Row> rows = bench::measure_tiers(plan);
  if (rows.empty()) bench::die("there is no row '" + options.only + "'");
  std::printf("%s", bench::tiers_table(settings, rows).c_str());
  bench::write_json(options, settings, rows);
  return 0;
}
