#include "kv/run_reader.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "kv/run_format.h"
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

// A large index of several levels over little data: every other block ends between two keys that
// differ in their last byte only, and shares nothing with those further away.
RunModel deep_run() {
  io::Rng rng(10);
  RunModel model;
  for (int i = 0; i < 1500; ++i) {
    const std::string key = random_bytes(rng, 3900);
    model[key + 'a'] = std::string(9000, static_cast<char>('a' + i % 7));
    model[key + 'b'] = std::string(9000, static_cast<char>('a' + i % 7));
  }
  return model;
}

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

TEST_CASE("run_reader: a cursor turns round anywhere, at both ends too") {
  const std::uint64_t seed = 12;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (const std::size_t count : {1, 2, 40, 3000}) {
    CAPTURE(count);
    const RunModel model = random_run(rng, count);
    require_turns(*write_run(model).open(), model, rng, 4000);
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
  REQUIRE(reader->cached_bytes() <= kRunCacheBytes);
  io::Rng rng(13);
  require_turns(*reader, model, rng, 3000);
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
  REQUIRE(run.file->reads == 1);
  // An absent key is one that the filter does not know, nearly always.
  run.file->reads = 0;
  for (int i = 0; i < 60000; ++i) {
    REQUIRE_FALSE(reader->get("object-" + std::to_string(1000000 + 2 * i + 1))->there);
  }
  REQUIRE(run.file->reads < 60000 * 15 / 1000);
  REQUIRE(reader->cached_bytes() <= kRunCacheBytes);
}

TEST_CASE("run_reader: a walk reads many blocks at once") {
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

TEST_CASE("run_reader: the cache stays within its bound when the index does not") {
  const RunModel model = deep_run();
  const std::shared_ptr<RunReader> reader = write_run(model).open();
  for (const auto& [key, value] : model) {
    REQUIRE(reader->get(key)->value == value);
    REQUIRE(reader->cached_bytes() <= kRunCacheBytes);
  }
  REQUIRE(reader->cached_bytes() > kRunCacheBytes * 9 / 10);
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
    const auto reader = RunReader::open(run.file, store, info, run_executor());
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

TEST_CASE("run_reader: errors of the file come through, and a cursor is not valid after one") {
  io::Rng rng(17);
  const RunModel model = random_run(rng, 3000);
  const WrittenRun run = write_run(model);
  const std::shared_ptr<RunReader> reader = run.open();
  const auto cursor = reader->cursor();
  REQUIRE(cursor->seek_to_first().ok());
  run.file->fails = true;
  REQUIRE(reader->get(model.begin()->first).error().code == ErrorCode::kIo);
  REQUIRE(reader->verify().error().code == ErrorCode::kIo);
  Status status;
  while (status.ok() && cursor->valid()) status = cursor->next();
  REQUIRE_FALSE(status.ok());
  REQUIRE_FALSE(cursor->valid());
  run.file->fails = false;
  REQUIRE(cursor->seek_to_first().ok());
  REQUIRE(cursor->key() == model.begin()->first);
}

// Every byte of a run of two blocks and more is flipped: whoever looks says so, or was not there.
TEST_CASE("run_reader: no flipped byte gives a wrong answer") {
  const std::uint64_t seed = 18;
  CAPTURE(seed);
  io::Rng rng(seed);
  RunModel model;
  for (int i = 0; i < 300; ++i) {
    model["key" + std::to_string(1000 + i)] = random_bytes(rng, i % 90);
  }
  model["key1007"] = std::nullopt;
  const WrittenRun run = write_run(model, 5, 77);
  const auto good = run.open();
  for (std::size_t at = 0; at < run.file->bytes.size(); ++at) {
    CAPTURE(at);
    char& byte = run.file->bytes[at];
    const char old = byte;
    byte = static_cast<char>(byte ^ 1 << rng.below(8));
    const auto reader = run.try_open();
    if (!reader.ok()) {
      REQUIRE(reader.error().code == ErrorCode::kCorruption);
      REQUIRE(at >= run.file->bytes.size() - kRunFooterSize);
    } else {
      const Status status = (*reader)->verify();
      REQUIRE_FALSE(status.ok());
      REQUIRE(status.error().code == ErrorCode::kCorruption);
      REQUIRE(status.error().message.find("(5, 77]") != std::string::npos);
      REQUIRE_FALSE(status.error().hint.empty());
      for (int i = 0; i < 8; ++i) {
        const auto expected = std::next(model.begin(), rng.below(model.size()));
        const auto found = (*reader)->get(expected->first);
        if (found.ok()) {
          REQUIRE((found->there && found->value == expected->second));
        } else {
          REQUIRE(found.error().code == ErrorCode::kCorruption);
        }
      }
    }
    byte = old;
  }
  REQUIRE(run_difference(*good, model) == "");
}

TEST_CASE("run_reader: a block at another block's place is noticed") {
  io::Rng rng(19);
  RunModel model;
  for (int i = 0; i < 64; ++i) model["k" + std::to_string(100 + i)] = random_bytes(rng, 16300);
  const WrittenRun run = write_run(model);
  // All blocks of data have one length.
  const std::size_t length = 16300 + 4 + 2 + 2 + 3;
  std::string& bytes = run.file->bytes;
  const std::string first = bytes.substr(0, length);
  const std::string second = bytes.substr(length, length);
  bytes.replace(0, length, second).replace(length, length, first);
  const auto found = run.open()->get("k100");
  REQUIRE(found.error().code == ErrorCode::kCorruption);
  bytes.replace(0, length, first).replace(length, length, second);
  REQUIRE(run.open()->get("k100")->there);
}

}  // namespace
}  // namespace hexad::kv
