// The arguments of one verb: declared once, parsed once. A thin layer over CLI11 that keeps its
// header out of the verbs and its surprises out of object names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace hexad::tools {

enum class Need : std::uint8_t { kOptional, kRequired };

// Variables passed by reference outlive the arguments and get their values in parse().
class Arguments {
 public:
  // `example` ends the help text.
  Arguments(const std::string& verb, const std::string& summary, const std::string& example);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments();

  void positional(const std::string& name, std::string& into, const std::string& help,
                  Need need = Need::kRequired);
  void positionals(const std::string& name, std::vector<std::string>& into, const std::string& help,
                   Need need = Need::kRequired);
  // `names` as in "-l,--long". Given twice is a mistake, here and below.
  void option(const std::string& names, std::string& into, const std::string& help);
  // One value each time, and any number of times.
  void repeated(const std::string& names, std::vector<std::string>& into, const std::string& help);
  // May be repeated, and may take several values at once.
  void option_list(const std::string& names, std::vector<std::string>& into,
                   const std::string& help);
  void number(const std::string& names, std::uint64_t& into, const std::string& help);
  void number(const std::string& names, double& into, const std::string& help);
  // Bytes, with units: 4KiB.
  void size(const std::string& names, std::uint64_t& into, const std::string& help);
  void flag(const std::string& names, bool& into, const std::string& help);

  // Whether the option was given. `name` as "--size".
  bool given(const std::string& name) const;

  // `words`: what follows the verb. A text means: print it and stop, help was asked for.
  // Errors: kInvalidArgument, with a suggestion as its hint.
  Result<std::optional<std::string>> parse(const std::vector<std::string>& words);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hexad::tools
