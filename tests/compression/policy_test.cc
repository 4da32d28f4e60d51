#include "compression/policy.h"

#include <catch2/catch.hpp>
#include <string>

using namespace hexad;
using namespace hexad::compression;

namespace {

Policy with_mode(Mode mode) {
  Policy policy;
  policy.mode = mode;
  return policy;
}

}  // namespace

TEST_CASE("compression policy: each mode heeds the hints it has to") {
  constexpr Decision kRaw = Decision::kStoreRaw;
  constexpr Decision kProbe = Decision::kProbeThenCompress;
  constexpr Decision kTry = Decision::kCompress;
  struct Row {
    Mode mode;
    Decision without_hint, compressible, incompressible;
  };
  for (const Row& row :
       {Row{Mode::kNone, kRaw, kRaw, kRaw}, Row{Mode::kPassive, kRaw, kProbe, kRaw},
        Row{Mode::kAggressive, kProbe, kProbe, kRaw}, Row{Mode::kForce, kTry, kTry, kTry}}) {
    const Policy policy = with_mode(row.mode);
    CAPTURE(to_string(row.mode));
    CHECK(decide(policy, Hint::kNone, 4096) == row.without_hint);
    CHECK(decide(policy, Hint::kCompressible, 4096) == row.compressible);
    CHECK(decide(policy, Hint::kIncompressible, 4096) == row.incompressible);
    Policy without_algorithm = policy;
    without_algorithm.algorithm = Algorithm::kNone;
    CHECK(decide(without_algorithm, Hint::kCompressible, 4096) == kRaw);
  }
}

TEST_CASE("compression policy: payloads below min_blob_size are stored as they are in every mode") {
  for (Mode mode : {Mode::kPassive, Mode::kAggressive, Mode::kForce}) {
    Policy policy = with_mode(mode);
    policy.min_blob_size = 8192;
    CHECK(decide(policy, Hint::kCompressible, 8191) == Decision::kStoreRaw);
    CHECK(decide(policy, Hint::kCompressible, 8192) != Decision::kStoreRaw);
    policy.min_blob_size = 0;
    CHECK(decide(policy, Hint::kCompressible, 0) == Decision::kStoreRaw);
    CHECK(decide(policy, Hint::kCompressible, 1) != Decision::kStoreRaw);
  }
}

TEST_CASE("compression policy: the required ratio is met exactly at its boundary") {
  const Policy policy;
  CHECK(accepted_bytes(policy, 4096) == 3584);
  CHECK(accepted_bytes(policy, 8) == 7);
  CHECK(accepted_bytes(policy, 7) == 6);  // 6.125
  CHECK(accepted_bytes(policy, 0) == 0);
  Policy all = policy;
  all.required_ratio = 1000;
  CHECK(accepted_bytes(all, std::uint64_t{1} << 50) == std::uint64_t{1} << 50);
}

TEST_CASE("compression policy: ratios are read and written without loss") {
  for (std::uint32_t thousandths = 1; thousandths <= 1000; ++thousandths) {
    REQUIRE(*parse_ratio(format_ratio(thousandths)) == thousandths);
  }
  CHECK(format_ratio(875) == "0.875");
  CHECK(format_ratio(900) == "0.9");
  CHECK(format_ratio(5) == "0.005");
  CHECK(*parse_ratio("1") == 1000);
  CHECK(*parse_ratio("1.000") == 1000);
  CHECK(*parse_ratio("0.50") == 500);
  for (const char* text : {"", "0", "0.0", "1.001", "2", "-0.5", ".5", "0.", "0.8755", "0,5",
                           "0.5x", "1e-1", " 0.5", "0.5.5"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_ratio(text).ok());
  }
}

TEST_CASE("compression policy: text comes back as it was") {
  Policy policy;
  policy.mode = Mode::kAggressive;
  policy.algorithm = Algorithm::kZstd;
  policy.level = -3;
  policy.required_ratio = 910;
  policy.min_blob_size = 1000;
  policy.max_blob_size = 4096;
  CHECK(to_string(policy) ==
        "mode=aggressive,algorithm=zstd,level=-3,required_ratio=0.91,min_blob_size=1000,"
        "max_blob_size=4096");
  CHECK(*parse_policy(to_string(policy)) == policy);
  CHECK(*parse_policy("") == Policy{});
  CHECK(*parse_policy("", policy) == policy);
}

TEST_CASE("compression policy: single words and sizes with units are understood") {
  const Policy policy = *parse_policy("aggressive,zstd,level=3,max_blob_size=64KiB");
  CHECK(policy.mode == Mode::kAggressive);
  CHECK(policy.algorithm == Algorithm::kZstd);
  CHECK(policy.level == 3);
  CHECK(policy.max_blob_size == 65536);
  CHECK(parse_policy("none")->mode == Mode::kNone);
  for (const char* text : {"mode", "mode=", "mode=often", "gzip", "algorithm=brotli", "level=x",
                           "level=20,zstd", "required_ratio=2", "min_blob_size=-1",
                           "max_blob_size=5000", "max_blob_size=2KiB", "max_blob_size=2MiB",
                           "max_blob_size=16TiB", "colour=red", "snappy,level=1", ",", "zstd,,"}) {
    CAPTURE(text);
    const Result<Policy> found = parse_policy(text);
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code == ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("compression policy: the encoded form is the one in doc/format.md and survives damage") {
  const Policy policy = *parse_policy("aggressive,zstd,level=3");
  std::string bytes;
  Encoder out(bytes);
  encode_policy(out, policy);
  CHECK(bytes ==
        std::string("\x02\x02\x03\x00\x6b\x03\x00\x00\x00\x02\x00\x00\x00\x80\x00\x00", 16));
  Decoder in(bytes);
  CHECK(*decode_policy(in) == policy);

  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    Decoder short_in(std::string_view(bytes).substr(0, cut));
    CHECK(decode_policy(short_in).error().code == ErrorCode::kCorruption);
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      Decoder changed_in(changed);
      const Result<Policy> found = decode_policy(changed_in);
      if (found.ok()) {
        CHECK(validate(*found).ok());
      } else {
        CHECK((found.error().code == ErrorCode::kCorruption ||
               found.error().code == ErrorCode::kUnsupported));
      }
    }
  }
}
