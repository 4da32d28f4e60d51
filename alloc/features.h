// Feature bits of the format, in labels and roots: what a program that does not know a bit may
// still do. doc/format.md, "Features".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/codec.h"
#include "base/error.h"

namespace hexad::alloc {

struct Features {
  std::uint64_t compatible = 0;    // who does not know one may read and write, and keeps it
  std::uint64_t read_only = 0;     // who does not know one may read, but not write
  std::uint64_t incompatible = 0;  // who does not know one may do nothing at all

  bool operator==(const Features&) const = default;
};

// Three numbers, 24 bytes, in the order of the members.
void encode_features(Encoder& encoder, const Features& features);
Features decode_features(Decoder& decoder);

// `known`: the incompatible bits that the caller understands. `what` names the structure. Errors:
// kUnsupported, which names the others.
Status check_readable(const Features& features, std::uint64_t known, std::string_view what);
// No bit that forbids writing to who does not know it is known yet. Errors: kUnsupported.
Status check_writable(const Features& features, std::string_view what);

// "incompatible features 3, 17" of a set of bits and their kind, for messages.
std::string describe_features(std::string_view kind, std::uint64_t bits);

}  // namespace hexad::alloc
