#include "kv/run/run_merge_cursor.h"

#include <catch2/catch.hpp>

#include "tests/kv/cursor_turns.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

TEST_CASE("run_merge_cursor: it turns round anywhere and shows the newest entry of each key") {
  const std::uint64_t seed = 91;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (const int count : {1, 2, 3, 8}) {
    CAPTURE(count);
    std::vector<std::shared_ptr<RunReader>> runs;
    RunModel model;
    for (int i = 0; i < count; ++i) {
      const RunModel layer = random_run(rng, 1 + rng.below(200));
      for (const auto& [key, value] : layer) model[key] = value;
      runs.insert(runs.begin(), write_run(layer, i, i + 1).open());
    }
    RunMergeCursor cursor(runs);
    require_turns(
        cursor, model, rng, [&] { return random_probe(rng, model); }, 5000);
  }
}

TEST_CASE("run_merge_cursor: of no runs there is nothing") {
  RunMergeCursor cursor({});
  REQUIRE(cursor.seek_to_first().ok());
  REQUIRE_FALSE(cursor.valid());
  REQUIRE(cursor.seek_before("a").ok());
  REQUIRE_FALSE(cursor.valid());
}

TEST_CASE("run_merge_cursor: its own key may be where it goes") {
  const std::shared_ptr<RunReader> runs[] = {write_run({{"a", "1"}, {"b", "2"}}).open(),
                                             write_run({{"b", "0"}, {"c", "3"}}).open()};
  RunMergeCursor cursor(runs);
  REQUIRE(cursor.seek("b").ok());
  REQUIRE(cursor.seek(cursor.key()).ok());
  REQUIRE(cursor.key() == "b");
  REQUIRE(cursor.value() == "2");
  REQUIRE(cursor.seek_before(cursor.key()).ok());
  REQUIRE(cursor.key() == "a");
}

}  // namespace
}  // namespace hexad::kv
