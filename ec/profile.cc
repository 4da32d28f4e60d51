#include "ec/profile.h"

#include <charconv>
#include <optional>
#include <vector>

namespace hexad::ec {
namespace {

constexpr std::uint32_t kDefaultPacketBytes = 64;
constexpr std::uint32_t kPacketUnit = 8;  // Jerasure works in machine words
constexpr std::uint32_t kMaxPacketBytes = 4096;
constexpr std::uint32_t kWordBits = 8;
constexpr std::uint32_t kStoreUnit = 512;  // the smallest block of any device

struct CodecName {
  CodecKind kind;
  std::string_view family;
  std::string_view technique;
};

// The technique of kIsaCauchy with m = 1.
constexpr std::string_view kCauchyRow = "cauchy_row";
// Without parity.
constexpr std::string_view kNoCode = "none";

constexpr CodecName kCodecNames[] = {
    {CodecKind::kIsaVandermonde, "isa", "reed_sol_van"},
    {CodecKind::kIsaCauchy, "isa", "cauchy"},
    {CodecKind::kJerasureVandermonde, "jerasure", "reed_sol_van"},
    {CodecKind::kJerasureCauchyGood, "jerasure", "cauchy_good"},
    {CodecKind::kJerasureRaid6, "jerasure", "reed_sol_r6_op"},
    {CodecKind::kJerasureCauchyOrig, "jerasure", "cauchy_orig"},
};

const CodecName* find_codec(CodecKind kind) {
  for (const CodecName& name : kCodecNames) {
    if (name.kind == kind) return &name;
  }
  return nullptr;
}

Error invalid(std::string message, std::string hint = {}) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(hint)};
}

std::string quoted(std::string_view text) { return "\"" + printable(text, 64) + "\""; }

std::optional<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The text up to `separator`, which is removed from `rest` together with it.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return taken;
}

std::string known_codecs() {
  return "Codecs: isa:reed_sol_van, isa:cauchy, jerasure:reed_sol_van, jerasure:reed_sol_r6_op, "
         "jerasure:cauchy_good, jerasure:cauchy_orig (with w=8 and, for the last two, "
         "packetsize=P)";
}

// Reads "w=8" and "packetsize=64".
Status parse_parameter(std::string_view parameter, Profile& profile) {
  std::string_view value = parameter;
  const std::string_view key = take_until(value, '=');
  const std::optional<std::uint32_t> number = parse_number(value);
  const bool jerasure = find_codec(profile.codec)->family == "jerasure";
  if (!jerasure || (key != "w" && key != "packetsize")) {
    return invalid("codec: unknown parameter " + quoted(parameter),
                   "Jerasure codecs take w=8 and packetsize=P, isa codecs take none.");
  }
  if (!number)
    return invalid("codec: " + std::string(key) + " needs a number, not " + quoted(value));
  if (key == "w") {
    if (*number == kWordBits) return ok_status();
    return invalid("codec: w=" + std::to_string(*number) + " is not offered", "Use w=8.");
  }
  // Ceph's profiles carry a packet size for every technique; it means nothing to reed_sol_*.
  if (!uses_packets(profile.codec)) return ok_status();
  profile.packet_bytes = *number;
  return ok_status();
}

Status parse_codec(std::string_view text, Profile& profile) {
  if (profile.m == 0) {
    if (text == kNoCode) return ok_status();
    return invalid(
        "profile " + to_string(profile) + " has no parity, so no codec: not " + quoted(text),
        "Leave the codec out.");
  }
  if (text == "isa-vandermonde") text = "isa:reed_sol_van";
  if (text == "isa-cauchy") text = "isa:cauchy";
  std::string_view rest = text;
  const std::string_view family = take_until(rest, ':');
  const std::string_view technique = take_until(rest, ',');
  const CodecName* found = nullptr;
  for (const CodecName& name : kCodecNames) {
    if (name.family == family && name.technique == technique) found = &name;
  }
  const bool row = family == "isa" && technique == kCauchyRow;
  if (row && profile.m == 1) found = find_codec(CodecKind::kIsaCauchy);
  if (found == nullptr) return invalid("unknown codec " + quoted(text), known_codecs());
  profile.codec = found->kind;
  profile.packet_bytes = uses_packets(found->kind) ? kDefaultPacketBytes : 0;
  if (!row) profile = as_ceph_has_it(profile);
  while (!rest.empty()) HEXAD_TRY(parse_parameter(take_until(rest, ','), profile));
  return ok_status();
}

Status validate_packets(const Profile& profile) {
  const std::uint32_t packet = profile.packet_bytes;
  if (!uses_packets(profile.codec)) {
    if (packet == 0) return ok_status();
    return invalid("profile " + to_string(profile) + ": codec " + codec_to_string(profile) +
                   " takes no packet size, but it is " + std::to_string(packet) + " B");
  }
  if (packet == 0 || packet % kPacketUnit != 0 || packet > kMaxPacketBytes) {
    return invalid("profile " + to_string(profile) + ": packet size " + std::to_string(packet) +
                       " B is not a multiple of 8 B from 8 B to 4096 B",
                   "Use packetsize=64.");
  }
  return ok_status();
}

}  // namespace

bool uses_packets(CodecKind codec) {
  return codec == CodecKind::kJerasureCauchyGood || codec == CodecKind::kJerasureCauchyOrig;
}

std::uint32_t alignment(const Profile& profile) {
  return uses_packets(profile.codec) ? kWordBits * profile.packet_bytes : 1;
}

