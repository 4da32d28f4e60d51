#include "alloc/sealed_block.h"

#include <catch2/catch.hpp>

#include "tests/alloc/test_support.h"

using namespace hexad;
using namespace hexad::alloc;
using alloc::testing::for_each_damage;

TEST_CASE("sealed_block: what was sealed comes back, whatever follows in the slot") {
  for (const std::size_t size : {0u, 1u, 100u, 5000u}) {
    const std::string body(size, 'b');
    std::string slot = seal("MAGIC678", body) + "left over from something longer";
    const auto found = unseal("MAGIC678", as_bytes(slot), "thing");
    REQUIRE(found.ok());
    CHECK(*found == body);
  }
}

TEST_CASE("sealed_block: every truncation and every flipped bit is noticed") {
  const std::string slot = seal("MAGIC678", "a body of some bytes");
  for_each_damage(slot, [&](const std::string& damaged) {
    const auto found = unseal("MAGIC678", as_bytes(damaged), "thing");
    REQUIRE(!found.ok());
    const bool magic_whole = damaged.substr(0, 8) == "MAGIC678";
    REQUIRE(found.error().code == (magic_whole ? ErrorCode::kCorruption : ErrorCode::kNotFound));
  });
}
