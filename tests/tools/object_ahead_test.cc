#include "tools/import_export/object_ahead.h"

#include <fmt/format.h>

#include <atomic>
#include <catch2/catch.hpp>

#include "tests/core/store_fixture.h"

namespace hexad::tools {
namespace {

using hexad::testing::code_of;
using hexad::testing::noise;
using hexad::testing::StoreFixture;

constexpr const char* kC = kDefaultCollection;

struct World {
  World() : store(fixture.open()), executor(io::make_thread_executor(4)) {}
  void put(const std::string& name, const std::string& data) {
    Transaction t;
    t.put(kC, name, as_bytes(data));
    t.set_attr(kC, name, "posix.uid", std::to_string(data.size()));
    REQUIRE(store.commit(std::move(t)).ok());
  }
  StoreFixture fixture;
  Store store;
  std::unique_ptr<io::Executor> executor;
};

bool always(const OpenObject& /*object*/) { return true; }

TEST_CASE("object_ahead: every object of the prefix comes in order, opened and read") {
  World w;
  constexpr int kObjects = 1203;  // more than one page
  Transaction t;
  for (int i = 0; i < kObjects; ++i) {
    t.put(kC, fmt::format("p{:04}", i), as_bytes(std::to_string(i)));
  }
  t.put(kC, "other", as_bytes("x"));
  t.put(kC, "q", as_bytes("x"));
  REQUIRE(w.store.commit(std::move(t)).ok());
  ObjectAhead objects(w.store, *w.executor, kC, "p", always);
  for (int i = 0; i < kObjects; ++i) {
    const std::optional<OpenObject> object = objects.next().value();
    REQUIRE(object.has_value());
    REQUIRE(object->status.ok());
    REQUIRE(object->name == fmt::format("p{:04}", i));
    REQUIRE(as_text(object->body->data) == std::to_string(i));
  }
  CHECK_FALSE(objects.next()->has_value());
  CHECK_FALSE(objects.next()->has_value());
}

TEST_CASE("object_ahead: large objects, and those that nobody wants, are opened and not read") {
  World w;
  w.put("a", noise(1000, 1));
  w.put("large", noise(5001, 2));
  w.put("not this", "x");
  Transaction t;
  t.put(kC, "with a hole", as_bytes(noise(100, 3)));
  t.write(kC, "with a hole", 4000, as_bytes(noise(200, 4)));
  t.truncate(kC, "with a hole", 5000);
  REQUIRE(w.store.commit(std::move(t)).ok());
  AheadLimits limits;
  limits.object_bytes = 5000;
  ObjectAhead objects(
      w.store, *w.executor, kC, "",
      [](const OpenObject& object) { return object.posix.uid != std::uint32_t{1}; }, limits);
  const OpenObject a = std::move(*objects.next().value());
  CHECK(as_text(a.body->data) == noise(1000, 1));
  CHECK(a.posix.uid == std::uint32_t{1000});
  const OpenObject large = std::move(*objects.next().value());
  CHECK_FALSE(large.body.has_value());
  CHECK(large.reader->stat().size == 5001);
  CHECK_FALSE(objects.next().value()->body.has_value());
  const OpenObject holes = std::move(*objects.next().value());
  CHECK(holes.body->pieces ==
        std::vector<ObjectPiece>{
            {0, 100, false}, {100, 3900, true}, {4000, 200, false}, {4200, 800, true}});
  CHECK(as_text(holes.body->data) == noise(100, 3) + noise(200, 4));
}

TEST_CASE("object_ahead: no more is read ahead than the limits allow") {
  World w;
  for (int i = 0; i < 60; ++i) w.put(fmt::format("{:02}", i), noise(1000, i));
  for (const auto& [limits, most] : std::vector<std::pair<AheadLimits, int>>{
           {{1 << 20, 1 << 20, 7}, 7}, {{1 << 20, 5500, 1000}, 5}, {{1 << 20, 10, 1000}, 1}}) {
    CAPTURE(most);
    std::atomic<int> read = 0;
    ObjectAhead objects(
        w.store, *w.executor, kC, "",
        [&](const OpenObject& /*object*/) {
          ++read;
          return true;
        },
        limits);
    for (int taken = 0; taken < 60; ++taken) {
      REQUIRE(objects.next().value().has_value());
      REQUIRE(read <= taken + most);
    }
    CHECK_FALSE(objects.next()->has_value());
  }
}

TEST_CASE("object_ahead: what cannot be opened says so, and so does a listing that fails") {
  World w;
  w.put("a", "1");
  w.put("b", "2");
  AheadLimits one;
  one.objects = 1;
  ObjectAhead objects(w.store, *w.executor, kC, "", always, one);
  REQUIRE(objects.next()->has_value());
  Transaction t;
  t.remove(kC, "b");  // it has been listed
  REQUIRE(w.store.commit(std::move(t)).ok());
  const OpenObject gone = std::move(*objects.next().value());
  CHECK(gone.name == "b");
  CHECK(code_of(gone.status) == ErrorCode::kNotFound);

  ObjectAhead nowhere(w.store, *w.executor, "no collection", "", always);
  CHECK(code_of(nowhere.next()) == ErrorCode::kNotFound);
}

}  // namespace
}  // namespace hexad::tools
