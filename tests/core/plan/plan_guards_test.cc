#include "core/plan/plan_guards.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "core/record/keys.h"
#include "tests/core/plan/planner_world.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

// What the commit of such a transaction says; empty: it went through.
std::string outcome(Store& store, const Build& build) {
  const Result<Lsn> result = commit(store, build);
  if (result.ok()) return "";
  REQUIRE(result.error().code == ErrorCode::kConflict);
  REQUIRE_FALSE(result.error().hint.empty());
  return result.error().message;
}

TEST_CASE("guards: an attribute is there with exactly this value, or is not there") {
  StoreFixture fixture;
  Store store = fixture.open();
  Transaction made;
  made.put(kBucket, "a", "data");
  made.set_attr(kBucket, "a", "colour", "red");
  made.set_attr(kBucket, "a", "empty", "");
  REQUIRE(store.commit(std::move(made)).ok());

  const auto expect = [&](const char* name, const char* attribute, const char* value) {
    return outcome(store, [&](Transaction& t) { t.expect_attr(kBucket, name, attribute, value); });
  };
  CHECK(expect("a", "colour", "red") == "");
  CHECK(expect("a", "empty", "") == "");
  CHECK(expect("a", "colour", "blue") ==
        "object default/a has attribute \"colour\" = \"red\", expected \"blue\"");
  CHECK(expect("a", "colour", "re") ==
        "object default/a has attribute \"colour\" = \"red\", expected \"re\"");
  CHECK(expect("a", "colour", "") ==
        "object default/a has attribute \"colour\" = \"red\", expected \"\"");
  CHECK(expect("a", "shape", "") == "object default/a has no attribute \"shape\", expected \"\"");
  CHECK(expect("b", "colour", "red") == "object default/b was expected to exist and does not");

  const auto absent = [&](const char* collection, const char* name, const char* attribute) {
    return outcome(store,
                   [&](Transaction& t) { t.expect_attr_absent(collection, name, attribute); });
  };
  CHECK(absent(kBucket, "a", "shape") == "");
  CHECK(absent(kBucket, "a", "empty") ==
        "object default/a was expected to have no attribute \"empty\" and has one");
  CHECK(absent(kBucket, "b", "shape") == "object default/b was expected to exist and does not");
  CHECK(absent("none", "a", "shape") == "object none/a was expected to exist and does not");
}

TEST_CASE("guards: bytes are compared where they are, and a short object does not match") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const std::string large = noise(3'000'000, 7);
  REQUIRE(put(*store, "inline", "0123456789").ok());
  REQUIRE(put(*store, "packed", noise(5000, 1)).ok());
  REQUIRE(put(*store, "large", large).ok());
  Transaction gap;
  gap.write(kBucket, "gap", 300, as_bytes("end"));
  gap.create(kBucket, "empty");
  REQUIRE(store->commit(std::move(gap)).ok());

  const auto expect = [&](const char* name, std::uint64_t offset, const std::string& bytes) {
    return outcome(*store,
                   [&](Transaction& t) { t.expect_bytes(kBucket, name, offset, as_bytes(bytes)); });
  };
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    CHECK(expect("inline", 0, "0123456789") == "");
    CHECK(expect("inline", 3, "345") == "");
    CHECK(expect("inline", 9, "9") == "");
    CHECK(expect("inline", 9, "90") == "object default/inline has 10 bytes, expected at least 11");
    CHECK(expect("inline", 10, "") == "");
    CHECK(expect("inline", 11, "") == "object default/inline has 10 bytes, expected at least 11");
    CHECK(expect("inline", 3, "355") ==
          "object default/inline differs at byte 4 from what was expected");
    CHECK(expect("empty", 0, "") == "");
    CHECK(expect("empty", 0, "x") == "object default/empty has 0 bytes, expected at least 1");
    CHECK(expect("none", 0, "") == "object default/none was expected to exist and does not");
    CHECK(expect("packed", 0, noise(5000, 1)) == "");
    CHECK(expect("packed", 4000, noise(5000, 1).substr(4000)) == "");
    CHECK(expect("gap", 290, std::string(10, '\0') + "end") == "");
    CHECK(expect("gap", 0, std::string(300, '\0') + "enD") ==
          "object default/gap differs at byte 302 from what was expected");
    CHECK(expect("large", 0, large) == "");
    CHECK(expect("large", 1, large.substr(1, 2'500'000)) == "");
    std::string other = large;
    other[2'999'999] = static_cast<char>(~other[2'999'999]);
    CHECK(expect("large", 0, other) ==
          "object default/large differs at byte 2999999 from what was expected");
    if (round == 0) REQUIRE(store->checkpoint().ok());
    if (round == 1) {
      REQUIRE(store->close().ok());
      store.reset();
      store = fixture.open();
    }
  }
}

