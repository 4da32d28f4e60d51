#include "tools/cli/hints.h"

#include <array>
#include <string_view>

#include "tools/cli/names.h"

namespace hexad::tools {

namespace {

struct Named {
  Hint hint;
  std::string_view name;
};

constexpr std::array kHints = {
    Named{Hint::kCompressible, "compressible"},
    Named{Hint::kIncompressible, "incompressible"},
    Named{Hint::kSequentialRead, "sequential-read"},
    Named{Hint::kRandomRead, "random-read"},
    Named{Hint::kSequentialWrite, "sequential-write"},
    Named{Hint::kRandomWrite, "random-write"},
    Named{Hint::kAppendOnly, "append-only"},
    Named{Hint::kImmutable, "immutable"},
    Named{Hint::kShortLived, "short-lived"},
    Named{Hint::kLongLived, "long-lived"},
};

constexpr std::string_view kNoHints = "none";

Result<Hint> parse_hint(std::string_view name) {
  if (name == kNoHints) return Hint::kNone;
  for (const Named& known : kHints) {
    if (name == known.name) return known.hint;
  }
  return Error{ErrorCode::kInvalidArgument, "\"" + display_name(name) + "\" is not a hint",
               "Some of: " + known_hints() + "; or none"};
}

Error exclude_each_other(std::string_view a, std::string_view b) {
  return Error{ErrorCode::kInvalidArgument,
               "the hints " + std::string(a) + " and " + std::string(b) + " exclude each other",
               "Give one of them."};
}

}  // namespace

Result<Hint> parse_hints(const std::vector<std::string>& words) {
  Hint hints = Hint::kNone;
  bool none = false;
  for (std::string_view left : words) {
    for (bool more = true; more;) {
      const std::size_t comma = left.find(',');
      more = comma != std::string_view::npos;
      HEXAD_TRY_ASSIGN(const Hint hint, parse_hint(left.substr(0, comma)));
      if (hint == Hint::kNone) none = true;
      hints = hints | hint;
      if (more) left.remove_prefix(comma + 1);
    }
  }
  if (none && hints != Hint::kNone) return exclude_each_other(kNoHints, hint_names(hints)[0]);
  if (has_hint(hints, Hint::kCompressible | Hint::kIncompressible)) {
    return exclude_each_other("compressible", "incompressible");
  }
  if (has_hint(hints, Hint::kShortLived | Hint::kLongLived)) {
    return exclude_each_other("short-lived", "long-lived");
  }
  return hints;
}

std::vector<std::string> hint_names(Hint hints) {
  std::vector<std::string> names;
  for (const Named& known : kHints) {
    if (has_hint(hints, known.hint)) names.emplace_back(known.name);
  }
  return names;
}

std::string known_hints() {
  std::string text;
  for (const Named& known : kHints) {
    text += (text.empty() ? "" : ", ") + std::string(known.name);
  }
  return text;
}

}  // namespace hexad::tools