CodecKind default_codec(std::uint32_t m) {
  return m <= 3 ? CodecKind::kIsaVandermonde : CodecKind::kIsaCauchy;
}

Profile as_ceph_has_it(Profile profile) {
  if (profile.codec == CodecKind::kIsaCauchy && profile.m == 1) {
    profile.codec = CodecKind::kIsaVandermonde;
  }
  return profile;
}

bool isa_vandermonde_is_mds(std::uint32_t k, std::uint32_t m) {
  // The largest k, found by trying every square part of the generator (tests/ec/mds_test.cc does
  // so again). From m = 6 on, four columns are the last that work.
  switch (m) {
    case 1:
    case 2:
    case 3:
      return k <= kMaxDataShards;
    case 4:
      return k <= 21;
    case 5:
      return k <= 5;
    default:
      return k <= 4;
  }
}

Status validate(const Profile& profile) {
  if (profile.k < 1 || profile.k > kMaxDataShards) {
    return invalid("profile " + to_string(profile) + ": " + std::to_string(profile.k) +
                   " data cells, allowed are 1 to " + std::to_string(kMaxDataShards));
  }
  if (profile.m > kMaxParityShards) {
    return invalid("profile " + to_string(profile) + ": " + std::to_string(profile.m) +
                   " parity cells, allowed are 0 to " + std::to_string(kMaxParityShards));
  }
  if (find_codec(profile.codec) == nullptr) {
    return invalid("profile " + to_string(profile) + ": codec number " +
                       std::to_string(static_cast<unsigned>(profile.codec)) + " is unknown",
                   known_codecs());
  }
  HEXAD_TRY(validate_packets(profile));
  if (profile.m == 0) {
    if (profile.codec == default_codec(0)) return ok_status();
    return invalid("profile " + to_string(profile) + ": nothing is coded without parity, and " +
                       std::string(find_codec(profile.codec)->family) + ":" +
                       std::string(find_codec(profile.codec)->technique) + " is named",
                   "Leave the codec out.");
  }
  if (profile.codec == CodecKind::kIsaVandermonde &&
      !isa_vandermonde_is_mds(profile.k, profile.m)) {
    return invalid("profile " + to_string(profile) +
                       ": isa:reed_sol_van does not survive every loss of " +
                       std::to_string(profile.m) + " cells at this shape",
                   "Use isa:cauchy.");
  }
  if (profile.codec == CodecKind::kJerasureRaid6 && profile.m != 2) {
    return invalid("profile " + to_string(profile) + ": jerasure:reed_sol_r6_op needs m = 2");
  }
  return ok_status();
}

Status validate_for_store(const Profile& profile) {
  HEXAD_TRY(validate(profile));
  if (kStoreUnit % alignment(profile) != 0) {
    return invalid("profile " + to_string(profile) + ": " + codec_to_string(profile) +
                       " works on units of " + std::to_string(alignment(profile)) +
                       " B, which do not divide a block of 512 B",
                   "Use packetsize=8, 16, 32 or 64.");
  }
  return ok_status();
}

std::string to_string(const Profile& profile) {
  return std::to_string(profile.k) + "+" + std::to_string(profile.m);
}

std::string codec_to_string(const Profile& profile) {
  if (profile.m == 0) return std::string(kNoCode);
  const CodecName* name = find_codec(profile.codec);
  if (name == nullptr) return "codec " + std::to_string(static_cast<unsigned>(profile.codec));
  const bool row = profile.codec == CodecKind::kIsaCauchy && profile.m == 1;
  std::string text =
      std::string(name->family) + ":" + std::string(row ? kCauchyRow : name->technique);
  if (name->family == "jerasure") text += ",w=8";
  if (uses_packets(profile.codec)) text += ",packetsize=" + std::to_string(profile.packet_bytes);
  return text;
}

Result<Profile> parse_profile(std::string_view shape, std::string_view codec) {
  std::string_view parity = shape;
  const std::optional<std::uint32_t> k = parse_number(take_until(parity, '+'));
  const std::optional<std::uint32_t> m = parse_number(parity);
  if (!k || !m) {
    return invalid("profile " + quoted(shape) + " is not of the form k+m",
                   "4+2 stands for four data and two parity cells.");
  }
  Profile profile;
  profile.k = *k;
  profile.m = *m;
  profile.codec = default_codec(profile.m);
  if (!codec.empty()) HEXAD_TRY(parse_codec(codec, profile));
  HEXAD_TRY(validate(profile));
  return profile;
}

void encode_profile(Encoder& out, const Profile& profile) {
  out.u8(static_cast<std::uint8_t>(profile.k));
  out.u8(static_cast<std::uint8_t>(profile.m));
  out.u8(static_cast<std::uint8_t>(profile.codec));
  out.u8(0);
  out.le32(profile.packet_bytes);
}

Result<Profile> decode_profile(Decoder& in) {
  Profile profile;
  profile.k = in.u8();
  profile.m = in.u8();
  profile.codec = static_cast<CodecKind>(in.u8());
  in.zeros(1);
  profile.packet_bytes = in.le32();
  HEXAD_TRY(in.check("redundancy profile"));
  if (find_codec(profile.codec) == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 "redundancy profile: codec number " +
                     std::to_string(static_cast<unsigned>(profile.codec)) + " is unknown",
                 "This version is older than the store: open it with the one that wrote it."};
  }
  if (const Status valid = validate(profile); !valid.ok()) {
    return Error{ErrorCode::kCorruption, "redundancy profile: " + valid.error().message, ""};
  }
  return profile;
}

}  // namespace hexad::ec
