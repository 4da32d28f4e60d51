#include "tools/cli/commands.h"

#include <algorithm>

namespace hexad::tools {

namespace {

constexpr std::string_view kProgram = "hexad ";
constexpr std::string_view kVerbLetters = "abcdefghijklmnopqrstuvwxyz-";
constexpr std::string_view kWordLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

// Moves the beginning of `text` to the end of `into`.
void take(std::string_view& text, std::size_t count, std::string& into) {
  into += text.substr(0, count);
  text.remove_prefix(count);
}

// Takes a word of a verb and the space behind it; false where there is none.
bool take_verb(std::string_view& text, std::string& into) {
  const std::size_t length = std::min(text.find_first_not_of(kVerbLetters), text.size());
  if (length == 0 || !text.substr(length).starts_with(' ')) return false;
  take(text, length + 1, into);
  return true;
}

// Puts `word` in the place of `placeholder` where the text begins with it.
bool replace(std::string_view& text, std::string_view placeholder, const std::string& word,
             std::string& into) {
  if (!text.starts_with(placeholder)) return false;
  const std::string_view behind = text.substr(placeholder.size());
  if (!behind.empty() && kWordLetters.find(behind[0]) != std::string_view::npos) return false;
  into += word.empty() ? placeholder : word;
  text = behind;
  return true;
}

}  // namespace

std::string with_words(std::string_view text, const CommandWords& words) {
  std::string filled;
  for (;;) {
    const std::size_t found = text.find(kProgram);
    if (found == std::string_view::npos) return filled.append(text);
    const bool whole = found == 0 || kWordLetters.find(text[found - 1]) == std::string_view::npos;
    take(text, found + kProgram.size(), filled);
    if (!whole || !take_verb(text, filled)) continue;
    if (!text.starts_with("POOL") && !take_verb(text, filled)) continue;
    if (!replace(text, "POOL", words.pool, filled)) continue;
    if (text.starts_with(' ') && text.substr(1).starts_with("BUCKET")) {
      take(text, 1, filled);
      replace(text, "BUCKET", words.bucket, filled);
    }
  }
}

}  // namespace hexad::tools
