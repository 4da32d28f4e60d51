// What a verb says, and where: data and one JSON object on standard output, errors, warnings and
// progress on standard error. Knows --json and -q.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tools/cli/commands.h"

namespace hexad::tools {

using Json = nlohmann::ordered_json;

enum class Style : std::uint8_t { kText, kJson };
enum class Verbosity : std::uint8_t { kNormal, kQuiet };

// One thread at a time; warn() and alarm() also on others.
class Output {
 public:
  Output(Style style, Verbosity verbosity);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  bool json() const { return style_ == Style::kJson; }
  bool quiet() const { return verbosity_ == Verbosity::kQuiet; }
  // Whether standard output is a terminal.
  bool terminal() const { return terminal_; }

  // What stands for POOL and the like in commands of everything that is said from now on, but for
  // write(), which has data.
  void name_pool(std::string word) { words_.pool = std::move(word); }
  void name_bucket(std::string word) { words_.bucket = std::move(word); }
  // The text, its commands with these words.
  std::string typed(std::string_view text) const { return with_words(text, words_); }

  // To standard output, buffered. A failure is kept for finish().
  void write(std::string_view text);
  // One sentence about what was done: text without -q only.
  void note(std::string_view text);
  // To standard error, unless -q.
  void warn(std::string_view text);
  // The same for what nobody may miss, -q or not: devices that are lost.
  void alarm(std::string_view text);
  // "hexad: message\n  hint: ..." on standard error; with --json also {"error": ...} on standard
  // output, unless an object has been written there already.
  void error(const Error& error);
  // As error(), for work that a signal has ended: the code in JSON is "interrupted".
  void interrupted();
  // What the one object of --json says under "warnings", beside what it has; nothing where there
  // are none.
  void keep_warnings(const std::vector<std::string>& warnings);
  // What the one object of --json says under `key`, beside what it has and behind all else.
  void keep_note(const std::string& key, const Json& value);
  // What keep_note() has been given, for a verb that writes its object itself.
  Json notes() const;
  // The one object of --json. `pretty` indents it.
  void object(const Json& object, bool pretty = false);
  // From now on standard output carries object data: object() goes to standard error.
  void reserve_stdout() { stdout_reserved_ = true; }
  // Says that write() has already put the one object out.
  void object_written() { object_written_ = true; }

  // Writes what is buffered. Errors: those of write(); a reader that is gone (EPIPE) is kClosed.
  Status finish();

 private:
  void report(Json error);
  void flush();

  Style style_;
  Verbosity verbosity_;
  bool terminal_;
  bool stdout_reserved_ = false;
  bool object_written_ = false;
  CommandWords words_;
  std::string buffer_;
  std::vector<std::string> warnings_;
  std::unique_ptr<Json> notes_;  // an object; null: none
  Status failure_;
};

// {"code": "not found", "message": ..., "hint": ...}
Json error_json(const Error& error);

// Sets `key` to the bytes, or `key`_b64 to their base64 when they are not UTF-8.
void set_name(Json& object, const char* key, std::string_view bytes);

// As a terminal should see it, or raw when standard output goes elsewhere.
std::string shown_name(const Output& output, std::string_view bytes);

}  // namespace hexad::tools
