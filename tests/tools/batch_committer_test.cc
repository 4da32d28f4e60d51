#include "tools/import_export/batch_committer.h"

#include <catch2/catch.hpp>

#include "tests/core/store_fixture.h"

namespace hexad::tools {
namespace {

using hexad::testing::code_of;
using hexad::testing::noise;
using hexad::testing::StoreFixture;

Bytes bytes_of(const std::string& text) {
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

BatchCommitter::Object object(std::string_view name) { return {kDefaultCollection, name, {}}; }

TEST_CASE("batch_committer: many small objects share a transaction, each with its attributes") {
  StoreFixture fixture;
  Store store = fixture.open();
  const Lsn before = store.status().last_lsn;
  {
    BatchCommitter committer(store, fixture.memory.executor());
    for (std::uint64_t i = 0; i < BatchCommitter::kMaxBatchObjects + 10; ++i) {
      const std::string name = std::to_string(i);
      REQUIRE(committer.put({kDefaultCollection, name, {{"number", name}}}, bytes_of("data" + name))
                  .ok());
    }
    REQUIRE(committer.finish().ok());
    const BatchCommitter::Acknowledged done = committer.acknowledged();
    REQUIRE(done.objects == BatchCommitter::kMaxBatchObjects + 10);
    REQUIRE(done.bytes > 4 * done.objects);
    // Nothing is left: nothing happens.
    REQUIRE(committer.finish().ok());
  }
  // Two user transactions; a checkpoint may have come between.
  REQUIRE(store.status().last_lsn >= before + 2);
  for (const char* name : {"0", "255", "265"}) {
    REQUIRE(hexad::testing::get(store, name) == std::string("data") + name);
    REQUIRE(store.attributes(kDefaultCollection, name)->at("number") == name);
    const Lsn version = store.stat(kDefaultCollection, name)->version;
    REQUIRE(version ==
            store.stat(kDefaultCollection, std::string(name) == "265" ? "256" : "0")->version);
  }
}

TEST_CASE("batch_committer: a batch is full when it has 8 MiB") {
  FormatOptions format = hexad::testing::small_format();
  format.device_size = 64_MiB;
  StoreFixture fixture(format);
  Store store = fixture.open();
  BatchCommitter committer(store, fixture.memory.executor());
  for (int i = 0; i < 20; ++i) {
    REQUIRE(committer.put(object(std::to_string(i)), bytes_of(noise(1 << 20, i))).ok());
  }
  REQUIRE(committer.finish().ok());
  REQUIRE(committer.acknowledged().bytes == 20 << 20);
  const auto version = [&](int i) {
    return store.stat(kDefaultCollection, std::to_string(i))->version;
  };
  REQUIRE(version(0) == version(7));
  REQUIRE(version(8) == version(15));
  REQUIRE(version(7) < version(8));
  REQUIRE(version(15) < version(16));
  REQUIRE((hexad::testing::get(store, "13") == noise(1 << 20, 13)));
}

TEST_CASE("batch_committer: a writer is published together with what was collected") {
  StoreFixture fixture;
  Store store = fixture.open();
  BatchCommitter committer(store, fixture.memory.executor());
  REQUIRE(committer.put(object("small"), bytes_of("1")).ok());
  const auto writer = store.open_writer(kDefaultCollection, "large").value();
  const std::string large = noise(2'000'000, 1);
  REQUIRE(writer->append(as_bytes(large)).ok());
  REQUIRE(committer.publish({kDefaultCollection, "large", {{"k", "v"}}}, *writer).ok());
  REQUIRE(committer.finish().ok());
  REQUIRE(committer.acknowledged().objects == 2);
  REQUIRE(committer.acknowledged().bytes == large.size() + 1);
  REQUIRE((hexad::testing::get(store, "large") == large));
  REQUIRE(store.attributes(kDefaultCollection, "large")->at("k") == "v");
  REQUIRE(store.stat(kDefaultCollection, "small")->version ==
          store.stat(kDefaultCollection, "large")->version);
}

TEST_CASE("batch_committer: the first failure is told, and what was durable before stays counted") {
  StoreFixture fixture;
  Store store = fixture.open();
  BatchCommitter committer(store, fixture.memory.executor());
  REQUIRE(committer.put(object("good"), bytes_of("1")).ok());
  REQUIRE(committer.finish().ok());
  REQUIRE(committer.put({"none", "bad", {}}, bytes_of("2")).ok());
  REQUIRE(code_of(committer.finish()) == ErrorCode::kNotFound);
  // From then on nothing is sent any more.
  REQUIRE(committer.put(object("late"), bytes_of("3")).ok());
  REQUIRE(code_of(committer.finish()) == ErrorCode::kNotFound);
  REQUIRE(committer.acknowledged().objects == 1);
  REQUIRE(committer.acknowledged().bytes == 1);
  REQUIRE(code_of(store.get(kDefaultCollection, "late")) == ErrorCode::kNotFound);
}

TEST_CASE("batch_committer: what was not submitted is dropped with it") {
  StoreFixture fixture;
  Store store = fixture.open();
  {
    BatchCommitter committer(store, fixture.memory.executor());
    REQUIRE(committer.put(object("a"), bytes_of("1")).ok());
  }
  REQUIRE(code_of(store.get(kDefaultCollection, "a")) == ErrorCode::kNotFound);
}

}  // namespace
}  // namespace hexad::tools
