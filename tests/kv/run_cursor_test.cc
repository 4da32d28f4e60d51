#include "kv/run_cursor.h"

#include <catch2/catch.hpp>

#include "kv/run_reader.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

// A cursor goes anywhere in `run`, which holds what `model` does.
void require_turns(const RunReader& run, const RunModel& model, io::Rng& rng, int steps) {
  const std::unique_ptr<RunReader::Cursor> cursor = run.cursor();
  auto at = model.end();
  const auto before = [&](RunModel::const_iterator it) {
    return it == model.begin() ? model.end() : std::prev(it);
  };
  for (int step = 0; step < steps; ++step) {
    const std::string probe = random_probe(rng, model);
    Status status;
    const std::uint64_t choice = rng.below(at == model.end() ? 4 : 16);
    if (choice == 0) {
      at = model.lower_bound(probe);
      status = cursor->seek(probe);
    } else if (choice == 1) {
      at = before(model.lower_bound(probe));
      status = cursor->seek_before(probe);
    } else if (choice == 2) {
      at = model.begin();
      status = cursor->seek_to_first();
    } else if (choice == 3) {
      at = before(model.end());
      status = cursor->seek_to_last();
    } else if (choice < 10) {
      ++at;
      status = cursor->next();
    } else {
      at = before(at);
      status = cursor->prev();
    }
    REQUIRE(status.ok());
    REQUIRE(cursor->valid() == (at != model.end()));
    if (!cursor->valid()) continue;
    REQUIRE(cursor->key() == at->first);
    REQUIRE(cursor->value() == at->second);
  }
}

TEST_CASE("run_cursor: it turns round anywhere, at both ends too") {
  const std::uint64_t seed = 12;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (const std::size_t count : {1, 2, 40, 3000}) {
    CAPTURE(count);
    const RunModel model = random_run(rng, count);
    require_turns(*write_run(model).open(), model, rng, 4000);
  }
}

TEST_CASE("run_cursor: it turns round in an index of several levels") {
  const std::uint64_t seed = 13;
  CAPTURE(seed);
  io::Rng rng(seed);
  const RunModel model = deep_run();
  require_turns(*write_run(model).open(), model, rng, 3000);
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
