// What the programs of //benchmarks have in common that print tables of their own: their options,
// the head of the table, and how rows leave.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/commit_path/report.h"

namespace hexad::bench {

struct ProgramOptions {
  std::string directory = "/var/tmp";  // where the program makes one of its own
  std::string json;                    // file; empty: none
  std::string commit = "not given";
  std::string only;  // a row's id; empty: all
  std::uint64_t device_mib = 2048;
  double seconds = 5;
  unsigned repetitions = 3;
  bool quick = false;
};

// The program, with its options declared. Both live until the end of main().
class Program {
 public:
  explicit Program(const std::string& description, ProgramOptions defaults = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  CLI::App& app() { return app_; }
  // After parsing. `quick`: device size and seconds of a quick run, where they were not given.
  struct Quick {
    std::uint64_t device_mib;
    double seconds;
  };
  const ProgramOptions& options(const Quick& quick);

 private:
  CLI::App app_;
  ProgramOptions options_;
  CLI::Option* device_;
  CLI::Option* seconds_;
};

// Ends the program when there is less room below `directory` than `need` bytes. `options`: the
// words of those that would help.
void check_room(const std::filesystem::path& directory, std::uint64_t need,
                const std::string& options);
// A warning on quick figures, the commit, the machine; then `rest`.
Settings head_of_table(const ProgramOptions& options, const std::filesystem::path& directory,
                       const Settings& rest);
// Writes the figures for programs where that is asked for.
void write_json(const ProgramOptions& options, const Settings& settings,
                const std::vector<Row>& rows);
// Prints the table, and writes the JSON where that is asked for. Ends the program when no row was
// measured.
void print_rows(const ProgramOptions& options, const Settings& settings,
                const std::vector<Row>& rows);

}  // namespace hexad::bench
