// What is asked of the allocator: a program that links this has malloc() and its like counted, of
// all threads, those of operator new among them.
#pragma once

#include <cstdint>

namespace hexad::bench {

struct MemoryCounts {
  std::uint64_t calls = 0;  // that ask for memory; realloc() is one
  std::uint64_t bytes = 0;  // asked for
};

// Since the program began. Any thread.
MemoryCounts memory_counts();

}  // namespace hexad::bench
