#include "compression/policy.h"

#include <bit>
#include <charconv>

#include "base/units.h"

namespace hexad::compression {
namespace {

constexpr std::uint32_t kWholeRatio = 1000;
constexpr std::uint32_t kLargestMinBlob = 1U << 30;

Error invalid(std::string message, std::string hint = {}) {
  return Error{ErrorCode::kInvalidArgument, "compression policy: " + std::move(message),
               std::move(hint)};
}

bool is_mode(std::uint8_t value) { return value <= static_cast<std::uint8_t>(Mode::kForce); }

Result<int> parse_level(std::string_view text) {
  int level = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), level);
  if (error != std::errc() || end != text.data() + text.size()) {
    return invalid("level \"" + printable(text, 64) + "\" is not a whole number");
  }
  return level;
}

Result<std::uint32_t> parse_blob_size(std::string_view key, std::string_view text) {
  HEXAD_TRY_ASSIGN(const std::uint64_t size, parse_size(text));
  if (size > kLargestMinBlob) {
    return invalid(std::string(key) + " of " + format_size(size) + " is over " +
                   format_size(kLargestMinBlob));
  }
  return static_cast<std::uint32_t>(size);
}

Status set_field(Policy& policy, std::string_view key, std::string_view value) {
  if (key == "mode") {
    HEXAD_TRY_ASSIGN(policy.mode, parse_mode(value));
  } else if (key == "algorithm") {
    HEXAD_TRY_ASSIGN(policy.algorithm, parse_algorithm(value));
  } else if (key == "level") {
    HEXAD_TRY_ASSIGN(policy.level, parse_level(value));
  } else if (key == "required_ratio") {
    HEXAD_TRY_ASSIGN(policy.required_ratio, parse_ratio(value));
  } else if (key == "min_blob_size") {
    HEXAD_TRY_ASSIGN(policy.min_blob_size, parse_blob_size(key, value));
  } else if (key == "max_blob_size") {
    HEXAD_TRY_ASSIGN(policy.max_blob_size, parse_blob_size(key, value));
  } else {
    return invalid("unknown field \"" + printable(key, 64) + "\"",
                   "Fields: mode, algorithm, level, required_ratio, min_blob_size, max_blob_size.");
  }
  return ok_status();
}

Status set_word(Policy& policy, std::string_view word) {
  if (const Result<Mode> mode = parse_mode(word); mode.ok()) {
    policy.mode = *mode;
  } else if (const Result<Algorithm> algorithm = parse_algorithm(word); algorithm.ok()) {
    policy.algorithm = *algorithm;
  } else {
    return invalid(
        "\"" + printable(word, 64) + "\" is neither a mode nor an algorithm",
        "Modes: none, passive, aggressive or force. Algorithms: " + algorithm_names() + ".");
  }
  return ok_status();
}

}  // namespace

std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::kNone:
      return "none";
    case Mode::kPassive:
      return "passive";
    case Mode::kAggressive:
      return "aggressive";
    case Mode::kForce:
      return "force";
  }
  return "unknown";
}

Result<Mode> parse_mode(std::string_view text) {
  for (Mode mode : {Mode::kNone, Mode::kPassive, Mode::kAggressive, Mode::kForce}) {
    if (text == to_string(mode)) return mode;
  }
  return Error{ErrorCode::kInvalidArgument,
               "\"" + printable(text, 64) + "\" is not a compression mode",
               "Use none, passive, aggressive or force."};
}

Status validate(const Policy& policy) {
  if (!is_mode(static_cast<std::uint8_t>(policy.mode))) {
    return invalid("mode number " + std::to_string(static_cast<unsigned>(policy.mode)) +
                   " is unknown");
  }
  HEXAD_TRY(algorithm_from_disk(static_cast<std::uint8_t>(policy.algorithm)).status());
  const LevelRange levels = level_range(policy.algorithm);
  if (policy.level < levels.min || policy.level > levels.max) {
    return invalid("level " + std::to_string(policy.level) + " of " +
                       std::string(to_string(policy.algorithm)) + " is not from " +
                       std::to_string(levels.min) + " to " + std::to_string(levels.max),
                   "Level 0 is the default.");
  }
  if (policy.required_ratio < 1 || policy.required_ratio > kWholeRatio) {
    return invalid("required_ratio of " + std::to_string(policy.required_ratio) +
                   " thousandths is not from 1 to 1000");
  }
  if (policy.min_blob_size > kLargestMinBlob) {
    return invalid("min_blob_size of " + format_size(policy.min_blob_size) + " is over " +
                   format_size(kLargestMinBlob));
  }
  if (policy.max_blob_size < kMinFrameBytes || policy.max_blob_size > kMaxFrameBytes ||
      !std::has_single_bit(policy.max_blob_size)) {
    return invalid("max_blob_size of " + format_size(policy.max_blob_size) +
                   " is not a power of two from " + format_size(kMinFrameBytes) + " to " +
                   format_size(kMaxFrameBytes));
  }
  return ok_status();
}

