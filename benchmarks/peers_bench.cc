// What does hexad do beside what one would use instead, and beside the bare disk, in the same
// minutes of one disk and with the same promise: durable when it returns? doc/benchmark_suite.md
// has the method.
//
// Prints a markdown table; --json FILE also writes the figures for programs. All files lie in one
// directory of its own under --dir, and are removed.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/units.h"
#include "benchmarks/commit_path/fio.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/program.h"
#include "benchmarks/peers/rows.h"

namespace {

using namespace hexad;

void measure_and_print(const bench::ProgramOptions& options, std::uint64_t objects) {
  const bench::WorkingDirectory directory(options.directory);
  const std::optional<std::string> fio = bench::find_fio("peers_bench");
  bench::PeersPlan plan;
  plan.directory = directory.path();
  plan.device_size = options.device_mib * 1_MiB;
  plan.small_objects = std::max<std::uint64_t>(objects, options.repetitions);
  plan.large_objects = std::max<std::uint64_t>(objects / 5, options.repetitions);
  plan.seconds = options.seconds;
  plan.repetitions = options.repetitions;
  plan.fio = fio.has_value();
  // A moment is not worth emptying the caches of the whole machine.
  plan.drop_caches = !options.quick && bench::may_drop_caches();
  plan.only = options.only;
  // hexad's files and fio's; of each other peer the objects of each kind, and garbage as much.
  const std::uint64_t live = plan.small_objects * 8_KiB + plan.large_objects * 128_KiB;
  bench::check_room(plan.directory, 7 * plan.device_size + 16 * live + 1_GiB,
                    "--device-mib, --objects or --dir");
  bench::Settings settings = bench::head_of_table(
      options, plan.directory,
      {{"fio", fio.value_or("missing")},
       {"objects", fmt::format("{} names of 4 KiB, {} of 64 KiB, incompressible",
                               plan.small_objects, plan.large_objects)},
       {"runs", fmt::format("medians of {} rounds of all, {:g} s each (least..most)",
                            plan.repetitions, plan.seconds)},
       {"caches before gets", plan.drop_caches ? "dropped, hexad's own too" : "not dropped"}});
  for (auto& line : bench::peer_settings()) settings.push_back(std::move(line));
  bench::print_rows(options, settings, bench::measure_peers(plan));
}

}  // namespace

int main(int argc, char** argv) {
  bench::ProgramOptions defaults;
  defaults.device_mib = 1024;
  defaults.seconds = 3;
  bench::Program program("Measures hexad beside its peers on the same disk.", defaults);
  std::uint64_t objects = 20'000;
  auto* given = program.app().add_option("--objects", objects, "names of 4 KiB; 64 KiB: a fifth");
  CLI11_PARSE(program.app(), argc, argv);
  const bench::ProgramOptions& options = program.options({64, 0.05});
  if (options.quick && given->empty()) objects = 200;
  measure_and_print(options, objects);
  return 0;
}
