#include "benchmarks/op_counts/counted_memory.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

// Constants before anything allocates, so there is no order of initialisation to think of.
std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> asked{0};

void count(std::size_t bytes) {
  calls.fetch_add(1, std::memory_order_relaxed);
  asked.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  count(size);
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
  count(number * size);
  return __libc_calloc(number, size);
}
void* realloc(void* old, std::size_t size) {
  count(size);
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  count(size);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count(size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** to, std::size_t alignment, std::size_t size) {
  count(size);
  *to = __libc_memalign(alignment, size);
  return *to == nullptr ? ENOMEM : 0;
}
}

namespace hexad::bench {

MemoryCounts memory_counts() {
  return {calls.load(std::memory_order_relaxed), asked.load(std::memory_order_relaxed)};
}

}  // namespace hexad::bench