TEST_CASE("guards: bytes of sparse objects, up to the last one there can be") {
  StoreFixture fixture;
  Store store = fixture.open();
  Transaction made;
  for (const std::uint64_t at :
       {std::uint64_t{1} << 31, std::uint64_t{1} << 32, kMaxObjectSize - 2}) {
    made.write(kBucket, "sparse", at - 1, as_bytes("abc"));
  }
  REQUIRE(store.commit(std::move(made)).ok());
  for (const std::uint64_t at :
       {std::uint64_t{1} << 31, std::uint64_t{1} << 32, kMaxObjectSize - 2}) {
    CAPTURE(at);
    const auto expect = [&](std::uint64_t offset, std::string_view bytes) {
      return outcome(store, [&](Transaction& t) {
        t.expect_bytes(kBucket, "sparse", offset, as_bytes(bytes));
      });
    };
    CHECK(expect(at - 1, "abc") == "");
    CHECK(expect(at - 3, std::string_view("\0\0ab", 4)) == "");
    CHECK_THAT(expect(at - 1, "abb"), Catch::Contains("differs at byte " + std::to_string(at + 1)));
  }
  Transaction last;
  last.expect_bytes(kBucket, "sparse", kMaxObjectSize, {});
  CHECK(store.commit(std::move(last)).ok());
  Transaction beyond;
  beyond.expect_bytes(kBucket, "sparse", kMaxObjectSize, as_bytes("x"));
  CHECK(code_of(store.commit(std::move(beyond))) == ErrorCode::kTooBig);
}

TEST_CASE("guards: all see what was there before the transaction's own changes") {
  StoreFixture fixture;
  Store store = fixture.open();
  Transaction made;
  made.put(kBucket, "a", noise(1000, 1));
  made.set_attr(kBucket, "a", "k", "old");
  REQUIRE(store.commit(std::move(made)).ok());
  const std::string changed = outcome(store, [](Transaction& t) {
    t.put(kBucket, "a", "new");
    t.set_attr(kBucket, "a", "k", "new");
    t.set_attr(kBucket, "a", "l", "new");
    t.put(kBucket, "made here", "x");
    t.rename(kBucket, "a", kBucket, "b");
    t.expect_bytes(kBucket, "a", 0, as_bytes(noise(1000, 1)));
    t.expect_attr(kBucket, "a", "k", "old");
    t.expect_attr_absent(kBucket, "a", "l");
    t.expect_absent(kBucket, "b");
  });
  REQUIRE(changed == "");
  REQUIRE(get(store, "b") == "new");
  CHECK(outcome(store, [](Transaction& t) {
          t.put(kBucket, "later", "x");
          t.expect_bytes(kBucket, "later", 0, as_bytes("x"));
        }) == "object default/later was expected to exist and does not");
  CHECK(outcome(store, [](Transaction& t) {
          t.set_attr(kBucket, "b", "m", "1");
          t.expect_attr(kBucket, "b", "m", "1");
        }) == "object default/b has no attribute \"m\", expected \"1\"");
  CHECK(code_of(store.get(kBucket, "later")) == ErrorCode::kNotFound);
  CHECK(store.attributes(kBucket, "b")->count("m") == 0);
}

