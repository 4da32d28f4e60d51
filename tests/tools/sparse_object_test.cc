// Objects with holes as the command line shows them. No verb makes one, so the store does; the
// program then runs in this process.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/hexad.h"
#include "tests/io/temporary.h"
#include "tests/tools/capture.h"
#include "tools/cli/command_line.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {
namespace {

constexpr std::uint64_t kSize = 40'000'000;  // several pages

// "sparse" has data at 100,000, behind a page's end, and a hole up to its end.
struct SparsePool {
  SparsePool() {
    FormatOptions format(Preset::kTiny);
    for (int i = 0; i < 6; ++i) format.devices.push_back(directory.path("d" + std::to_string(i)));
    format.fast_directories = {directory.path("fast")};
    const Result<PoolDescription> made = Store::format(format);
    if (!made.ok()) FAIL(made.error().to_string());
    REQUIRE(write_pool(directory.path(""), *made).ok());
    Result<Store> store = Store::open(*made);
    if (!store.ok()) FAIL(store.error().to_string());
    Transaction t;
    t.write(kDefaultCollection, "sparse", 100'000, as_bytes("first"));
    t.write(kDefaultCollection, "sparse", 20'000'000, as_bytes("second"));
    t.truncate(kDefaultCollection, "sparse", kSize);
    t.touch(kDefaultCollection, "hole");
    t.truncate(kDefaultCollection, "hole", 5000);
    const Result<Lsn> committed = store->commit(std::move(t));
    if (!committed.ok()) FAIL(committed.error().to_string());
    REQUIRE(store->close().ok());
  }

  // What the program writes to standard output; it has to end well.
  std::string run(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, directory.path(""));
    testing::Capture out(STDOUT_FILENO);
    const int code = run_command_line(words, verb_table());
    const std::string text = out.text();
    REQUIRE(code == kExitOk);
    return text;
  }

  io::testing::TemporaryDirectory directory;
};

TEST_CASE("sparse object: stat --extents names the ranges that hold data, and cat reads them") {
  const SparsePool pool;
  const Json stat = Json::parse(pool.run({"stat", "sparse", "--extents", "--json"}));
  REQUIRE(stat["size"] == kSize);
  REQUIRE(stat["data_ranges"].size() == 2);

  for (const Json& range : stat["data_ranges"]) {
    const std::uint64_t offset = range["offset"];
    const std::uint64_t length = range["length"];
    CAPTURE(offset, length);
    const bool second = offset > 100'000;
    const std::uint64_t begin = second ? 20'000'000 : 100'000;
    const std::string data = second ? "second" : "first";
    REQUIRE(offset <= begin);
    REQUIRE(offset + length >= begin + data.size());
    const std::string word = std::to_string(offset) + ":" + std::to_string(length);
    const std::string found = pool.run({"cat", "sparse", "--range", word});
    REQUIRE(found.size() == length);
    REQUIRE(found.substr(begin - offset, data.size()) == data);
    REQUIRE_THAT(pool.run({"stat", "sparse", "--extents"}),
                 Catch::Contains("data       " + word + "\n"));
  }
  // Outside of them it is zeros.
  const std::string whole = pool.run({"cat", "sparse"});
  REQUIRE(whole.size() == kSize);
  REQUIRE(kSize - static_cast<std::uint64_t>(std::count(whole.begin(), whole.end(), '\0')) ==
          std::string("firstsecond").size());
}

TEST_CASE("sparse object: one that is all hole has no range of data") {
  const SparsePool pool;
  const Json stat = Json::parse(pool.run({"stat", "hole", "--extents", "--json"}));
  REQUIRE(stat["size"] == 5000);
  REQUIRE(stat["data_ranges"] == Json::array());
  REQUIRE_FALSE(Json::parse(pool.run({"stat", "hole", "--json"})).contains("data_ranges"));
  REQUIRE(pool.run({"cat", "hole", "--range", "4990:100"}) == std::string(10, '\0'));
}

TEST_CASE("sparse object: sizes with holes are what a collection counts, what is stored is less") {
  const SparsePool pool;
  const Json listed = Json::parse(pool.run({"stat", "sparse", "--json"}));
  REQUIRE(listed["stored"] < 1'000'000);
  testing::Capture out(STDOUT_FILENO);
  const int code = run_command_line(
      {"bucket", "stat", pool.directory.path(""), kDefaultCollection, "--json"}, verb_table());
  const Json usage = Json::parse(out.text());
  REQUIRE(code == kExitOk);
  REQUIRE(usage["objects"] == 2);
  REQUIRE(usage["bytes"] == kSize + 5000);
  REQUIRE(usage["stored"] == listed["stored"]);
}

}  // namespace
}  // namespace hexad::tools
