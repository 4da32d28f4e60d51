#include "alloc/features.h"

namespace hexad::alloc {

namespace {

constexpr std::string_view kNewer = "Use the program version that wrote it, or a later one";

}  // namespace

void encode_features(Encoder& encoder, const Features& features) {
  encoder.le64(features.compatible);
  encoder.le64(features.read_only);
  encoder.le64(features.incompatible);
}

Features decode_features(Decoder& decoder) {
  Features features;
  features.compatible = decoder.le64();
  features.read_only = decoder.le64();
  features.incompatible = decoder.le64();
  return features;
}

Status check_readable(const Features& features, std::uint64_t known, std::string_view what) {
  const std::uint64_t unknown = features.incompatible & ~known;
  if (unknown == 0) return {};
  return Error{ErrorCode::kUnsupported,
               std::string(what) + " with " + describe_features("incompatible", unknown) +
                   ", unknown to this program",
               std::string(kNewer) + "."};
}

Status check_writable(const Features& features, std::string_view what) {
  if (features.read_only == 0) return {};
  return Error{ErrorCode::kUnsupported,
               std::string(what) + " with " +
                   describe_features("read-only compatible", features.read_only) +
                   ", unknown to this program, which may read it but not write",
               std::string(kNewer) + ", or open it for reading only."};
}

std::string describe_features(std::string_view kind, std::uint64_t bits) {
  std::string text;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((bits >> bit & 1) == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(bit);
  }
  const bool one = text.find(',') == std::string::npos;
  return std::string(kind) + (one ? " feature " : " features ") + text;
}

}  // namespace hexad::alloc