TEST_CASE("guards: threads that count with compare-and-swap on bytes lose no count") {
  StoreFixture fixture;
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  // Long enough for a blob, so that the bytes have to be read from cells.
  const std::string tail = noise(600, 3);
  const auto text = [&](int number) { return std::to_string(1'000'000 + number) + tail; };
  REQUIRE(put(store, "count", text(0)).ok());
  constexpr int kThreads = 4;
  constexpr int kCounts = 25;
  std::vector<std::unique_ptr<io::Thread>> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.push_back(fixture.memory.executor().start("count", [&] {
      for (int done = 0; done < kCounts;) {
        const std::string seen = get(store, "count");
        Transaction t;
        t.put(kBucket, "count", text(std::stoi(seen.substr(0, 7)) - 1'000'000 + 1));
        t.expect_bytes(kBucket, "count", 0, as_bytes(seen));
        CommitOptions options;
        if (done % 3 == 0) options.durability = Durability::kBuffered;
        const Result<Lsn> result = store.commit(std::move(t), options);
        HEXAD_ASSERT(result.ok() || result.error().code == ErrorCode::kConflict);
        if (result.ok()) ++done;
      }
    }));
  }
  for (const auto& thread : threads) thread->join();
  REQUIRE((get(store, "count") == text(kThreads * kCounts)));
}

TEST_CASE("guards: many submitted swaps in a row each see the one before") {
  constexpr int kLinks = 40;
  std::vector<std::optional<ErrorCode>> results(kLinks, ErrorCode::kIo);
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  REQUIRE(put(*store, "chain", noise(700, 0)).ok());
  for (int i = 0; i < kLinks; ++i) {
    Transaction t;
    t.expect_bytes(kBucket, "chain", 0, as_bytes(noise(700, i)));
    t.put(kBucket, "chain", noise(700, i + 1));
    store->submit(std::move(t),
                  [&results, i](const Result<Lsn>& result) { results[i] = code_of(result); });
  }
  REQUIRE(store->sync().ok());
  REQUIRE(store->close().ok());
  store.reset();  // callbacks may run until then
  for (const auto& result : results) REQUIRE(result == std::nullopt);
}

// --- what the planner decides ---

TEST_CASE("guards: bytes that were compared with another version are compared again") {
  core::testing::MapSource source;
  core::PlanContext context;
  context.lsn = 100;
  source.map[core::collection_key("c")] = core::encode_collection({1, {}});
  core::ObjectRecord record;
  record.version = 42;
  record.size = 10;
  source.map[core::object_key(1, "a")] = core::encode_object(record, context.shape);

  Transaction t;
  t.touch("c", "b");
  t.expect_bytes("c", "a", 2, as_bytes("abcd"));
  core::PreparedOps prepared(2);
  const auto plan = [&](const core::ComparedBytes& compared) {
    prepared[1].compared = compared;
    return core::plan_transaction(t, prepared, context, source);
  };
  for (const Lsn version : {0, 41, 43}) {
    for (const bool equal : {false, true}) {
      const Result<core::Plan> again = plan({version, equal, 3, 1});
      REQUIRE(again.ok());
      REQUIRE(again->redo.size() == 1);
      REQUIRE(again->redo[0].op == 1);
      REQUIRE(again->record.images.empty());
    }
  }
  // The same version of another object that has got the name.
  REQUIRE(plan({42, true, 0, 2})->redo.size() == 1);
  const Result<core::Plan> held = plan({42, true, 0, 1});
  REQUIRE(held.ok());
  REQUIRE(held->redo.empty());
  REQUIRE(held->record.images.size() >= 1);
  REQUIRE(plan({42, false, 3, 1}).error().message ==
          "object c/a differs at byte 3 from what was expected");

  // What cannot match needs no comparison, and another guard that fails needs no second one.
  t.expect_version("c", "a", 7);
  prepared.resize(3);
  REQUIRE(plan({41, true, 0, 1}).error().code == ErrorCode::kConflict);
  Transaction far;
  far.expect_bytes("c", "a", 7, as_bytes("abcd"));
  REQUIRE(core::plan_transaction(far, core::PreparedOps(1), context, source).error().message ==
          "object c/a has 10 bytes, expected at least 11");
}

}  // namespace
}  // namespace hexad::testing
