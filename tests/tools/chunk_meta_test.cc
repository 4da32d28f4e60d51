#include "tools/erasure/chunk_meta.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

ChunkMeta example() {
  const ec::Profile profile = ec::parse_profile("4+2", "isa-vandermonde").value();
  return {profile, 1000, chunk_size(profile, 1000), {1, 2, 3, 4, 5, 0xffffffff}};
}

TEST_CASE("chunk_meta: what is written is read back") {
  CHECK(parse_meta(encode_meta(example())).value() == example());
}

TEST_CASE("chunk_meta: chunks are as small as the code allows") {
  const ec::Profile plain = ec::parse_profile("4+2").value();
  CHECK(chunk_size(plain, 0) == 0);
  CHECK(chunk_size(plain, 1) == 1);
  CHECK(chunk_size(plain, 4) == 1);
  CHECK(chunk_size(plain, 5) == 2);
  const ec::Profile packets =
      ec::parse_profile("4+2", "jerasure:cauchy_good,w=8,packetsize=64").value();
  CHECK(chunk_size(packets, 1) == 512);
  CHECK(chunk_size(packets, 2049) == 1024);
}

TEST_CASE("chunk_meta: isa:cauchy with one parity chunk is read as what that was once") {
  ChunkMeta meta = example();
  meta.profile = {5, 1, ec::CodecKind::kIsaCauchy, 0};
  meta.chunk = chunk_size(meta.profile, meta.length);
  std::string text = encode_meta(meta);
  CHECK(parse_meta(text).value() == meta);
  const std::string name = "isa:cauchy_row";
  REQUIRE(text.find(name) != std::string::npos);
  text.replace(text.find(name), name.size(), "isa:cauchy");  // as older versions wrote it
  CHECK(parse_meta(text).value() == meta);
}

TEST_CASE("chunk_meta: every truncation is an error") {
  const std::string text = encode_meta(example());
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    CAPTURE(size);
    REQUIRE_FALSE(parse_meta(text.substr(0, size)).ok());
  }
}

TEST_CASE("chunk_meta: impossible values are refused") {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = encode_meta(example());
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"1000", "-1000"},
                                                        {"1000", "1e99"},
                                                        {"1000", "9300000000000000000"},
                                                        {"1000", "2000"},
                                                        {"250", "251"},
                                                        {"4+2", "4+200"},
                                                        {"4+2", "5+1"},
                                                        {"isa:", "other:"},
                                                        {"4294967295", "4294967296"},
                                                        {",4294967295", ""},
                                                        {"[1", "[\"1\""},
                                                        {"\"length\"", "\"longth\""}}) {
    CAPTURE(from, to);
    CHECK_FALSE(parse_meta(with(from, to)).ok());
  }
}

}  // namespace
}  // namespace hexad::tools
