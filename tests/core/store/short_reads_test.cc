// A commit that finds no space while a read looks at what has been removed: it waits for the read.
// Before, it was refused, although the space was its own a moment later.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "tests/core/rules_world.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kSize = 150'000;

struct Outcome {
  std::string problem;
  std::string refused;  // what the put was told
  bool waited = false;  // it had no answer while the read had none
  std::string read;
};

enum class Removes : std::uint8_t { kNothing, kSome };

// Fills a store, holds back a read, removes what it does not read, and puts something in its place.
// The read goes on `after` so long, or when the put has its answer.
Outcome put_beside_read(io::Nanos after, Removes removes = Removes::kSome) {
  World world({.device_size = 16_MiB});
  Outcome outcome;
  bool holding = false;
  int held = 0;
  world.hold([&](const SimOp& op) {
    const bool hold = holding && op.op == io::IoOp::kRead;
    held += hold ? 1 : 0;
    return hold;
  });
  outcome.problem = world.with_store([&](Store& store) -> std::string {
    int count = 0;
    while (put(store, std::to_string(count), noise(kSize, count)).ok()) ++count;
    if (count < 20) return "room for " + std::to_string(count);
    io::Executor& executor = world.system().executor();
    holding = true;
    auto reader = executor.start("reader", [&] { outcome.read = get(store, "9"); });
    while (held == 0) executor.sleep_for(1'000'000);
    // The reserve grows with the runs: more than one for the one that comes.
    const auto touch = [](Transaction& t) { t.touch(kBucket, "11"); };
    for (int i = 0; i < 4; ++i) {
      const bool done = removes == Removes::kSome ? remove(store, std::to_string(i)).ok()
                                                  : commit(store, touch).ok();
      if (!done) return "remove or touch";
    }
    bool answered = false;
    auto writer = executor.start("writer", [&] {
      outcome.refused = message_of(put(store, "new", noise(kSize, 1000)).status());
      answered = true;
    });
    const io::Nanos until = executor.clock().now() + after;
    while (!answered && executor.clock().now() < until) executor.sleep_for(1'000'000);
    outcome.waited = !answered;
    holding = false;
    world.release();
    reader->join();
    writer->join();
    if (outcome.read != noise(kSize, 9)) return "another object was read";
    if (removes == Removes::kNothing) return deep_findings(store);
    // Now there is nothing in its way.
    const std::string again = message_of(put(store, "new", noise(kSize, 1001)).status());
    if (!again.empty()) return "again: " + again;
    if (get(store, "new") != noise(kSize, 1001)) return "another object is there";
    return deep_findings(store);
  });
  return outcome;
}

TEST_CASE("short_reads: a commit waits for a read that looks at what it needs") {
  const Outcome outcome = put_beside_read(500'000'000);
  CHECK(outcome.problem == "");
  CHECK(outcome.waited);
  CHECK(outcome.refused == "");
}

TEST_CASE("short_reads: it does not wait for ever, and says what is in the way") {
  const Outcome outcome = put_beside_read(3'600'000'000'000);
  CHECK(outcome.problem == "");
  CHECK_FALSE(outcome.waited);
  CHECK_THAT(outcome.refused,
             Catch::Contains("no room") && Catch::Contains("is being read just now"));
}

TEST_CASE("short_reads: a read of what nobody has removed is in nobody's way") {
  const Outcome outcome = put_beside_read(3'600'000'000'000, Removes::kNothing);
  CHECK(outcome.problem == "");
  CHECK_FALSE(outcome.waited);
  CHECK_THAT(outcome.refused,
             Catch::Contains("no room") && !Catch::Contains("is being read just now"));
}

}  // namespace
}  // namespace hexad::testing
