#include "tools/bench/scale_pool.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/io/temporary.h"
#include "tools/bench/sparse_system.h"

namespace hexad::tools {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Result<ScalePool> open(const ScaleWish& wish) { return ScalePool::open(path(), wish, *system_); }
  ErrorCode error(const ScaleWish& wish) { return open(wish).error().code; }
  std::string path(const std::string& name = "") const { return directory_.path("pool/" + name); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(path());
    REQUIRE((std::ofstream(path(name)) << text).flush());
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(path())) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }
  io::System& system() { return *system_; }

 private:
  io::testing::TemporaryDirectory directory_;
  std::unique_ptr<SparseSystem> system_ = SparseSystem::make().value();
};

TEST_CASE("scale pool: no two objects have one name, and other seeds have other names") {
  std::set<std::string> names;
  for (std::uint64_t seed : {0, 1}) {
    for (std::uint64_t i = 0; i < 10'000; ++i) names.insert(scale_object_name(seed, i));
  }
  CHECK(names.size() == 20'000);
  for (const std::string& name : names) CHECK(name.size() == 16);
  CHECK(scale_object_name(0, 7) == scale_object_name(0, 7));
}

TEST_CASE("scale pool: one is made, and found again as it was made") {
  Folder folder;
  ScaleWish wish;
  wish.objects = 1000;
  wish.room = 5000;
  wish.seed = 3;
  const ScalePool made = folder.open(wish).value();
  CHECK(made.is_new());
  CHECK(made.description().devices.size() == 6);
  CHECK(made.disk_bytes() < 64 << 20);
  REQUIRE(made.note({{"objects", 1}}).ok());

  ScaleWish again;
  again.objects = 5000;
  const ScalePool found = folder.open(again).value();
  CHECK_FALSE(found.is_new());
  CHECK(found.shape().room == 5000);
  CHECK(found.shape().seed == 3);
  CHECK(found.shape().fast);
  CHECK(found.description().devices == made.description().devices);
  CHECK(folder.read("scale.jsonl").ends_with("\n{\"objects\":1}\n"));
  // It holds no object yet, and is a store.
  Store store = Store::open(found.description(), {}, &folder.system()).value();
  CHECK(store.collection(kDefaultCollection).value().objects == 0);
  REQUIRE(store.close().ok());

  again.objects = 5001;
  CHECK(folder.error(again) == ErrorCode::kInvalidArgument);
  again = {10, 4000, {}, false};
  CHECK(folder.error(again) == ErrorCode::kInvalidArgument);
  again = {10, {}, 4, false};
  CHECK(folder.error(again) == ErrorCode::kInvalidArgument);
  again = {10, {}, {}, true};
  CHECK(folder.error(again) == ErrorCode::kInvalidArgument);
}

TEST_CASE("scale pool: one that was begun is made again") {
  Folder folder;
  folder.write("scale.jsonl", R"({"hexad_bench_scale":1,"room":100,"seed":9,"fast":false})"
                              "\n");
  folder.write("device0", "some of it");
  const ScalePool pool = folder.open({50, {}, {}, false}).value();
  CHECK(pool.is_new());
  CHECK(pool.shape().seed == 9);
  CHECK(pool.description().fast_directories.empty());
  CHECK_FALSE(folder.open({50, {}, {}, false})->is_new());
}

TEST_CASE("scale pool: what is of somebody else is refused and stays") {
  Folder folder;
  const ScaleWish wish{10, {}, {}, false};
  SECTION("any file") { folder.write("precious", "1"); }
  SECTION("notes of something else") { folder.write("scale.jsonl", "{}\n"); }
  SECTION("notes that are none") { folder.write("scale.jsonl", "no JSON"); }
  SECTION("no notes at all") { folder.write("scale.jsonl", ""); }
  const std::set<std::string> before = folder.names();
  CHECK(folder.error(wish) == ErrorCode::kAlreadyExists);
  CHECK(folder.names() == before);
}

TEST_CASE("scale pool: another version, and a file in the place of the folder") {
  Folder folder;
  folder.write("scale.jsonl", R"({"hexad_bench_scale":2,"room":100,"seed":9,"fast":false})");
  CHECK(folder.error({10, {}, {}, false}) == ErrorCode::kUnsupported);
  Folder other;
  REQUIRE(std::ofstream(other.path().substr(0, other.path().size() - 1)).good());
  CHECK_FALSE(other.open({10, {}, {}, false}).ok());
  CHECK(Folder().error({10, 5, {}, false}) == ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace hexad::tools
