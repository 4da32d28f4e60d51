#include "compression/counters.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

using namespace hexad::compression;

TEST_CASE("compression counters: a time that runs backwards adds nothing") {
  Counters counters;
  counters.add_compress_time(-5);
  counters.add_decompress_time(7);
  CHECK(counters.snapshot().compress_ns == 0);
  CHECK(counters.snapshot().compress_calls == 1);
  CHECK(counters.snapshot().decompress_ns == 7);
}

TEST_CASE("compression counters: nothing is lost between threads") {
  Counters counters;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        counters.add_success(3, 10);
        counters.add_rejected();
        counters.add_skipped();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const CounterValues values = counters.snapshot();
  CHECK(values.compress_success_count == 4000);
  CHECK(values.compressed == 12000);
  CHECK(values.compressed_original == 40000);
  CHECK(values.compress_rejected_count == 4000);
  CHECK(values.compress_skipped_count == 4000);
}
