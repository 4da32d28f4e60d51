#include "base/aligned_buffer.h"

#include <catch2/catch.hpp>
#include <cstdint>

using hexad::AlignedBuffer;

TEST_CASE("aligned_buffer: starts on a 4 KiB boundary whatever its size") {
  for (const std::size_t size : {1, 511, 512, 4095, 4096, 4097, 18432, 1 << 20}) {
    const AlignedBuffer buffer(size);
    REQUIRE(buffer.size() == size);
    REQUIRE(reinterpret_cast<std::uintptr_t>(buffer.data()) % AlignedBuffer::kAlignment == 0);
  }
}

TEST_CASE("aligned_buffer: zeroed is zero and copy_of copies") {
  const AlignedBuffer zero = AlignedBuffer::zeroed(5000);
  REQUIRE(hexad::is_zero(zero));
  const AlignedBuffer copy = AlignedBuffer::copy_of(hexad::as_bytes("hexad"));
  REQUIRE(hexad::as_text(copy.bytes()) == "hexad");
  REQUIRE(AlignedBuffer::copy_of({}).empty());
}

TEST_CASE("aligned_buffer: moving hands the bytes over") {
  AlignedBuffer first = AlignedBuffer::copy_of(hexad::as_bytes("one"));
  const std::byte* data = first.data();
  AlignedBuffer second(std::move(first));
  REQUIRE(second.data() == data);
  AlignedBuffer third = AlignedBuffer::copy_of(hexad::as_bytes("two"));
  third = std::move(second);
  REQUIRE(third.data() == data);
  REQUIRE(hexad::as_text(third.bytes()) == "one");
}

TEST_CASE("aligned_buffer: an empty one has no bytes") {
  const AlignedBuffer none;
  REQUIRE(none.empty());
  REQUIRE(none.bytes().empty());
}
