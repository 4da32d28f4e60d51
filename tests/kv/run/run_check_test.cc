#include "kv/run/run_check.h"

#include <catch2/catch.hpp>

#include "kv/run/run_reader.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

// Every byte of a run of two blocks and more is flipped: whoever looks says so, or was not there.
TEST_CASE("run_check: no flipped byte gives a wrong answer") {
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

TEST_CASE("run_check: a block at another block's place is noticed") {
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

// A run of one leaf whose parts a test may choose.
struct Crafted {
  std::string separator = "m";
  RunModel first = {{"a", "1"}, {"m", "2"}};
  RunModel second = {{"n", "3"}, {"z", std::nullopt}};
  std::string last = "z";
  std::uint64_t entries = 4;
  std::uint64_t tombstones = 1;
  bool gap = false;
  bool filter_knows = true;

  WrittenRun run() const {
    WrittenRun result;
    std::string& bytes = result.file->bytes;
    RunFilterBuilder filter;
    const auto data = [&](const RunModel& model) {
      RunBlockBuilder block;
      for (const auto& [key, value] : model) {
        block.add(key, value);
        if (filter_knows) filter.add(key);
      }
      return put(bytes, block.encode(RunBlockForm::kRows));
    };
    RunBlockBuilder index;
    index.add(separator, encode_run_child({data(first), std::nullopt}));
    if (gap) bytes.push_back('g');
    index.add(last, encode_run_child({data(second), std::nullopt}));
    RunFooter footer;
    footer.store = run_store();
    footer.levels = 1;
    footer.root.filter = put(bytes, filter.finish());
    footer.root.block = put(bytes, index.encode(RunBlockForm::kRows));
    footer.info.entries = entries;
    footer.info.tombstones = tombstones;
    footer.info.bytes = bytes.size() + kRunFooterSize;
    bytes += encode_run_footer(footer);
    result.info = footer.info;
    return result;
  }

 private:
  static RunBlockAddress put(std::string& bytes, std::string raw) {
    const StoredRunBlock block =
        store_run_block(std::move(raw), bytes.size(), RunPacking::kPlain).value();
    bytes += block.bytes;
    return block.address;
  }
};

TEST_CASE("run_check: what no writer writes is refused although every checksum fits") {
  const auto verdict = [](const Crafted& crafted) {
    const Status status = crafted.run().open()->verify();
    if (status.ok()) return std::string("ok");
    REQUIRE(status.error().code == ErrorCode::kCorruption);
    return status.error().message.substr(status.error().message.find(" B: ") + 4);
  };
  REQUIRE(verdict({}) == "ok");
  REQUIRE(verdict({.separator = "b"}) == "ends behind the key that it is named by");
  REQUIRE(verdict({.separator = "n"}) == "begins before the block before it ends");
  REQUIRE(verdict({.last = "y"}) == "ends behind the key that it is named by");
  REQUIRE(verdict({.entries = 5}).find("4 entries") == 0);
  REQUIRE(verdict({.tombstones = 2}).find("4 entries, 1 of them") == 0);
  REQUIRE(verdict({.gap = true}).find("the block before it ends at") == 0);
  REQUIRE(verdict({.filter_knows = false}) == "a key that the filter does not know");
}

TEST_CASE("run_check: it reads what it checks, and says when it cannot") {
  io::Rng rng(20);
  const WrittenRun run = write_run(random_run(rng, 2000));
  MapRunCache cache(1000);
  const std::shared_ptr<RunReader> reader = run.open(cache);
  run.file->read_bytes = 0;
  REQUIRE(reader->verify().ok());
  REQUIRE(run.file->read_bytes >= run.info.bytes - kRunFooterSize);
  REQUIRE(cache.hits + cache.misses == 0);
  run.file->fails = true;
  REQUIRE(reader->verify().error().code == ErrorCode::kIo);
}

}  // namespace
}  // namespace hexad::kv
