#include "tools/import_export/transfer_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/names.h"

namespace hexad::tools {

void TransferReport::problem(Output& out, std::string_view name, const std::string& kind,
                             const Error& error) {
  std::string text = fmt::format("{}: {}: {}", kind, display_name(name), error.message);
  if (!error.hint.empty() && said_hints_.insert(error.hint).second) {
    text += fmt::format("\n  hint: {}", error.hint);
  }
  out.warn(text);
  if (problems_.size() < kMaxProblems) {
    problems_.push_back({std::string(name), kind, error.message, error.hint});
  }
}

void TransferReport::skip(Output& out, std::string_view name, const std::string& why) {
  ++skipped;
  problem(out, name, "skipped", Error{ErrorCode::kInvalidArgument, why, ""});
}

void TransferReport::refuse(Output& out, std::string_view name, const Error& error) {
  ++refused;
  problem(out, name, "refused", error);
}

void TransferReport::fail_local(Output& out, std::string_view name, const Error& error) {
  ++failed;
  problem(out, name, "failed", error);
}

void TransferReport::fail_store(Output& out, std::string_view name, const Error& error) {
  if (store_exit_code_ == kExitOk) store_exit_code_ = tools::exit_code(error.code);
  fail_local(out, name, error);
}

void TransferReport::lose(Output& out, std::string_view name, const Error& error) {
  ++incomplete;
  problem(out, name, "incomplete", error);
}

int TransferReport::exit_code() const {
  if (store_exit_code_ != kExitOk) return store_exit_code_;
  return refused + failed + incomplete > 0 ? kExitIo : kExitOk;
}

void TransferReport::print(Output& out, const std::string& verb_done) const {
  if (out.json()) {
    Json object{{"files", files},
                {"directories", directories},
                {"symlinks", symlinks},
                {"links", links},
                {"bytes", bytes},
                {"unchanged", unchanged},
                {"deleted", deleted},
                {"skipped", skipped},
                {"refused", refused},
                {"failed", failed},
                {"incomplete", incomplete},
                {"other_owner", other_owner},
                {"without_set_id", without_set_id},
                {"rounded_times", rounded_times},
                {"problems", Json::array()}};
    for (const Problem& entry : problems_) {
      Json shown;
      set_name(shown, "name", entry.name);
      shown["kind"] = entry.kind;
      shown["why"] = entry.why;
      shown["hint"] = entry.hint;
      object["problems"].push_back(std::move(shown));
    }
    out.object(object);
  }
  std::string text = fmt::format("{} {} files ({}), {} directories, {} symbolic links", verb_done,
                                 files, format_size(bytes), directories, symlinks);
  if (links > 0) text += fmt::format(", {} hard links", links);
  if (unchanged > 0) text += fmt::format("; {} unchanged", unchanged);
  if (deleted > 0) text += fmt::format("; {} deleted", deleted);
  if (skipped + refused + failed > 0) {
    text += fmt::format("; {} skipped, {} refused, {} failed", skipped, refused, failed);
  }
  if (incomplete > 0) text += fmt::format("; {} incomplete", incomplete);
  if (other_owner > 0) text += fmt::format("; {} with another owner", other_owner);
  if (without_set_id > 0) text += fmt::format("; {} without set-id bits", without_set_id);
  if (rounded_times > 0) text += fmt::format("; {} with rounded times", rounded_times);
  out.note(text);
}

}  // namespace hexad::tools
