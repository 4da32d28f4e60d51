// Hints of objects: what keeps them, and what they change.
#include <catch2/catch.hpp>

#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

TEST_CASE("hints: they stay with the object until something replaces them") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const Hint hints = Hint::kSequentialRead | Hint::kImmutable | Hint::kLongLived;
  REQUIRE(put(*store, "a", "data").ok());
  REQUIRE(store->stat(kBucket, "a")->hint == Hint::kNone);
  const Result<Lsn> set = commit(*store, [&](Transaction& t) { t.set_hint(kBucket, "a", hints); });
  REQUIRE(set.ok());
  for (int round = 0; round < 2; ++round) {
    CHECK(store->stat(kBucket, "a")->hint == hints);
    CHECK(store->stat(kBucket, "a")->version == *set);
    CHECK(get(*store, "a") == "data");
    store.reset();
    store = fixture.open();
  }
  // The same hints again are no change; data without a hint of its own keeps them.
  REQUIRE(commit(*store, [&](Transaction& t) { t.set_hint(kBucket, "a", hints); }).ok());
  CHECK(store->stat(kBucket, "a")->version == *set);
  REQUIRE(commit(*store, [](Transaction& t) {
            t.put(kBucket, "a", "other data");
            t.append(kBucket, "a", as_bytes("x"), Hint::kIncompressible);
            t.rename(kBucket, "a", kBucket, "b");
          }).ok());
  CHECK(store->stat(kBucket, "b")->hint == hints);
  REQUIRE(
      commit(*store, [](Transaction& t) { t.put(kBucket, "b", "x", Hint::kCompressible); }).ok());
  CHECK(store->stat(kBucket, "b")->hint == Hint::kCompressible);
  REQUIRE(commit(*store, [](Transaction& t) { t.set_hint(kBucket, "b", Hint::kNone); }).ok());
  CHECK(store->stat(kBucket, "b")->hint == Hint::kNone);
}

TEST_CASE("hints: a missing object is tolerated, a missing collection is not") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(commit(store, [](Transaction& t) {
            t.set_hint(kBucket, "none", Hint::kAppendOnly);
            t.put(kBucket, "none", "made later");
          }).ok());
  CHECK(store.stat(kBucket, "none")->hint == Hint::kNone);
  CHECK(code_of(commit(store, [](Transaction& t) {
          t.set_hint("nowhere", "a", Hint::kAppendOnly);
        })) == ErrorCode::kNotFound);
}

TEST_CASE("hints: compression heeds the object's hint where data brings none") {
  const auto mode = GENERATE(compression::Mode::kNone, compression::Mode::kPassive,
                             compression::Mode::kAggressive, compression::Mode::kForce);
  FormatOptions format = small_format();
  format.compression.mode = mode;
  StoreFixture fixture(format);
  Store store = fixture.open();
  const std::string text(40'000, 'a');
  const auto compressed = [&](const std::string& name) {
    return store.stat(kBucket, name)->stored < text.size() / 2;
  };
  const bool without = mode == compression::Mode::kAggressive || mode == compression::Mode::kForce;
  const bool hinted = mode != compression::Mode::kNone;
  const bool denied = mode == compression::Mode::kForce;
  for (const Hint hint : {Hint::kNone, Hint::kCompressible, Hint::kIncompressible}) {
    const Hint other = Hint::kRandomRead;  // changes nothing
    const bool expected = hint == Hint::kNone           ? without
                          : hint == Hint::kCompressible ? hinted
                                                        : denied;
    CAPTURE(static_cast<int>(mode), static_cast<int>(hint));
    // From an earlier transaction.
    REQUIRE(commit(store, [&](Transaction& t) {
              t.create(kBucket, "o");
              t.set_hint(kBucket, "o", hint | other);
            }).ok());
    REQUIRE(put(store, "o", text).ok());
    CHECK(compressed("o") == expected);
    REQUIRE(commit(store, [&](Transaction& t) {
              t.truncate(kBucket, "o", 0);
              t.append(kBucket, "o", as_bytes(text));
            }).ok());
    CHECK(compressed("o") == expected);
    // From an earlier op of the same one.
    REQUIRE(commit(store, [&](Transaction& t) {
              t.create(kBucket, "p");
              t.set_hint(kBucket, "p", hint | other);
              t.write(kBucket, "p", 0, as_bytes(text));
            }).ok());
    CHECK(compressed("p") == expected);
    REQUIRE(commit(store, [&](Transaction& t) {
              t.put(kBucket, "p", "x", hint | other);
              t.append(kBucket, "p", as_bytes(text));
            }).ok());
    CHECK(compressed("p") == expected);
    // By a writer.
    auto writer = store.open_writer(kBucket, "o");
    REQUIRE(writer.ok());
    REQUIRE((*writer)->append(as_bytes(text)).ok());
    REQUIRE((*writer)->commit().ok());
    CHECK(compressed("o") == expected);
    CHECK(store.stat(kBucket, "o")->hint == (hint | other));
    // Data with a hint of its own.
    REQUIRE(commit(store, [&](Transaction& t) {
              t.truncate(kBucket, "p", 0);
              t.write(kBucket, "p", 0, as_bytes(text), Hint::kCompressible);
            }).ok());
    CHECK(compressed("p") == hinted);
    CHECK(store.stat(kBucket, "p")->hint == (hint | other));
    REQUIRE(commit(store, [&](Transaction& t) { t.remove_range(kBucket, "", ""); }).ok());
  }
  const Result<std::unique_ptr<ObjectWriter>> refused =
      store.open_writer(kBucket, "x", Hint::kCompressible | Hint::kIncompressible);
  CHECK(code_of(refused) == ErrorCode::kInvalidArgument);
}

TEST_CASE("hints: a writer keeps the object's hints, replaces them, or takes them away") {
  StoreFixture fixture;
  Store store = fixture.open();
  const auto write = [&](std::optional<Hint> hint) {
    const auto writer = store.open_writer(kBucket, "o", hint).value();
    REQUIRE(writer->append(as_bytes("data")).ok());
    REQUIRE(writer->commit().ok());
    return store.stat(kBucket, "o")->hint;
  };
  CHECK(write(std::nullopt) == Hint::kNone);
  CHECK(write(Hint::kCompressible) == Hint::kCompressible);
  CHECK(write(std::nullopt) == Hint::kCompressible);
  CHECK(write(Hint::kNone) == Hint::kNone);
}

TEST_CASE("stat: shows the content type, and whether there is an omap") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "o", "data").ok());
  CHECK(store.stat(kBucket, "o")->content_type.empty());
  CHECK_FALSE(store.stat(kBucket, "o")->has_omap);
  REQUIRE(commit(store, [](Transaction& t) {
            t.set_attr(kBucket, "o", kContentType, "image/png");
            t.omap_set(kBucket, "o", "k", "v");
          }).ok());
  const ObjectStat stat = store.stat(kBucket, "o").value();
  CHECK(stat.content_type == "image/png");
  CHECK(stat.has_omap);
  CHECK(store.checksum(kBucket, "o", {0, 4})->version == stat.version);
}

}  // namespace
}  // namespace hexad::testing
