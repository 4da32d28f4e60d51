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

Status put(BatchCommitter& committer, std::string_view name, Bytes data,
           std::string_view collection = kDefaultCollection) {
  const std::uint64_t size = data.size();
  committer.transaction().put_borrowed(collection, name, committer.keep(std::move(data)));
  return committer.added({1, size, 0});
}

TEST_CASE("batch_committer: many small objects share a transaction") {
  StoreFixture fixture;
  Store store = fixture.open();
  const Lsn before = store.status().last_lsn;
  {
    BatchCommitter committer(store, fixture.memory.executor());
    for (std::uint64_t i = 0; i < BatchCommitter::kMaxBatchObjects + 10; ++i) {
      const std::string name = std::to_string(i);
      committer.transaction().touch(kDefaultCollection, name);
      committer.transaction().set_attr(kDefaultCollection, name, "number", name);
      REQUIRE(put(committer, name, bytes_of("data" + name)).ok());
    }
    REQUIRE(committer.finish().ok());
    const BatchCommitter::Counts done = committer.acknowledged();
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
    REQUIRE(put(committer, std::to_string(i), bytes_of(noise(1 << 20, i))).ok());
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
  REQUIRE(put(committer, "small", bytes_of("1")).ok());
  const auto writer = store.open_writer(kDefaultCollection, "large").value();
  const std::string large = noise(2'000'000, 1);
  REQUIRE(writer->append(as_bytes(large)).ok());
  committer.transaction().publish(*writer);
  REQUIRE(committer.added({1, large.size(), 0}).ok());
  REQUIRE(committer.finish().ok());
  REQUIRE(committer.acknowledged().objects == 2);
  REQUIRE(committer.acknowledged().bytes == large.size() + 1);
  REQUIRE((hexad::testing::get(store, "large") == large));
  REQUIRE(store.stat(kDefaultCollection, "small")->version ==
          store.stat(kDefaultCollection, "large")->version);
}

TEST_CASE("batch_committer: a batch is full when its attributes would fill much of a log record") {
  StoreFixture fixture;
  Store store = fixture.open();
  BatchCommitter committer(store, fixture.memory.executor());
  const std::string value(30'000, 'x');
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::to_string(i);
    committer.transaction().put(kDefaultCollection, name, "data");
    committer.transaction().set_attr(kDefaultCollection, name, "long", value);
    REQUIRE(committer.added({1, 4, value.size()}).ok());
  }
  REQUIRE(committer.finish().ok());
  REQUIRE(store.stat(kDefaultCollection, "0")->version ==
          store.stat(kDefaultCollection, "2")->version);
  REQUIRE(store.stat(kDefaultCollection, "2")->version <
          store.stat(kDefaultCollection, "3")->version);
  REQUIRE(committer.acknowledged().objects == 40);
}

TEST_CASE("batch_committer: what is collected later sees what was collected before, in any batch") {
  StoreFixture fixture;
  Store store = fixture.open();
  BatchCommitter committer(store, fixture.memory.executor());
  for (int i = 0; i < 20; ++i) {
    const std::string from = "from" + std::to_string(i);
    const std::string to = "to" + std::to_string(i);
    REQUIRE(put(committer, from, bytes_of(noise(5000, i))).ok());
    REQUIRE(committer.submit().ok());  // in flight
    committer.transaction().clone(kDefaultCollection, from, kDefaultCollection, to);
    REQUIRE(committer.added({1, 0, 0}).ok());
    if (i % 2 == 0) REQUIRE(committer.submit().ok());
  }
  REQUIRE(committer.finish().ok());
  for (int i = 0; i < 20; ++i) {
    REQUIRE((hexad::testing::get(store, "to" + std::to_string(i)) == noise(5000, i)));
  }
}

TEST_CASE("batch_committer: a transaction of its own fails alone, behind what was collected") {
  StoreFixture fixture;
  Store store = fixture.open();
  BatchCommitter committer(store, fixture.memory.executor());
  REQUIRE(put(committer, "a", bytes_of("1")).ok());
  Transaction good;
  good.clone(kDefaultCollection, "a", kDefaultCollection, "b");
  REQUIRE(committer.commit_alone(std::move(good), {1, 0, 0}).ok());
  REQUIRE(hexad::testing::get(store, "b") == "1");
  Transaction bad;
  bad.create_collection(kDefaultCollection);
  REQUIRE(code_of(committer.commit_alone(std::move(bad), {1, 0, 0})) == ErrorCode::kAlreadyExists);
  REQUIRE(put(committer, "c", bytes_of("3")).ok());
  REQUIRE(committer.finish().ok());
  REQUIRE(committer.acknowledged().objects == 3);
}

TEST_CASE("batch_committer: the first failure is told, and what was durable before stays counted") {
  StoreFixture fixture;
  Store store = fixture.open();
  BatchCommitter committer(store, fixture.memory.executor());
  REQUIRE(put(committer, "good", bytes_of("1")).ok());
  REQUIRE(committer.finish().ok());
  REQUIRE(put(committer, "bad", bytes_of("2"), "none").ok());
  REQUIRE(code_of(committer.finish()) == ErrorCode::kNotFound);
  // From then on nothing is sent any more.
  REQUIRE(put(committer, "late", bytes_of("3")).ok());
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
    REQUIRE(put(committer, "a", bytes_of("1")).ok());
  }
  REQUIRE(code_of(store.get(kDefaultCollection, "a")) == ErrorCode::kNotFound);
}

}  // namespace
}  // namespace hexad::tools
