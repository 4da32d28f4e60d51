// What compression did, counted. Any thread; each number is exact, a snapshot is not one instant.
#pragma once

#include <atomic>
#include <cstdint>

namespace hexad::compression {

// Named as in `perf dump`. Since the store was opened.
struct CounterValues {
  std::uint64_t compress_success_count = 0;   // payloads kept compressed
  std::uint64_t compress_rejected_count = 0;  // tried, but over the required ratio
  std::uint64_t compress_skipped_count = 0;   // not tried: the probe saw noise
  std::uint64_t compressed = 0;               // bytes of the kept compressed forms
  std::uint64_t compressed_original = 0;      // bytes of the payloads they stand for
  std::uint64_t compress_ns = 0;              // time spent compressing and probing
  std::uint64_t compress_calls = 0;           // what compress_ns is the sum of
  std::uint64_t decompress_ns = 0;
  std::uint64_t decompress_calls = 0;
};

class Counters {
 public:
  void add_success(std::uint64_t stored, std::uint64_t original) {
    add(success_, 1);
    add(compressed_, stored);
    add(original_, original);
  }
  void add_rejected() { add(rejected_, 1); }
  void add_skipped() { add(skipped_, 1); }
  // A clock that stood still or was simulated may give 0; negative counts as 0.
  void add_compress_time(std::int64_t ns) {
    add(compress_calls_, 1);
    add(compress_ns_, ns < 0 ? 0 : static_cast<std::uint64_t>(ns));
  }
  void add_decompress_time(std::int64_t ns) {
    add(decompress_calls_, 1);
    add(decompress_ns_, ns < 0 ? 0 : static_cast<std::uint64_t>(ns));
  }

  CounterValues snapshot() const {
    CounterValues values;
    values.compress_success_count = get(success_);
    values.compress_rejected_count = get(rejected_);
    values.compress_skipped_count = get(skipped_);
    values.compressed = get(compressed_);
    values.compressed_original = get(original_);
    values.compress_ns = get(compress_ns_);
    values.compress_calls = get(compress_calls_);
    values.decompress_ns = get(decompress_ns_);
    values.decompress_calls = get(decompress_calls_);
    return values;
  }

 private:
  using Counter = std::atomic<std::uint64_t>;
  // Nothing is ordered by a counter.
  static void add(Counter& counter, std::uint64_t by) {
    counter.fetch_add(by, std::memory_order_relaxed);
  }
  static std::uint64_t get(const Counter& counter) {
    return counter.load(std::memory_order_relaxed);
  }

  Counter success_{0}, rejected_{0}, skipped_{0}, compressed_{0}, original_{0};
  Counter compress_ns_{0}, compress_calls_{0}, decompress_ns_{0}, decompress_calls_{0};
};

}  // namespace hexad::compression
