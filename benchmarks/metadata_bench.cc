// What does metadata take, what does keeping it safe cost, and how soon is it back after a crash?
// doc/benchmarks.md has the method.
//
// Prints a markdown table; --json FILE also writes the figures for programs. All files lie in one
// directory of its own under --dir, and are removed.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "base/units.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/program.h"
#include "benchmarks/metadata/many_objects.h"
#include "benchmarks/metadata/rows.h"

namespace {

using namespace hexad;

void measure_and_print(const bench::ProgramOptions& options, std::uint64_t objects) {
  const bench::WorkingDirectory directory(options.directory);
  bench::MetadataPlan plan;
  plan.directory = directory.path();
  plan.program = std::filesystem::read_symlink("/proc/self/exe");
  plan.device_size = options.device_mib * 1_MiB;
  plan.many = objects;
  plan.large_objects = plan.device_size / 64_KiB;  // a quarter of the capacity
  plan.small_objects = plan.device_size / 8_KiB;   // half as much
  plan.seconds = options.seconds;
  plan.repetitions = options.repetitions;
  plan.only = options.only;
  // What lies on the disk at once at most: a pool, and the index of many objects.
  bench::check_room(plan.directory, 6 * plan.device_size + 500 * plan.many + 1_GiB,
                    "--device-mib, --objects or --dir");
  const bench::Settings settings = bench::head_of_table(
      options, plan.directory,
      {{"pool", fmt::format("4+2 over six files of {} MiB, one fast directory, crc32c per 16 KiB",
                            options.device_mib)}});
  bench::print_rows(options, settings, bench::measure_metadata(plan));
}

}  // namespace

int main(int argc, char** argv) {
  bench::ProgramOptions defaults;
  defaults.seconds = 10;
  bench::Program program("Measures metadata: its size, what keeping it costs, how soon it is back.",
                         defaults);
  CLI::App& app = program.app();
  std::uint64_t many_objects = 10'000'000;
  bench::ManyObjects many;
  bool no_index = false;
  auto* objects = app.add_option("--objects", many_objects, "of the pool that is reopened");
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
  const bench::ProgramOptions& options = program.options({128, 0.1});
  if (options.quick && objects->empty()) many_objects = 20'000;
  measure_and_print(options, many_objects);
  return 0;
}
