// Codecs from many threads: first use of the libraries included, so this program does nothing else.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "ec/codec.h"
#include "tests/ec/naive.h"

using namespace hexad;
using namespace hexad::ec;

TEST_CASE("codec: threads that meet at the first use and share codecs get the right bytes") {
  const std::vector<Profile> profiles = {*parse_profile("4+2", "jerasure:cauchy_good"),
                                         *parse_profile("4+2", "jerasure:reed_sol_van"),
                                         *parse_profile("4+2", "isa:reed_sol_van")};
  constexpr int kThreads = 4;
  std::vector<std::unique_ptr<Codec>> shared(profiles.size());
  std::atomic<int> ready = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (std::size_t p = 0; p < profiles.size(); ++p) {
        const auto codec = std::move(make_codec(profiles[p])).value();
        std::vector<Bytes> stripe = naive::make_stripe(profiles[p], 4096, t);
        for (std::uint32_t a = 0; a < 6; ++a) {
          for (std::uint32_t b = a; b < 6; ++b) wrong += !naive::rebuilds(*codec, stripe, {a, b});
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  CHECK(wrong == 0);

  for (std::size_t p = 0; p < profiles.size(); ++p) {
    shared[p] = std::move(make_codec(profiles[p])).value();
  }
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t p = 0; p < profiles.size(); ++p) {
        std::vector<Bytes> stripe = naive::make_stripe(profiles[p], 1024, t);
        for (int round = 0; round < 50; ++round) {
          const auto first = static_cast<ShardIndex>(round % 6);
          wrong += !naive::rebuilds(*shared[p], stripe, {first, (first + 1 + round / 6) % 6});
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
