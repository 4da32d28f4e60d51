// How many small transactions of metadata are done in a second, beside stores of keys and values,
// and what do a page of names, a clone of a large omap, and a split cost? doc/benchmarks.md has the
// method.
//
// Prints a markdown table; --json FILE also writes the figures for programs. All files lie in one
// directory of its own under --dir, and are removed.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/units.h"
#include "benchmarks/commit_path/machine.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/transactions/rows.h"

namespace {

using namespace hexad;

struct Arguments {
  std::string directory = "/var/tmp";
  std::string json;
  std::string commit = "not given";
  std::uint64_t device_mib = 2048;
  bool quick = false;
};

int run(const Arguments& arguments, bench::TransactionsPlan plan) {
  const bench::WorkingDirectory directory(arguments.directory);
  plan.directory = directory.path();
  plan.device_size = arguments.device_mib * 1_MiB;
  bench::Settings settings;
  if (arguments.quick) settings.emplace_back("a quick run", "these figures mean nothing");
  settings.emplace_back("commit", arguments.commit);
  for (const auto& line : bench::machine_settings(plan.directory)) settings.push_back(line);
  settings.emplace_back("pool", "4+2 over six files of " + std::to_string(arguments.device_mib) +
                                    " MiB, one fast directory, three copies of the log");
  settings.emplace_back("LMDB, RocksDB",
                        "one file or directory on the same disk, every commit "
                        "synced; one copy");
  settings.emplace_back("RocksDB", bench::rocksdb_setting());
  const std::vector<bench::Row> rows = bench::measure_transactions(plan);
  if (rows.empty()) bench::die("there is no row '" + plan.only + "'");
  std::printf("%s", bench::to_markdown(settings, rows).c_str());
  if (!arguments.json.empty()) {
    std::ofstream out(arguments.json);
    out << bench::to_json(settings, rows);
    if (!out.flush()) bench::die("cannot write " + arguments.json);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  bench::TransactionsPlan plan;
  plan.objects = 10'000'000;
  plan.keys = 1'000'000;
  plan.seconds = 3;
  if (const char* directory = std::getenv("TEST_TMPDIR")) arguments.directory = directory;
  CLI::App app("Measures transactions of metadata beside LMDB and RocksDB, listings and clones.");
  app.add_option("--dir", arguments.directory, "directory on the disk to be measured");
  app.add_option("--json", arguments.json, "also write the figures to this file");
  app.add_option("--commit", arguments.commit, "what is measured, for the table's head");
  app.add_option("--only", plan.only, "one row, by its id in the JSON");
  auto* device = app.add_option("--device-mib", arguments.device_mib, "size of each device file");
  auto* objects = app.add_option("--objects", plan.objects, "of the large collection");
  auto* keys = app.add_option("--keys", plan.keys, "of the omap that is cloned");
  auto* seconds = app.add_option("--seconds", plan.seconds, "of each timed run");
  app.add_option("--repetitions", plan.repetitions)->check(CLI::Range(1, 100));
  app.add_flag("--quick", arguments.quick, "a moment each: shows that it works, measures nothing");
  CLI11_PARSE(app, argc, argv);
  if (arguments.quick) {
    if (device->empty()) arguments.device_mib = 128;
    if (objects->empty()) plan.objects = 20'000;
    if (keys->empty()) plan.keys = 2000;
    if (seconds->empty()) plan.seconds = 0.02;
  }
  return run(arguments, plan);
}
