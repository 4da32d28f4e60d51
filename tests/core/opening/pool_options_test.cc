#include "core/opening/pool_options.h"

#include <catch2/catch.hpp>

namespace hexad::core {
namespace {

// The example of doc/format.md#pool-options.
PoolOptions example() {
  PoolOptions options;
  options.fast_directories = {"/pool/fast"};
  for (DeviceId id = 0; id < 6; ++id) {
    options.devices.push_back({id, alloc::DeviceRole::kData, 256, 11});
  }
  options.devices.push_back({6, alloc::DeviceRole::kLog, 0, 0});
  return options;
}

constexpr std::string_view kExample(
    "\x01\x04\x02\x01\x00\x00\x00\x00\x00\x00\x01\x00\x00\x6b\x03\x00\x00\x00\x02\x00\x00\x00\x80"
    "\x00\x00\x01\x0a/pool/fast\x07\x00\x01\x80\x02\x0b\x01\x01\x80\x02\x0b\x02\x01\x80\x02\x0b"
    "\x03\x01\x80\x02\x0b\x04\x01\x80\x02\x0b\x05\x01\x80\x02\x0b\x06\x02\x00\x00",
    72);

TEST_CASE("pool_options: the example of the format encodes and decodes") {
  CHECK(encode_pool_options(example()) == kExample);
  const Result<PoolOptions> decoded = decode_pool_options(kExample);
  REQUIRE(decoded.ok());
  CHECK(*decoded == example());
}

TEST_CASE("pool_options: every truncation and every longer input is refused") {
  const std::string bytes(kExample);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(decode_pool_options(bytes.substr(0, length)).ok());
  }
  CHECK_FALSE(decode_pool_options(bytes + '\0').ok());
}

TEST_CASE("pool_options: changed bytes are refused or decode to something that encodes") {
  const std::string bytes(kExample);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      const Result<PoolOptions> decoded = decode_pool_options(changed);
      if (!decoded.ok()) continue;
      const Result<PoolOptions> again = decode_pool_options(encode_pool_options(*decoded));
      CAPTURE(at, value);
      REQUIRE(again.ok());
      CHECK(*again == *decoded);
    }
  }
}

TEST_CASE("pool_options: the index is in the first fast directory") {
  CHECK(index_directory({"/a", "/b"}) == fast_index_path("/a"));
  CHECK(index_directory({}) == "index");
}

}  // namespace
}  // namespace hexad::core