Decision decide(const Policy& policy, Hint hint, std::uint64_t length) {
  if (policy.algorithm == Algorithm::kNone || length == 0 || length < policy.min_blob_size) {
    return Decision::kStoreRaw;
  }
  switch (policy.mode) {
    case Mode::kNone:
      return Decision::kStoreRaw;
    case Mode::kPassive:
      return hint == Hint::kCompressible ? Decision::kProbeThenCompress : Decision::kStoreRaw;
    case Mode::kAggressive:
      return hint == Hint::kIncompressible ? Decision::kStoreRaw : Decision::kProbeThenCompress;
    case Mode::kForce:
      return Decision::kCompress;
  }
  return Decision::kStoreRaw;
}

std::uint64_t accepted_bytes(const Policy& policy, std::uint64_t original) {
  return original * policy.required_ratio / kWholeRatio;
}

std::string to_string(const Policy& policy) {
  return "mode=" + std::string(to_string(policy.mode)) +
         ",algorithm=" + std::string(to_string(policy.algorithm)) +
         ",level=" + std::to_string(policy.level) +
         ",required_ratio=" + format_ratio(policy.required_ratio) +
         ",min_blob_size=" + std::to_string(policy.min_blob_size) +
         ",max_blob_size=" + std::to_string(policy.max_blob_size);
}

Result<Policy> parse_policy(std::string_view text, const Policy& base) {
  Policy policy = base;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      HEXAD_TRY(set_word(policy, part));
    } else {
      HEXAD_TRY(set_field(policy, part.substr(0, equals), part.substr(equals + 1)));
    }
  }
  HEXAD_TRY(validate(policy));
  return policy;
}

std::string format_ratio(std::uint32_t thousandths) {
  std::string digits = std::to_string(thousandths % kWholeRatio + kWholeRatio).substr(1);
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  const std::string whole = std::to_string(thousandths / kWholeRatio);
  return digits.empty() ? whole : whole + "." + digits;
}

Result<std::uint32_t> parse_ratio(std::string_view text) {
  const Error error{ErrorCode::kInvalidArgument,
                    "\"" + printable(text, 64) + "\" is not a compression ratio",
                    "Write a number above 0 and at most 1 with up to three decimals, like 0.875."};
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  std::string decimals(dot == std::string_view::npos ? "" : text.substr(dot + 1));
  const bool dot_without_digits = dot != std::string_view::npos && decimals.empty();
  if ((whole != "0" && whole != "1") || decimals.size() > 3 || dot_without_digits) return error;
  decimals.resize(3, '0');
  std::uint32_t value = whole == "1" ? kWholeRatio : 0;
  std::uint32_t place = kWholeRatio / 10;
  for (char digit : decimals) {
    if (digit < '0' || digit > '9') return error;
    value += static_cast<std::uint32_t>(digit - '0') * place;
    place /= 10;
  }
  if (value < 1 || value > kWholeRatio) return error;
  return value;
}

void encode_policy(Encoder& out, const Policy& policy) {
  out.u8(static_cast<std::uint8_t>(policy.mode));
  out.u8(static_cast<std::uint8_t>(policy.algorithm));
  out.u8(static_cast<std::uint8_t>(policy.level));
  out.u8(0);
  out.le32(policy.required_ratio);
  out.le32(policy.min_blob_size);
  out.le32(policy.max_blob_size);
}

Result<Policy> decode_policy(Decoder& in) {
  Policy policy;
  const std::uint8_t mode = in.u8();
  const std::uint8_t algorithm = in.u8();
  const std::uint8_t level = in.u8();  // two's complement
  policy.level = level < 128 ? level : static_cast<int>(level) - 256;
  in.zeros(1);
  policy.required_ratio = in.le32();
  policy.min_blob_size = in.le32();
  policy.max_blob_size = in.le32();
  HEXAD_TRY(in.check("compression policy"));
  if (!is_mode(mode)) {
    return Error{ErrorCode::kUnsupported,
                 "compression policy: mode number " + std::to_string(mode) + " is unknown",
                 "This version is older than the store: open it with the one that wrote it."};
  }
  policy.mode = static_cast<Mode>(mode);
  HEXAD_TRY_ASSIGN(policy.algorithm, algorithm_from_disk(algorithm));
  if (const Status valid = validate(policy); !valid.ok()) {
    return Error{ErrorCode::kCorruption, valid.error().message, ""};
  }
  return policy;
}

}  // namespace hexad::compression
