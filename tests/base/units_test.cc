#include "base/units.h"

#include <catch2/catch.hpp>

using namespace hexad;

TEST_CASE("units: rounding works for multiples that are no power of two") {
  static_assert(round_up(1, 18_KiB) == 18_KiB);
  static_assert(round_up(18_KiB, 18_KiB) == 18_KiB);
  static_assert(round_up(0, 18_KiB) == 0);
  static_assert(round_down(18_KiB - 1, 18_KiB) == 0);
  static_assert(round_down(37_KiB, 18_KiB) == 36_KiB);
  static_assert(divide_up(1, 3) == 1 && divide_up(3, 3) == 1 && divide_up(4, 3) == 2);
  static_assert(is_multiple(36_KiB, 18_KiB) && !is_multiple(1, 18_KiB));
  static_assert(add_overflows(~0ull, 1) && !add_overflows(~0ull, 0));
  static_assert(1_TiB == 1024_GiB && 1_GiB == 1024_MiB);
}

TEST_CASE("units: sizes read as people write them") {
  REQUIRE(format_size(0) == "0 B");
  REQUIRE(format_size(512) == "512 B");
  REQUIRE(format_size(18_KiB) == "18 KiB");
  REQUIRE(format_size(1536_MiB) == "1.5 GiB");
  REQUIRE(format_size(3_TiB) == "3 TiB");
}

TEST_CASE("units: sizes are parsed in every accepted spelling") {
  for (const char* text : {"4096", "4KiB", "4 KiB", "4k", "4K", "4KB", "4kib", "4096b"}) {
    CAPTURE(text);
    REQUIRE(parse_size(text).value() == 4096);
  }
  REQUIRE(parse_size("1.5GiB").value() == 1536_MiB);
  REQUIRE(parse_size("0").value() == 0);
  REQUIRE(parse_size("1.").value() == 1);
  REQUIRE(parse_size("0.0009765625 MiB").value() == 1_KiB);
  for (std::uint64_t size : {std::uint64_t{1}, 18_KiB, 3_GiB}) {
    REQUIRE(parse_size(format_size(size)).value() == size);
  }
}

TEST_CASE("units: no digit of a large size is lost") {
  const std::uint64_t most = ~std::uint64_t{0} >> 1;
  for (const std::uint64_t size :
       {(std::uint64_t{1} << 53) + 1, (std::uint64_t{1} << 60) + 1, most - 1, most}) {
    REQUIRE(parse_size(std::to_string(size)).value() == size);
  }
  REQUIRE(parse_size("9007199254740993KiB").error().code == ErrorCode::kInvalidArgument);
  REQUIRE(parse_size("9007199254740991KiB").value() == 9007199254740991_KiB);
  REQUIRE(parse_size("7.999999999999999999EiB").value() == most - 1);
  REQUIRE_FALSE(parse_size("8EiB").ok());
  REQUIRE_FALSE(parse_size(std::to_string(most + 1)).ok());
  REQUIRE_FALSE(parse_size("99999999999999999999").ok());
}

TEST_CASE("units: what is not a size is refused with a hint") {
  for (const char* text : {"", "k", "-1", "4x", "4 KiBs", "4ib", "99999E", "nan", "1e3", "0x10",
                           ".5", "1.5.5", "4KiB4", " 4"}) {
    CAPTURE(text);
    const auto parsed = parse_size(text);
    REQUIRE(parsed.error().code == ErrorCode::kInvalidArgument);
    REQUIRE_FALSE(parsed.error().hint.empty());
  }
}
