#include "base/lent_memory.h"

#include <catch2/catch.hpp>
#include <optional>

#include "base/aligned_buffer.h"

using hexad::AlignedBuffer;
using hexad::ByteView;
using hexad::LentMemory;

TEST_CASE("lent_memory: a buffer that is lent in part stays as it is until it is taken back") {
  LentMemory& memory = LentMemory::process();
  // Large enough for the shelf, from where the next one would have it.
  constexpr std::size_t kSize = 128 << 10;
  std::optional<AlignedBuffer> buffer(AlignedBuffer::zeroed(kSize));
  std::byte* const data = buffer->data();
  const ByteView part = ByteView(*buffer).subspan(4096, 4096);
  memory.lend(part);
  memory.lend(part);
  buffer.reset();
  REQUIRE(memory.kept() == 1);
  for (int i = 0; i < 4; ++i) {
    AlignedBuffer other(kSize);
    REQUIRE(other.data() != data);
    std::fill(other.bytes().begin(), other.bytes().end(), std::byte{7});
  }
  REQUIRE(hexad::is_zero(part));
  memory.reclaim(part);
  REQUIRE(memory.kept() == 1);
  memory.reclaim(part);
  REQUIRE(memory.kept() == 0);
}

TEST_CASE("lent_memory: other buffers go at once") {
  LentMemory& memory = LentMemory::process();
  AlignedBuffer lent(8192);
  memory.lend(ByteView(lent).first(4096));
  { const AlignedBuffer other(8192); }
  REQUIRE(memory.kept() == 0);
  memory.reclaim(ByteView(lent).first(4096));
  { const AlignedBuffer gone = std::move(lent); }
  REQUIRE(memory.kept() == 0);
}
