#include "ec/profile.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace hexad;
using namespace hexad::ec;

namespace {

ErrorCode code_of(const Status& status) { return status.error().code; }

}  // namespace

TEST_CASE("profile: the default is 4+2 over ISA-L's Vandermonde and fits a store") {
  const Profile profile;
  CHECK(to_string(profile) == "4+2");
  CHECK(codec_to_string(profile) == "isa:reed_sol_van");
  CHECK(validate_for_store(profile).ok());
  CHECK(alignment(profile) == 1);
}

TEST_CASE("profile: text forms come back as they were") {
  for (const std::string shape : {"1+1", "4+2", "10+4", "32+8"}) {
    for (const std::string codec :
         {shape == "1+1" ? "isa:cauchy_row" : "isa:cauchy", "jerasure:reed_sol_van,w=8",
          "jerasure:cauchy_good,w=8,packetsize=64", "jerasure:cauchy_orig,w=8,packetsize=2048"}) {
      CAPTURE(shape, codec);
      const Result<Profile> profile = parse_profile(shape, codec);
      REQUIRE(profile.ok());
      CHECK(to_string(*profile) == shape);
      CHECK(codec_to_string(*profile) == codec);
    }
  }
}

TEST_CASE("profile: aliases and omitted parameters have their meaning") {
  CHECK(codec_to_string(*parse_profile("4+2", "isa-vandermonde")) == "isa:reed_sol_van");
  CHECK(codec_to_string(*parse_profile("4+2", "isa-cauchy")) == "isa:cauchy");
  CHECK(codec_to_string(*parse_profile("4+2", "jerasure:cauchy_good")) ==
        "jerasure:cauchy_good,w=8,packetsize=64");
  CHECK(codec_to_string(*parse_profile("4+2", "jerasure:reed_sol_r6_op")) ==
        "jerasure:reed_sol_r6_op,w=8");
  // A packet size where the technique has none is what Ceph's profiles carry.
  CHECK(codec_to_string(*parse_profile("4+2", "jerasure:reed_sol_van,w=8,packetsize=2048")) ==
        "jerasure:reed_sol_van,w=8");
}

TEST_CASE("profile: isa:cauchy with one parity cell is the XOR, as Ceph has it") {
  for (const std::string codec : {"isa:cauchy", "isa-cauchy"}) {
    CAPTURE(codec);
    const Profile profile = *parse_profile("4+1", codec);
    CHECK(profile.codec == CodecKind::kIsaVandermonde);
    CHECK(codec_to_string(profile) == "isa:reed_sol_van");
  }
  // What was written with the other row is named so, is read as it was, and nothing new gets it.
  std::string bytes("\x04\x01\x02\x00\x00\x00\x00\x00", 8);
  Decoder in(bytes);
  const Profile before = *decode_profile(in);
  CHECK(before == Profile{4, 1, CodecKind::kIsaCauchy, 0});
  CHECK(codec_to_string(before) == "isa:cauchy_row");
  CHECK(*parse_profile("4+1", "isa:cauchy_row") == before);
  CHECK(as_ceph_has_it(before) == *parse_profile("4+1", "isa:cauchy"));
  const Profile two{4, 2, CodecKind::kIsaCauchy, 0};
  CHECK(as_ceph_has_it(two) == two);
  CHECK_FALSE(parse_profile("4+2", "isa:cauchy_row").ok());
}

TEST_CASE("profile: without a codec, Vandermonde up to three parity cells and Cauchy above") {
  CHECK(parse_profile("8+3")->codec == CodecKind::kIsaVandermonde);
  CHECK(parse_profile("8+4")->codec == CodecKind::kIsaCauchy);
}

TEST_CASE("profile: without parity nothing is coded, and no code can be named") {
  for (const std::string shape : {"1+0", "4+0", "32+0"}) {
    CAPTURE(shape);
    const Result<Profile> profile = parse_profile(shape);
    REQUIRE(profile.ok());
    CHECK(to_string(*profile) == shape);
    CHECK(codec_to_string(*profile) == "none");
    CHECK(*parse_profile(shape, "none") == *profile);
    CHECK(validate_for_store(*profile).ok());
    std::string bytes;
    Encoder out(bytes);
    encode_profile(out, *profile);
    Decoder in(bytes);
    CHECK(*decode_profile(in) == *profile);
    for (const std::string codec : {"isa:reed_sol_van", "isa:cauchy", "jerasure:reed_sol_van"}) {
      CHECK_FALSE(parse_profile(shape, codec).ok());
    }
  }
  Profile named{4, 0, CodecKind::kJerasureVandermonde, 0};
  CHECK(validate(named).error().message.find("jerasure:reed_sol_van") != std::string::npos);
  CHECK_FALSE(parse_profile("4+2", "none").ok());
}

