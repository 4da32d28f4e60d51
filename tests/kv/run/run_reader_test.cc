#include "kv/run/run_reader.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "kv/run/run_format.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

TEST_CASE("run_reader: what was written is read, in order and key by key") {
  const std::uint64_t seed = 11;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (const std::size_t count : {1, 2, 3, 50, 1000, 6000}) {
    CAPTURE(count);
    const RunModel model = random_run(rng, count);
    const WrittenRun run = write_run(model);
    REQUIRE(run.info.bytes == run.file->bytes.size());
    REQUIRE(run.info.entries == model.size());
    const std::shared_ptr<RunReader> reader = run.open();
    REQUIRE(reader->info() == run.info);
    REQUIRE(run_difference(*reader, model) == "");
    REQUIRE(reader->verify().ok());
    for (int i = 0; i < 500; ++i) {
      const std::string probe = random_probe(rng, model);
      const auto expected = model.find(probe);
      const Result<RunReader::Found> found = reader->get(probe);
      REQUIRE(found.ok());
      REQUIRE(found->there == (expected != model.end()));
      if (found->there) REQUIRE(found->value == expected->second);
    }
  }
}

TEST_CASE("run_reader: an index of several levels is walked and searched") {
  const RunModel model = deep_run();
  const WrittenRun run = write_run(model);
  const RunFooter footer =
      decode_run_footer(as_bytes(run.file->bytes).last(kRunFooterSize)).value();
  REQUIRE(footer.levels >= 3);
  const std::shared_ptr<RunReader> reader = run.open();
  REQUIRE(run_difference(*reader, model) == "");
  REQUIRE(reader->verify().ok());
}

TEST_CASE("run_reader: an empty run has nothing") {
  const WrittenRun run = write_run({});
  REQUIRE(run.info.bytes == kRunFooterSize);
  const std::shared_ptr<RunReader> reader = run.open();
  REQUIRE(run_difference(*reader, {}) == "");
  REQUIRE_FALSE(reader->get("a")->there);
  REQUIRE(reader->verify().ok());
  const auto cursor = reader->cursor();
  REQUIRE(cursor->seek("a").ok());
  REQUIRE_FALSE(cursor->valid());
  REQUIRE(cursor->seek_before("a").ok());
  REQUIRE_FALSE(cursor->valid());
}

TEST_CASE("run_reader: values of a MiB lie between small ones") {
  io::Rng rng(14);
  RunModel model;
  for (int i = 0; i < 20; ++i) {
    model["k" + std::to_string(i)] = i % 3 == 0 ? random_bytes(rng, 1_MiB + i) : std::string("s");
  }
  model["zeros"] = std::string(3_MiB, '\0');
  model[std::string(kMaxIndexKey, '\xff')] = "";
  const WrittenRun run = write_run(model);
  REQUIRE(run.info.bytes < 8_MiB);
  REQUIRE(run_difference(*run.open(), model) == "");
  REQUIRE(run.open()->verify().ok());
}

TEST_CASE("run_reader: opening reads the footer, a lookup a block of each level, filter and data") {
  RunModel model;
  for (int i = 0; i < 60000; ++i) {
    model["object-" + std::to_string(1000000 + 2 * i)] = "value " + std::to_string(i);
  }
  const WrittenRun run = write_run(model);
  std::shared_ptr<RunReader> reader = run.open();
  REQUIRE(run.file->reads == 1);
  REQUIRE(run.file->read_bytes == kRunFooterSize);
  REQUIRE(reader->get("object-1050000")->there);
  REQUIRE(run.file->reads == 1 + 4);  // root, filter, leaf, data
  run.file->reads = 0;
  REQUIRE(reader->get("object-1050002")->there);
  REQUIRE(run.file->reads == 0);  // the same block
  REQUIRE(reader->get("object-1040000")->there);
  REQUIRE(run.file->reads == 1);
  // An absent key is one that the filter does not know, nearly always.
  run.file->reads = 0;
  for (int i = 0; i < 60000; ++i) {
    REQUIRE_FALSE(reader->get("object-" + std::to_string(1000000 + 2 * i + 1))->there);
  }
  REQUIRE(run.file->reads < 60000 * 15 / 1000);
}

TEST_CASE("run_reader: what may not be read is told from what is not there") {
  RunModel model;
  for (int i = 0; i < 60000; ++i) model["object-" + std::to_string(1000000 + 2 * i)] = "value";
  const WrittenRun run = write_run(model);
  MapRunCache cache(1000);
  const std::shared_ptr<RunReader> reader = run.open(cache);
  using Reads = RunReader::Reads;
  const auto get = [&](const char* key, Reads reads) { return reader->get(key, reads).value(); };
  REQUIRE_FALSE(get("object-1050000", Reads::kNone).known);
  REQUIRE_FALSE(get("object-1050000", Reads::kDataOnly).known);
  REQUIRE(run.file->reads == 1);  // the footer
  REQUIRE(get("object-1050000", Reads::kAll).there);
  REQUIRE(get("object-1050000", Reads::kNone).there);
  // Another block of the same leaf.
  REQUIRE_FALSE(get("object-1040000", Reads::kNone).known);
  REQUIRE(get("object-1040000", Reads::kDataOnly).there);
  REQUIRE(get("object-1040000", Reads::kNone).value == "value");
  // The filter alone says that this one is not there.
  REQUIRE(get("object-1040001", Reads::kNone).known);
  REQUIRE_FALSE(get("object-1040001", Reads::kNone).there);
}

TEST_CASE("run_reader: arguments that cannot be are refused") {
  const WrittenRun run = write_run({{"a", "1"}});
  const auto reader = run.open();
  REQUIRE(reader->get("").error().code == ErrorCode::kInvalidArgument);
  REQUIRE(reader->get(std::string(kMaxIndexKey + 1, 'k')).error().code ==
          ErrorCode::kInvalidArgument);
  REQUIRE_FALSE(reader->get(std::string(kMaxIndexKey, 'k'))->there);
}

TEST_CASE("run_reader: a file that is not what the manifest says is not opened") {
  const WrittenRun run = write_run({{"a", "1"}, {"b", std::nullopt}}, 3, 9);
  REQUIRE(run.info.tombstones == 1);
  const auto code = [&](const RunInfo& info, const Uuid& store) {
    const auto reader = RunReader::open(run.file, store, info, run_cache());
    return reader.ok() ? std::nullopt : std::optional(reader.error().code);
  };
  REQUIRE(code(run.info, run_store()) == std::nullopt);
  REQUIRE(code(run.info, Uuid{}) == ErrorCode::kCorruption);
  RunInfo other = run.info;
  ++other.footer_crc;
  REQUIRE(code(other, run_store()) == ErrorCode::kCorruption);
  other = run.info;
  ++other.entries;
  REQUIRE(code(other, run_store()) == ErrorCode::kCorruption);
  other = run.info;
  ++other.last_lsn;
  REQUIRE(code(other, run_store()) == ErrorCode::kCorruption);
  other = run.info;
  --other.bytes;
  REQUIRE(code(other, run_store()) == ErrorCode::kCorruption);
  REQUIRE(code({}, run_store()) == ErrorCode::kCorruption);
  run.file->fails = true;
  REQUIRE(code(run.info, run_store()) == ErrorCode::kIo);
}

}  // namespace
}  // namespace hexad::kv
