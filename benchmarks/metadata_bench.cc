// What does metadata take, what does keeping it safe cost, and how soon is it back after a crash?
// doc/benchmarks.md has the method.
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
#include <string>
#include <vector>

#include "base/units.h"
#include "benchmarks/commit_path/machine.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/metadata/many_objects.h"
#include "benchmarks/metadata/rows.h"

namespace {

using namespace hexad;

struct Arguments {
  std::string directory = "/var/tmp";
  std::string json;
  std::string commit = "not given";
  std::string only;
  std::uint64_t device_mib = 2048;
  std::uint64_t objects = 10'000'000;
  double seconds = 10;
  unsigned repetitions = 3;
  bool quick = false;
};

// What lies on the disk at once at most: a pool, and the index of many objects.
void check_room(const bench::MetadataPlan& plan) {
  struct statvfs disk {};
  if (statvfs(plan.directory.c_str(), &disk) != 0) bench::die("cannot ask the disk for its room");
  const std::uint64_t room = disk.f_bavail * disk.f_frsize;
  const std::uint64_t need = 6 * plan.device_size + 500 * plan.many + 1_GiB;
  if (room < need) {
    bench::die(
        fmt::format("{} has {} MiB free and {} are needed; use --device-mib, --objects or "
                    "--dir",
                    plan.directory.string(), room / 1_MiB, need / 1_MiB));
  }
}

int run(const Arguments& arguments) {
  const bench::WorkingDirectory directory(arguments.directory);
  bench::MetadataPlan plan;
  plan.directory = directory.path();
  plan.program = std::filesystem::read_symlink("/proc/self/exe");
  plan.device_size = arguments.device_mib * 1_MiB;
  plan.many = arguments.objects;
  plan.large_objects = plan.device_size / 64_KiB;  // a quarter of the capacity
  plan.small_objects = plan.device_size / 8_KiB;   // half as much
  plan.seconds = arguments.seconds;
  plan.repetitions = arguments.repetitions;
  plan.only = arguments.only;
  check_room(plan);
  bench::Settings settings;
  if (arguments.quick) settings.emplace_back("a quick run", "these figures mean nothing");
  settings.emplace_back("commit", arguments.commit);
  for (const auto& line : bench::machine_settings(plan.directory)) settings.push_back(line);
  settings.emplace_back(
      "pool", fmt::format("4+2 over six files of {} MiB, one fast directory, crc32c per 16 KiB",
                          arguments.device_mib));
  const std::vector<bench::Row> rows = bench::measure_metadata(plan);
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
  bench::ManyObjects many;
  bool no_index = false;
  if (const char* directory = std::getenv("TEST_TMPDIR")) arguments.directory = directory;
  CLI::App app("Measures metadata: its size, what keeping it costs, how soon it is back.");
  app.add_option("--dir", arguments.directory, "directory on the disk to be measured");
  app.add_option("--json", arguments.json, "also write the figures to this file");
  app.add_option("--commit", arguments.commit, "what is measured, for the table's head");
  app.add_option("--only", arguments.only, "one row, by its id in the JSON");
  auto* device = app.add_option("--device-mib", arguments.device_mib, "size of each device file");
  auto* objects = app.add_option("--objects", arguments.objects, "of the pool that is reopened");
  auto* seconds = app.add_option("--seconds", arguments.seconds, "of each timed run");
  app.add_option("--repetitions", arguments.repetitions)->check(CLI::Range(1, 100));
  app.add_flag("--quick", arguments.quick, "a moment each: shows that it works, measures nothing");
  // The steps that are processes of their own.
  auto* fill = app.add_subcommand("fill")->group("");
  auto* open = app.add_subcommand("open")->group("");
  for (auto* step : {fill, open}) {
    step->add_option("directory", many.directory)->required();
    step->add_option("count", many.count)->required();
    step->add_option("device_size", many.device_size)->required();
    step->add_flag("--no-index", no_index);
  }
  CLI11_PARSE(app, argc, argv);
  many.index = !no_index;
  if (fill->parsed()) bench::fill_and_die(many);
  if (open->parsed()) {
    std::printf("%s", bench::to_json(bench::open_again(many)).c_str());
    return 0;
  }
  if (arguments.quick) {
    if (device->empty()) arguments.device_mib = 128;
    if (objects->empty()) arguments.objects = 20'000;
    if (seconds->empty()) arguments.seconds = 0.1;
  }
  return run(arguments);
}
