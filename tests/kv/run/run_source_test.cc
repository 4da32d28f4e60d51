#include "kv/run/run_source.h"

#include <atomic>
#include <catch2/catch.hpp>

#include "kv/run/run_reader.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

TEST_CASE("run_source: the cache stays within its bound when the index does not") {
  const RunModel model = deep_run();
  const std::shared_ptr<RunReader> reader = write_run(model).open();
  for (const auto& [key, value] : model) {
    REQUIRE(reader->get(key)->value == value);
    REQUIRE(reader->cached_bytes() <= kRunCacheBytes);
  }
  REQUIRE(reader->cached_bytes() > kRunCacheBytes * 9 / 10);
}

TEST_CASE("run_source: threads that read at once read the same") {
  const RunModel model = deep_run();
  const std::shared_ptr<RunReader> reader = write_run(model).open();
  std::atomic<int> wrong{0};
  std::vector<std::unique_ptr<io::Thread>> threads;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    threads.push_back(run_executor().start("reader", [&, seed] {
      io::Rng rng(seed);
      for (int i = 0; i < 1000; ++i) {
        const auto expected = std::next(model.begin(), rng.below(model.size()));
        const auto found = reader->get(expected->first);
        if (!found.ok() || found->value != expected->second) ++wrong;
      }
    }));
  }
  for (const auto& thread : threads) thread->join();
  REQUIRE(wrong == 0);
  REQUIRE(reader->cached_bytes() <= kRunCacheBytes);
}

}  // namespace
}  // namespace hexad::kv