TEST_CASE("profile: what is not a profile is refused and named") {
  for (const std::string shape : {"", "4", "4+", "+2", "4+2+1", "4+2 ", " 4+2", "-4+2", "4x2",
                                  "0+2", "0+0", "33+0", "33+2", "4+9", "99999999999+2"}) {
    CAPTURE(shape);
    const Result<Profile> profile = parse_profile(shape);
    REQUIRE_FALSE(profile.ok());
    CHECK(profile.error().code == ErrorCode::kInvalidArgument);
  }
  for (const std::string codec :
       {"isa", "isa:", "isa:van", "isa:reed_sol_van,w=8", "zfec:cauchy", "jerasure:liberation,w=7",
        "jerasure:reed_sol_van,w=16", "jerasure:reed_sol_van,w=", "jerasure:cauchy_good,w=8,size=8",
        "jerasure:cauchy_good,packetsize=0", "jerasure:cauchy_good,packetsize=12",
        "jerasure:cauchy_good,packetsize=8192", "jerasure:cauchy_good,packetsize=8x"}) {
    CAPTURE(codec);
    const Result<Profile> profile = parse_profile("4+2", codec);
    REQUIRE_FALSE(profile.ok());
    CHECK(profile.error().code == ErrorCode::kInvalidArgument);
  }
  CHECK(parse_profile("4+2", "jerasure:reed_sol_van,w=16").error().message.find("w=16") !=
        std::string::npos);
  CHECK_FALSE(parse_profile("4+3", "jerasure:reed_sol_r6_op").ok());
}

TEST_CASE("profile: Vandermonde is refused by name where some losses cannot be rebuilt") {
  CHECK(parse_profile("32+3", "isa:reed_sol_van").ok());
  CHECK(parse_profile("21+4", "isa:reed_sol_van").ok());
  CHECK(parse_profile("5+5", "isa:reed_sol_van").ok());
  CHECK(parse_profile("4+6", "isa:reed_sol_van").ok());
  for (const std::string shape : {"22+4", "6+5", "5+6", "5+7", "5+8"}) {
    CAPTURE(shape);
    const Result<Profile> refused = parse_profile(shape, "isa:reed_sol_van");
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message.find("isa:reed_sol_van") != std::string::npos);
    CHECK(refused.error().hint.find("isa:cauchy") != std::string::npos);
    CHECK(parse_profile(shape, "isa:cauchy").ok());
  }
}

TEST_CASE("profile: a store takes only codes whose units divide a block of 512 bytes") {
  for (const std::string packet : {"8", "16", "32", "64"}) {
    CHECK(validate_for_store(*parse_profile("4+2", "jerasure:cauchy_good,packetsize=" + packet))
              .ok());
  }
  for (const std::string packet : {"24", "128", "2048"}) {
    const Profile profile = *parse_profile("4+2", "jerasure:cauchy_good,packetsize=" + packet);
    REQUIRE_FALSE(validate_for_store(profile).ok());
    CHECK(code_of(validate_for_store(profile)) == ErrorCode::kInvalidArgument);
  }
  CHECK(alignment(*parse_profile("4+2", "jerasure:cauchy_good,packetsize=64")) == 512);
}

TEST_CASE("profile: the encoded form is the one in doc/format.md and survives any damage") {
  const Profile profile = *parse_profile("10+4", "jerasure:cauchy_good,packetsize=64");
  std::string bytes;
  Encoder out(bytes);
  encode_profile(out, profile);
  CHECK(bytes == std::string("\x0a\x04\x04\x00\x40\x00\x00\x00", 8));
  {
    Decoder in(bytes);
    CHECK(*decode_profile(in) == profile);
    CHECK(in.remaining() == 0);
  }
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    Decoder in(std::string_view(bytes).substr(0, cut));
    CHECK(decode_profile(in).error().code == ErrorCode::kCorruption);
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      Decoder in(changed);
      const Result<Profile> found = decode_profile(in);
      if (found.ok()) {
        CHECK(validate(*found).ok());
      } else {
        CHECK((found.error().code == ErrorCode::kCorruption ||
               found.error().code == ErrorCode::kUnsupported));
      }
    }
  }
}
