#include "kv/run/run_cursor.h"

#include <catch2/catch.hpp>

#include "kv/run/run_reader.h"
#include "tests/kv/cursor_turns.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

void require_run_turns(const RunReader& run, const RunModel& model, io::Rng& rng, int steps) {
  require_turns(
      *run.cursor(), model, rng, [&] { return random_probe(rng, model); }, steps);
}

TEST_CASE("run_cursor: it turns round anywhere, at both ends too") {
  const std::uint64_t seed = 12;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (const std::size_t count : {1, 2, 40, 3000}) {
    CAPTURE(count);
    const RunModel model = random_run(rng, count);
    require_run_turns(*write_run(model).open(), model, rng, 4000);
  }
}

TEST_CASE("run_cursor: it turns round in an index of several levels") {
  const std::uint64_t seed = 13;
  CAPTURE(seed);
  io::Rng rng(seed);
  const RunModel model = deep_run();
  require_run_turns(*write_run(model).open(), model, rng, 3000);
}

TEST_CASE("run_cursor: a walk reads many blocks at once") {
  io::Rng rng(15);
  RunModel model;
  for (int i = 0; i < 50000; ++i) {
    model["object-" + std::to_string(1000000 + i)] = random_bytes(rng, 40);
  }
  const WrittenRun run = write_run(model);
  const auto cursor = run.open()->cursor();
  run.file->reads = 0;
  run.file->read_bytes = 0;
  std::size_t count = 0;
  Status status = cursor->seek_to_first();
  for (; status.ok() && cursor->valid(); status = cursor->next()) ++count;
  REQUIRE(status.ok());
  REQUIRE(count == model.size());
  REQUIRE(run.file->reads < run.info.bytes / (kRunReadAhead / 2));
  REQUIRE(run.file->read_bytes < run.info.bytes * 5 / 4);
}

TEST_CASE("run_cursor: after an error of the file it is not valid, until the next seek") {
  io::Rng rng(17);
  const RunModel model = random_run(rng, 3000);
  const WrittenRun run = write_run(model);
  const std::shared_ptr<RunReader> reader = run.open();
  const auto cursor = reader->cursor();
  REQUIRE(cursor->seek_to_first().ok());
  run.file->fails = true;
  Status status;
  while (status.ok() && cursor->valid()) status = cursor->next();
  REQUIRE_FALSE(status.ok());
  REQUIRE_FALSE(cursor->valid());
  run.file->fails = false;
  REQUIRE(cursor->seek_to_first().ok());
  REQUIRE(cursor->key() == model.begin()->first);
}

TEST_CASE("run_cursor: it lives longer than its reader") {
  const WrittenRun run = write_run({{"a", "1"}, {"b", std::nullopt}});
  const auto cursor = run.open()->cursor();
  REQUIRE(cursor->seek("b").ok());
  REQUIRE(cursor->key() == "b");
  REQUIRE_FALSE(cursor->value().has_value());
}

}  // namespace
}  // namespace hexad::kv
