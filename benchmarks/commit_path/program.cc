#include "benchmarks/commit_path/program.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/units.h"
#include "benchmarks/commit_path/machine.h"
#include "benchmarks/commit_path/must.h"

namespace hexad::bench {

Program::Program(const std::string& description, ProgramOptions defaults)
    : app_(description), options_(std::move(defaults)) {
  if (const char* directory = std::getenv("TEST_TMPDIR")) options_.directory = directory;
  app_.add_option("--dir", options_.directory, "directory on the disk to be measured");
  app_.add_option("--json", options_.json, "also write the figures to this file");
  app_.add_option("--commit", options_.commit, "what is measured, for the table's head");
  app_.add_option("--only", options_.only, "one row, by its id in the JSON");
  device_ = app_.add_option("--device-mib", options_.device_mib, "size of each device file");
  seconds_ = app_.add_option("--seconds", options_.seconds, "of each timed run");
  app_.add_option("--repetitions", options_.repetitions)->check(CLI::Range(1, 100));
  app_.add_flag("--quick", options_.quick, "a moment each: shows that it works, measures nothing");
}

const ProgramOptions& Program::options(const Quick& quick) {
  if (options_.quick && device_->empty()) options_.device_mib = quick.device_mib;
  if (options_.quick && seconds_->empty()) options_.seconds = quick.seconds;
  return options_;
}

void check_room(const std::filesystem::path& directory, std::uint64_t need,
                const std::string& options) {
  struct statvfs disk {};
  if (statvfs(directory.c_str(), &disk) != 0) die("cannot ask the disk for its room");
  const std::uint64_t room = disk.f_bavail * disk.f_frsize;
  if (room < need) {
    die(fmt::format("{} has {} MiB free and {} are needed; use {}", directory.string(),
                    room / 1_MiB, need / 1_MiB, options));
  }
}

Settings head_of_table(const ProgramOptions& options, const std::filesystem::path& directory,
                       const Settings& rest) {
  Settings settings;
  if (options.quick) settings.emplace_back("a quick run", "these figures mean nothing");
  settings.emplace_back("commit", options.commit);
  for (const auto& line : machine_settings(directory)) settings.push_back(line);
  settings.insert(settings.end(), rest.begin(), rest.end());
  return settings;
}

void write_json(const ProgramOptions& options, const Settings& settings,
                const std::vector<Row>& rows) {
  if (options.json.empty()) return;
  std::ofstream out(options.json);
  out << to_json(settings, rows);
  if (!out.flush()) die("cannot write " + options.json);
}

void print_rows(const ProgramOptions& options, const Settings& settings,
                const std::vector<Row>& rows) {
  if (rows.empty()) die("there is no row '" + options.only + "'");
  std::printf("%s", to_markdown(settings, rows).c_str());
  write_json(options, settings, rows);
}

}  // namespace hexad::bench
