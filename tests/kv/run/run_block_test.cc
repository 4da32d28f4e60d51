#include "kv/run/run_block.h"

#include <catch2/catch.hpp>

#include "kv/index.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

std::string encode(const RunModel& model, RunBlockForm form) {
  RunBlockBuilder builder;
  for (const auto& [key, value] : model) builder.add(key, value);
  REQUIRE(builder.count() == model.size());
  std::string bytes = builder.encode(form);
  REQUIRE(bytes.size() <= builder.size());
  builder.clear();
  REQUIRE(builder.empty());
  return bytes;
}

TEST_CASE("run_block: entries come back from either form, found from any key") {
  const std::uint64_t seed = 51;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int round = 0; round < 30; ++round) {
    const RunModel model = random_run(rng, 1 + rng.below(200));
    for (const RunBlockForm form : {RunBlockForm::kRows, RunBlockForm::kColumns}) {
      const RunBlock block = RunBlock::parse(encode(model, form)).value();
      REQUIRE(block.count() == model.size());
      std::size_t at = 0;
      std::string walked;
      std::string read;
      for (const auto& [key, value] : model) {
        block.step_key(at, walked);
        block.read_key(at, read);
        REQUIRE(walked == key);
        REQUIRE(read == key);
        REQUIRE(block.value(at) == value);
        REQUIRE(block.lower_bound(key) == at);
        REQUIRE(block.key_equals(at, key));
        ++at;
      }
      for (int i = 0; i < 100; ++i) {
        const std::string probe = random_probe(rng, model);
        REQUIRE(block.lower_bound(probe) ==
                static_cast<std::size_t>(std::distance(model.begin(), model.lower_bound(probe))));
      }
      REQUIRE(block.lower_bound("") == 0);
    }
  }
}

TEST_CASE("run_block: what is not a block is refused") {
  const auto refused = [](const std::string& bytes) { return !RunBlock::parse(bytes).ok(); };
  using namespace std::string_literals;
  REQUIRE_FALSE(refused("\0\1\0\1\2ab"s));  // a -> b
  REQUIRE(refused(""));
  REQUIRE(refused("\0\0"s));                      // no entries
  REQUIRE(refused("\2\1\0\1\2ab"s));              // form
  REQUIRE(refused("\0\1\0\1\2abc"s));             // a byte too many
  REQUIRE(refused("\0\1\0\1\2a"s));               // one too few
  REQUIRE(refused("\0\1\1\1\2ab"s));              // shares with nothing
  REQUIRE(refused("\0\1\0\0\2b"s));               // an empty key
  REQUIRE(refused("\0\2\0\1\0\0\1\0ba"s));        // b, a
  REQUIRE(refused("\0\2\0\1\0\0\1\0aa"s));        // twice
  REQUIRE(refused("\0\2\0\1\0\0\2\0aab"s));       // shares a byte and does not say so
  REQUIRE_FALSE(refused("\0\2\0\1\0\1\1\0ab"s));  // a, ab
  // As many entries as anybody likes to claim.
  REQUIRE(refused("\0\xff\xff\xff\xff\x0f"s));
  const std::string long_key(kMaxIndexKey + 1, 'k');
  RunBlockBuilder builder;
  builder.add(long_key, "v");
  REQUIRE(refused(builder.encode(RunBlockForm::kRows)));
}

TEST_CASE("run_block: any truncation is refused, any bytes are survived") {
  const std::uint64_t seed = 52;
  CAPTURE(seed);
  io::Rng rng(seed);
  const RunModel model = random_run(rng, 20);
  for (const RunBlockForm form : {RunBlockForm::kRows, RunBlockForm::kColumns}) {
    const std::string good = encode(model, form);
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
      REQUIRE_FALSE(RunBlock::parse(good.substr(0, cut)).ok());
    }
    for (int i = 0; i < 3000; ++i) {
      std::string bytes = good;
      for (int change = 0; change < 3; ++change) {
        bytes[rng.below(std::min<std::size_t>(bytes.size(), 100))] = static_cast<char>(rng.next());
      }
      const Result<RunBlock> block = RunBlock::parse(std::move(bytes));
      if (!block.ok()) continue;
      std::string before;
      std::string key;
      for (std::size_t at = 0; at < block->count(); ++at) {
        block->read_key(at, key);
        REQUIRE(before < key);
        before = key;
        REQUIRE(block->lower_bound(key) == at);
      }
      REQUIRE(block->memory() <= 8 * good.size() + 1000);
    }
  }
}

}  // namespace
}  // namespace hexad::kv
