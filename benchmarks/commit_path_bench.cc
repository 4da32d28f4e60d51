// What do commits, gets and deletes cost beside the bare disk of the same minute? Each row of
// architecture.md's figures for the commit path, in one run, with fio on written files of the same
// disk in between. doc/benchmarks.md has the method.
//
// Prints a markdown table; --json FILE also writes the figures for programs. All files lie in one
// directory of its own under --dir, and are removed.

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "benchmarks/commit_path/fio.h"
#include "benchmarks/commit_path/machine.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/report.h"
#include "benchmarks/commit_path/rows.h"

namespace {

using namespace hexad;

struct Arguments {
  std::string directory = "/var/tmp";
  std::string json;
  std::string commit = "not given";
  std::string only;
  std::uint64_t device_mib = 2048;
  double seconds = 5;
  double long_seconds = 60;
  unsigned repetitions = 3;
  bool quick = false;
  bool no_fio = false;
};

// What lies on the disk at once at most: the pool and fio's file, and a pool beside them.
void check_room(const bench::Plan& plan) {
  struct statvfs disk {};
  if (statvfs(plan.directory.c_str(), &disk) != 0) bench::die("cannot ask the disk for its room");
  const std::uint64_t room = disk.f_bavail * disk.f_frsize;
  const std::uint64_t need = 8 * plan.device_size + 1_GiB;
  if (room < need) {
    bench::die(fmt::format("{} has {} MiB free and {} are needed; use --device-mib or --dir",
                           plan.directory.string(), room / 1_MiB, need / 1_MiB));
  }
}

bench::Settings settings_of(const Arguments& arguments, const bench::Plan& plan,
                            const std::optional<std::string>& fio) {
  bench::Settings settings;
  if (arguments.quick) settings.emplace_back("a quick run", "these figures mean nothing");
  settings.emplace_back("commit", arguments.commit);
  const bench::Settings machine = bench::machine_settings(plan.directory);
  settings.insert(settings.end(), machine.begin(), machine.end());
  const bench::Settings rest = {
      {"fio", fio.value_or("missing")},
      {"pool", fmt::format("4+2 over six files of {} MiB, block and unit 4 KiB, one fast "
                           "directory, log on three devices, all other options default",
                           plan.device_size / 1_MiB)},
      {"data", "incompressible"},
      {"runs", fmt::format("medians of {} in turn with fio, {:g} s each (least..most)",
                           plan.repetitions, plan.seconds)}};
  settings.insert(settings.end(), rest.begin(), rest.end());
  return settings;
}

// Loud when there is none: a table without ratios looks complete.
std::optional<std::string> find_fio(const Arguments& arguments) {
  if (arguments.no_fio) return std::nullopt;
  std::optional<std::string> version = bench::fio_version();
  if (!version.has_value()) {
    std::fprintf(stderr,
                 "commit_path_bench: *** there is no fio: NO RATIO IS MEASURED ***\n"
                 "commit_path_bench: *** it is a Debian package: apt-get install fio ***\n");
  }
  return version;
}

int run(const Arguments& arguments) {
  const bench::WorkingDirectory directory(arguments.directory);
  const std::optional<std::string> fio = find_fio(arguments);
  bench::Plan plan;
  plan.directory = directory.path();
  plan.device_size = arguments.device_mib * 1_MiB;
  plan.space_bytes = plan.device_size / 16;
  plan.seconds = arguments.seconds;
  plan.long_seconds = arguments.long_seconds;
  plan.repetitions = arguments.repetitions;
  plan.fio = fio.has_value();
  plan.only = arguments.only;
  check_room(plan);
  const bench::Settings settings = settings_of(arguments, plan, fio);
  const std::vector<bench::Row> rows = bench::measure(plan);
  if (rows.empty()) bench::die("there is no row '" + arguments.only + "'");
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
  if (const char* directory = std::getenv("TEST_TMPDIR")) arguments.directory = directory;
  CLI::App app("Measures the commit path beside fio on the same disk.");
  app.add_option("--dir", arguments.directory, "directory on the disk to be measured");
  app.add_option("--json", arguments.json, "also write the figures to this file");
  app.add_option("--commit", arguments.commit, "what is measured, for the table's head");
  app.add_option("--only", arguments.only, "one row, by its id in the JSON");
  auto* device = app.add_option("--device-mib", arguments.device_mib, "size of each device file");
  auto* seconds = app.add_option("--seconds", arguments.seconds, "of each run");
  auto* longer = app.add_option("--long-seconds", arguments.long_seconds, "of the long run");
  app.add_option("--repetitions", arguments.repetitions)->check(CLI::Range(1, 100));
  app.add_flag("--quick", arguments.quick, "a moment each: shows that it works, measures nothing");
  app.add_flag("--no-fio", arguments.no_fio, "leave fio out");
  CLI11_PARSE(app, argc, argv);
  if (arguments.quick) {
    if (device->empty()) arguments.device_mib = 256;
    if (seconds->empty()) arguments.seconds = 0.1;
    if (longer->empty()) arguments.long_seconds = 0.3;
  }
  return run(arguments);
}
