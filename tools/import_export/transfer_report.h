// What an import or export did: the numbers, and what was left out and why.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/exit_code.h"
#include "tools/cli/output.h"

namespace hexad::tools {

class TransferReport {
 public:
  std::uint64_t files = 0;  // all names of regular files that were stored or written
  std::uint64_t directories = 0;
  std::uint64_t symlinks = 0;
  std::uint64_t links = 0;      // of those names: further ones of a file, which share its data
  std::uint64_t bytes = 0;      // of files
  std::uint64_t unchanged = 0;  // --update: what is there already
  std::uint64_t deleted = 0;
  std::uint64_t skipped = 0;     // devices, sockets, pipes, files of the pool itself, mounts
  std::uint64_t refused = 0;     // names that cannot be
  std::uint64_t failed = 0;      // could not be read or written
  std::uint64_t incomplete = 0;  // is there, but for something that the report names
  // Of an export: names with an owner that only root could have set, files without their
  // set-user-id and set-group-id bits, and times that the file system has rounded.
  std::uint64_t other_owner = 0;
  std::uint64_t without_set_id = 0;
  std::uint64_t rounded_times = 0;

  // Each counts the name, warns about it, with a hint the first time that it comes, and keeps the
  // first kMaxProblems for --json.
  void skip(Output& out, std::string_view name, const std::string& why);
  void refuse(Output& out, std::string_view name, const Error& error);
  // A local file.
  void fail_local(Output& out, std::string_view name, const Error& error);
  // The store could not give or take the object: its code decides the exit code.
  void fail_store(Output& out, std::string_view name, const Error& error);
  // Its data is there, but something that goes with it is not.
  void lose(Output& out, std::string_view name, const Error& error);

  // Whether any name was dealt with, if only found unchanged.
  bool has_done_anything() const {
    return files + directories + symlinks + unchanged + deleted > 0;
  }
  // 0, or the code of the first failure of the store, or 7 when anything was refused, failed or is
  // incomplete.
  int exit_code() const;
  // Prints the JSON object or the note. `verb_done`: "imported", "exported".
  void print(Output& out, const std::string& verb_done) const;

 private:
  void problem(Output& out, std::string_view name, const std::string& kind, const Error& error);

  struct Problem {
    std::string name;
    std::string kind;  // "skipped", "refused", "failed", "incomplete"
    std::string why;
    std::string hint;  // what to do; may be empty
  };
  static constexpr std::size_t kMaxProblems = 1000;
  std::vector<Problem> problems_;
  std::set<std::string> said_hints_;  // of thousands of names most have the same
  int store_exit_code_ = kExitOk;
};

}  // namespace hexad::tools
