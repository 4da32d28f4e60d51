#include "base/buffer_shelf.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"

using hexad::AlignedBuffer;
using hexad::BufferShelf;

namespace {

constexpr std::size_t kMiB = 1 << 20;

std::byte* fresh(std::size_t bytes) {
  return static_cast<std::byte*>(
      std::aligned_alloc(AlignedBuffer::kAlignment, BufferShelf::capacity_for(bytes)));
}

}  // namespace

TEST_CASE("buffer_shelf: capacities hold what is asked for and an eighth more at most") {
  REQUIRE(BufferShelf::capacity_for(1) == 4096);
  REQUIRE(BufferShelf::capacity_for(4097) == 8192);
  REQUIRE(BufferShelf::capacity_for(kMiB) == kMiB);
  REQUIRE(BufferShelf::capacity_for(3 * kMiB / 2) == 3 * kMiB / 2);
  for (std::size_t bytes = 4096; bytes < 64 * kMiB; bytes += bytes / 7 + 1) {
    const std::size_t capacity = BufferShelf::capacity_for(bytes);
    REQUIRE(capacity >= bytes);
    REQUIRE(capacity % AlignedBuffer::kAlignment == 0);
    REQUIRE(capacity <= bytes + std::max<std::size_t>(AlignedBuffer::kAlignment, bytes / 8));
    REQUIRE(BufferShelf::capacity_for(capacity) == capacity);
  }
}

TEST_CASE("buffer_shelf: what was put is taken again by who needs about as much") {
  BufferShelf shelf;
  std::byte* first = fresh(kMiB);
  shelf.put(first, kMiB);
  REQUIRE(shelf.bytes() == kMiB);
  REQUIRE(shelf.take(2 * kMiB) == nullptr);
  REQUIRE(shelf.take(kMiB / 2) == nullptr);
  std::byte* again = shelf.take(kMiB - 1000);
  REQUIRE(again == first);
  REQUIRE(shelf.bytes() == 0);
  REQUIRE(shelf.take(kMiB) == nullptr);
  std::free(again);
}

TEST_CASE("buffer_shelf: the newest is taken first and the oldest goes first") {
  BufferShelf shelf(3 * kMiB);
  std::byte* buffers[4] = {fresh(kMiB), fresh(kMiB), fresh(kMiB), fresh(kMiB)};
  for (std::byte* buffer : buffers) shelf.put(buffer, kMiB);  // the first is freed
  REQUIRE(shelf.bytes() == 3 * kMiB);
  REQUIRE(shelf.take(kMiB) == buffers[3]);
  REQUIRE(shelf.take(kMiB) == buffers[2]);
  REQUIRE(shelf.take(kMiB) == buffers[1]);
  REQUIRE(shelf.take(kMiB) == nullptr);
  for (int i = 1; i < 4; ++i) std::free(buffers[i]);
}

TEST_CASE("buffer_shelf: one from the middle leaves the others in their order") {
  BufferShelf shelf;
  std::byte* large = fresh(2 * kMiB);
  std::byte* first = fresh(kMiB);
  std::byte* second = fresh(kMiB);
  shelf.put(first, kMiB);
  shelf.put(large, 2 * kMiB);
  shelf.put(second, kMiB);
  REQUIRE(shelf.take(2 * kMiB) == large);
  REQUIRE(shelf.take(kMiB) == second);
  REQUIRE(shelf.take(kMiB) == first);
  for (std::byte* buffer : {large, first, second}) std::free(buffer);
}

TEST_CASE("buffer_shelf: small ones, and those that are larger than all of it, are freed") {
  BufferShelf shelf(kMiB);
  shelf.put(fresh(4096), 4096);
  shelf.put(fresh(2 * kMiB), 2 * kMiB);
  shelf.put(nullptr, 0);
  REQUIRE(shelf.bytes() == 0);
  REQUIRE(shelf.take(4096) == nullptr);
  REQUIRE(shelf.take(2 * kMiB) == nullptr);
}

TEST_CASE("buffer_shelf: as many small ones are kept as there are places, and clear() frees all") {
  BufferShelf shelf;
  const std::size_t size = BufferShelf::kSmallest;
  for (std::size_t i = 0; i < 2 * BufferShelf::kMost / size; ++i) shelf.put(fresh(size), size);
  REQUIRE(shelf.bytes() == BufferShelf::kMost);
  shelf.clear();
  REQUIRE(shelf.bytes() == 0);
  REQUIRE(shelf.take(size) == nullptr);
}

TEST_CASE("buffer_shelf: aligned buffers come from it and go back to it") {
  BufferShelf& shelf = BufferShelf::process();
  shelf.clear();
  const std::byte* data = nullptr;
  {
    const AlignedBuffer buffer(kMiB);
    data = buffer.data();
  }
  if (shelf.most() == 0) {  // the address sanitizer's build
    REQUIRE(shelf.bytes() == 0);
    return;
  }
  REQUIRE(shelf.bytes() == kMiB);
  const AlignedBuffer again(kMiB - 5);
  REQUIRE(again.data() == data);
  REQUIRE(shelf.bytes() == 0);
  const AlignedBuffer other(kMiB);
  REQUIRE(other.data() != data);
}

TEST_CASE("buffer_shelf: zeroed ones are zero whatever was in them") {
  {
    AlignedBuffer buffer(kMiB);
    std::memset(buffer.data(), 0xff, buffer.size());
  }
  REQUIRE(hexad::is_zero(AlignedBuffer::zeroed(kMiB)));
}

// BS1: two who have the same buffer would see each other's marks.
TEST_CASE("buffer_shelf: threads never have the same buffer") {
  BufferShelf shelf(4 * kMiB);
  std::atomic<int> wrong{0};
  std::atomic<int> reused{0};
  std::vector<std::thread> threads;
  for (int id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      for (int i = 0; i < 4000; ++i) {
        const std::size_t size = BufferShelf::kSmallest << (i % 3);
        std::byte* buffer = shelf.take(size);
        if (buffer != nullptr) ++reused;
        if (buffer == nullptr) buffer = fresh(size);
        std::memset(buffer, id, 64);
        std::this_thread::yield();
        for (int at = 0; at < 64; ++at) {
          if (buffer[at] != static_cast<std::byte>(id)) ++wrong;
        }
        shelf.put(buffer, size);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong == 0);
  REQUIRE(reused > 0);
  REQUIRE(shelf.bytes() <= shelf.most());
  shelf.clear();
}
