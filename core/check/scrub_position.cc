#include "core/check/scrub_position.h"

#include <charconv>
#include <optional>
#include <system_error>

namespace hexad::core {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

// Up to the next colon, which goes, too; nothing: it is no number.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at == text.data()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  if (text.empty()) return number;
  if (text.front() != ':') return std::nullopt;
  text.remove_prefix(1);
  return number;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.empty() || text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]);
    const std::size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return bytes;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string encode_position(const ScrubPosition& position) {
  switch (position.part) {
    case ScrubPosition::Part::kPacks:
      return "packs:" + std::to_string(position.zone) + ":" + std::to_string(position.unit);
    case ScrubPosition::Part::kObjects: {
      std::string text = "objects:" + std::to_string(position.page) + ":";
      for (const char c : position.key) {
        text += kDigits[static_cast<unsigned char>(c) >> 4];
        text += kDigits[static_cast<unsigned char>(c) & 15];
      }
      return text;
    }
    case ScrubPosition::Part::kRuns:
      return "runs";
    case ScrubPosition::Part::kOver:
      break;
  }
  return "";
}

Result<ScrubPosition> decode_position(std::string_view text) {
  ScrubPosition position;
  if (text.empty()) return position;
  const std::string_view given = text;
  if (text == "runs") {
    position.part = ScrubPosition::Part::kRuns;
    return position;
  }
  if (take(text, "packs:")) {
    const std::optional<std::uint32_t> zone = take_number(text);
    const std::optional<std::uint32_t> unit = take_number(text);
    if (zone.has_value() && unit.has_value() && text.empty()) {
      position.zone = *zone;
      position.unit = *unit;
      return position;
    }
  } else if (take(text, "objects:")) {
    position.part = ScrubPosition::Part::kObjects;
    const std::optional<std::uint32_t> page = take_number(text);
    std::optional<std::string> key = from_hex(text);
    if (page.has_value() && key.has_value()) {
      position.page = *page;
      position.key = *std::move(key);
      return position;
    }
  }
  return Error{ErrorCode::kInvalidArgument,
               "a scrub cannot go on at \"" + std::string(given.substr(0, 64)) + "\"",
               "Give what the report of a scrub that was stopped says, or nothing."};
}

}  // namespace hexad::core
