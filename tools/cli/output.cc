#include "tools/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tools/cli/file.h"
#include "tools/cli/names.h"

namespace hexad::tools {

namespace {

constexpr std::size_t kBufferBytes = 64 << 10;

std::string dump(const Json& object, bool pretty) {
  // Text from paths and messages may hold any bytes; a replacement character beats an exception.
  return object.dump(pretty ? 2 : -1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Of an object of --json what are sentences, in which commands may be: names are never changed.
constexpr std::array<std::string_view, 14> kSentences = {
    "command", "detail",  "failure", "hint",   "in_use",           "message",  "notes",
    "problem", "purpose", "reason",  "remedy", "read_only_reason", "warnings", "why",
};

void fill_in(Json& value, bool sentence, const CommandWords& words) {
  if (value.is_string() && sentence) {
    value = with_words(value.get_ref<const std::string&>(), words);
  } else if (value.is_array()) {
    for (Json& one : value) fill_in(one, sentence, words);
  } else if (value.is_object()) {
    for (const auto& [key, one] : value.items()) {
      const bool known = std::find(kSentences.begin(), kSentences.end(), key) != kSentences.end();
      fill_in(one, known, words);
    }
  }
}

}  // namespace

Output::Output(Style style, Verbosity verbosity)
    : style_(style), verbosity_(verbosity), terminal_(isatty(STDOUT_FILENO) == 1) {}
Output::~Output() = default;

void Output::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes || terminal_) flush();
}

void Output::flush() {
  if (failure_.ok()) failure_ = write_all(STDOUT_FILENO, as_bytes(buffer_), "standard output");
  buffer_.clear();
}

void Output::note(std::string_view text) {
  if (json() || quiet()) return;
  const std::string line = typed(text) + "\n";
  if (stdout_reserved_) {
    write_all(STDERR_FILENO, as_bytes(line), "standard error").ignore();  // nobody left to tell
  } else {
    write(line);
  }
}

void Output::warn(std::string_view text) {
  if (!quiet()) alarm(text);
}

void Output::alarm(std::string_view text) {
  const std::string line = fmt::format("hexad: {}\n", typed(text));
  write_all(STDERR_FILENO, as_bytes(line), "standard error").ignore();  // nobody left to tell
}

void Output::error(const Error& error) { report(error_json(error)); }

void Output::interrupted() {
  report(Json{{"code", "interrupted"},
              {"message", "interrupted"},
              {"hint", "What was reported as stored stays stored."}});
}

void Output::report(Json error) {
  fill_in(error, false, words_);
  std::string text = fmt::format("hexad: {}\n", error["message"].get<std::string>());
  const std::string hint = error["hint"].get<std::string>();
  if (!hint.empty()) text += fmt::format("  hint: {}\n", hint);
  write_all(STDERR_FILENO, as_bytes(text), "standard error").ignore();  // nobody left to tell
  if (json() && !object_written_ && !stdout_reserved_) object(Json{{"error", error}});
}

void Output::keep_warnings(const std::vector<std::string>& warnings) {
  warnings_.insert(warnings_.end(), warnings.begin(), warnings.end());
}

void Output::keep_note(const std::string& key, const Json& value) {
  if (notes_ == nullptr) notes_ = std::make_unique<Json>(Json::object());
  (*notes_)[key] = value;
}

Json Output::notes() const { return notes_ == nullptr ? Json::object() : *notes_; }

void Output::object(const Json& object, bool pretty) {
  object_written_ = true;
  Json told = object;
  if (!warnings_.empty() && !told.contains("warnings")) told["warnings"] = warnings_;
  fill_in(told, false, words_);
  if (notes_ != nullptr) told.update(*notes_);
  const std::string text = dump(told, pretty);
  if (stdout_reserved_) {
    write_all(STDERR_FILENO, as_bytes(text), "standard error").ignore();  // nobody left to tell
  } else {
    write(text);
  }
}

Status Output::finish() {
  flush();
  return failure_;
}

Json error_json(const Error& error) {
  return Json{{"code", std::string(to_string(error.code))},
              {"message", error.message},
              {"hint", error.hint}};
}

void set_name(Json& object, const char* key, std::string_view bytes) {
  if (is_utf8(bytes)) {
    object[key] = std::string(bytes);
  } else {
    object[std::string(key) + "_b64"] = to_base64(bytes);
  }
}

std::string shown_name(const Output& output, std::string_view bytes) {
  return output.terminal() ? display_name(bytes) : std::string(bytes);
}

}  // namespace hexad::tools
