#include "kv/log/log_buffers.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "base/buffer_shelf.h"
#include "base/bytes.h"
#include "base/lent_memory.h"

namespace hexad::kv {
namespace {

constexpr std::uint64_t kBlock = 4096;

TEST_CASE("log_buffers: a buffer is used again for a block of its length, by one at a time") {
  LogBuffers buffers(LogBuffers::kMost);
  LogBuffer first = buffers.take(2 * kBlock);
  REQUIRE(first.bytes.size() == 2 * kBlock);
  REQUIRE(first.written == 2 * kBlock);  // new memory holds anything
  const std::byte* const memory = first.bytes.data();
  first.written = 100;
  buffers.put(std::move(first));

  const LogBuffer shorter = buffers.take(kBlock);
  REQUIRE(shorter.bytes.size() == kBlock);
  REQUIRE(shorter.bytes.data() != memory);
  const LogBuffer again = buffers.take(2 * kBlock);
  REQUIRE(again.bytes.data() == memory);
  REQUIRE(again.written == 100);
  const LogBuffer other = buffers.take(2 * kBlock);
  REQUIRE(other.bytes.data() != memory);
}

TEST_CASE("log_buffers: the newest are kept, and not those that others keep") {
  LogBuffers buffers(2);
  std::vector<LogBuffer> taken;
  std::vector<const std::byte*> memory;
  for (int i = 0; i < 3; ++i) {
    taken.push_back(buffers.take(kBlock));
    memory.push_back(taken.back().bytes.data());
  }
  for (LogBuffer& buffer : taken) {
    buffer.written = 1;
    buffers.put(std::move(buffer));
  }
  const LogBuffer last = buffers.take(kBlock);
  REQUIRE(last.bytes.data() == memory[2]);
  const LogBuffer before = buffers.take(kBlock);
  REQUIRE(before.bytes.data() == memory[1]);
  REQUIRE(buffers.take(kBlock).written == kBlock);  // a new one

  LogBuffer large = buffers.take(BufferShelf::kSmallest);
  large.written = 1;
  buffers.put(std::move(large));
  REQUIRE(buffers.take(BufferShelf::kSmallest).written == BufferShelf::kSmallest);
  buffers.put({});
  REQUIRE(buffers.take(kBlock).bytes.size() == kBlock);
}

// LB1: a device that has not answered writes what is there when it does.
TEST_CASE("log_buffers: what a device may still read is given to nobody") {
  LentMemory& memory = LentMemory::process();
  LogBuffers buffers(LogBuffers::kMost);
  LogBuffer block = buffers.take(2 * kBlock);
  std::fill(block.bytes.bytes().begin(), block.bytes.bytes().end(), std::byte{3});
  const ByteView lent = block.bytes.bytes();
  block.written = 1;
  memory.lend(lent);
  buffers.put(std::move(block));
  REQUIRE(memory.kept() == 1);
  for (int i = 0; i < 4; ++i) {
    LogBuffer next = buffers.take(2 * kBlock);
    REQUIRE(next.bytes.data() != lent.data());
    fill_zero(next.bytes.bytes());
  }
  REQUIRE(std::all_of(lent.begin(), lent.end(), [](std::byte b) { return b == std::byte{3}; }));
  memory.reclaim(lent);
  REQUIRE(memory.kept() == 0);

  LogBuffer free = buffers.take(2 * kBlock);
  free.written = 1;
  buffers.put(std::move(free));
  REQUIRE(buffers.take(2 * kBlock).written == 1);
}

}  // namespace
}  // namespace hexad::kv
