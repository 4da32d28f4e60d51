// Removing a collection together with its objects: at once for everybody who looks, bit by bit for
// the space.
#include <catch2/catch.hpp>
#include <thread>

#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr const char* kPhotos = "photos";
constexpr int kMany = 3000;  // objects: more than the background takes back with one record

Status commit(Store& store, Transaction&& transaction) {
  return store.commit(std::move(transaction)).status();
}

// Objects of every kind: inline, packed, with a stripe of their own, with pages.
void fill(Store& store) {
  Transaction create;
  create.create_collection(kPhotos);
  create.put(kDefaultCollection, "stays", noise(70'000, 1));
  REQUIRE(commit(store, std::move(create)).ok());
  for (int i = 0; i < kMany; i += 100) {
    Transaction t;
    for (int j = i; j < i + 100; ++j) t.put(kPhotos, "n" + std::to_string(j), noise(j % 700, 1));
    REQUIRE(commit(store, std::move(t)).ok());
  }
  Transaction large;
  large.put(kPhotos, "stripe", noise(300'000, 2));
  large.put(kPhotos, "pages", noise(2'500'000, 3));
  REQUIRE(commit(store, std::move(large)).ok());
}

Status remove_photos(Store& store) {
  Transaction t;
  t.remove_collection(kPhotos, Contents::kRemoved);
  return commit(store, std::move(t));
}

// The background takes objects back until so many are left.
void wait_for_objects(Store& store, std::uint64_t count) {
  for (;;) {
    const Result<SpaceUsage> space = store.space();
    REQUIRE(message_of(space.status()) == "");
    if (space->objects == count) return;
    REQUIRE(space->objects > count);
    std::this_thread::yield();
  }
}

TEST_CASE("remove_collection: with its objects, at once for readers, in time for the space") {
  StoreFixture fixture;
  Store store = fixture.open();
  fill(store);
  REQUIRE(code_of(commit(store, [] {
            Transaction t;
            t.remove_collection(kPhotos);
            return t;
          }())) == ErrorCode::kNotEmpty);
  const std::unique_ptr<ObjectReader> reader = store.open_reader(kPhotos, "pages").value();
  REQUIRE(remove_photos(store).ok());

  REQUIRE(code_of(store.get(kPhotos, "n7")) == ErrorCode::kNotFound);
  REQUIRE(code_of(store.collection(kPhotos)) == ErrorCode::kNotFound);
  REQUIRE(code_of(remove_photos(store)) == ErrorCode::kNotFound);
  REQUIRE(store.collections()->size() == 1);
  REQUIRE(deep_findings(store) == "");
  // A reader goes on with what it has opened.
  Bytes read(2'500'000);
  std::uint64_t done = 0;
  while (done < read.size()) {
    const std::uint64_t more = reader->read(MutByteView(read).subspan(done)).value();
    REQUIRE(more > 0);
    done += more;
  }
  REQUIRE((as_text(read) == noise(2'500'000, 3)));

  // The name is free, and its new objects are none of the old ones.
  Transaction again;
  again.create_collection(kPhotos);
  again.create(kPhotos, "n7");
  REQUIRE(commit(store, std::move(again)).ok());
  REQUIRE(store.get(kPhotos, "n7")->empty());
  REQUIRE(store.collection(kPhotos)->objects == 1);
  REQUIRE(store.list(kPhotos)->entries.size() == 1);
  wait_for_objects(store, 2);
  REQUIRE(deep_findings(store) == "");
  REQUIRE((text_of(store.get(kDefaultCollection, "stays")) == noise(70'000, 1)));
}

TEST_CASE("remove_collection: what a crash leaves of the objects the next opening takes back") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    fill(store);
    REQUIRE(store.close().ok());
  }
  {
    Store store = fixture.open();
    REQUIRE(remove_photos(store).ok());
  }
  {
    // However much is left.
    Store store = fixture.open(Access::kReadOnly);
    REQUIRE(code_of(store.get(kPhotos, "n7")) == ErrorCode::kNotFound);
    REQUIRE(deep_findings(store) == "");
  }
  {
    Store store = fixture.open();
    wait_for_objects(store, 1);
    REQUIRE(deep_findings(store) == "");
    REQUIRE(store.close().ok());
  }
  Store reopened = fixture.open();
  REQUIRE(reopened.space()->objects == 1);
  REQUIRE(reopened.space()->user_bytes == 70'000);
}

TEST_CASE("remove_collection: changes of the same transaction count, before it and after it") {
  StoreFixture fixture;
  Store store = fixture.open();
  fill(store);
  Transaction t;
  t.put(kPhotos, "new", noise(5000, 9));
  t.remove(kPhotos, "n1");
  t.rename(kPhotos, "pages", kDefaultCollection, "kept");
  t.remove_collection(kPhotos, Contents::kRemoved);
  t.create_collection(kPhotos);
  t.put(kPhotos, "after", noise(6000, 9));
  t.expect_exists(kPhotos, "n1");
  REQUIRE(commit(store, std::move(t)).ok());
  REQUIRE((text_of(store.get(kDefaultCollection, "kept")) == noise(2'500'000, 3)));
  REQUIRE((text_of(store.get(kPhotos, "after")) == noise(6000, 9)));
  REQUIRE(code_of(store.get(kPhotos, "new")) == ErrorCode::kNotFound);
  REQUIRE(store.collection(kPhotos)->objects == 1);
  REQUIRE(store.collection(kPhotos)->bytes == 6000);
  REQUIRE(store.collection(kDefaultCollection)->objects == 2);
  wait_for_objects(store, 3);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("remove_collection: one that the same transaction made, or that is empty, is just gone") {
  StoreFixture fixture;
  Store store = fixture.open();
  Transaction t;
  t.create_collection(kPhotos);
  t.put(kPhotos, "a", noise(5000, 1));
  t.remove_collection(kPhotos, Contents::kRemoved);
  t.create_collection("empty");
  REQUIRE(commit(store, std::move(t)).ok());
  Transaction empty;
  empty.remove_collection("empty", Contents::kRemoved);
  REQUIRE(commit(store, std::move(empty)).ok());
  REQUIRE(store.collections()->size() == 1);
  REQUIRE(store.space()->objects == 0);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("remove_collection: who needs the space gets it without waiting for the background") {
  StoreFixture fixture;  // some 28 MiB
  Store store = fixture.open();
  Transaction create;
  create.create_collection(kPhotos);
  REQUIRE(commit(store, std::move(create)).ok());
  const auto fill_up = [&](const char* collection) {
    for (int i = 0;; ++i) {
      Transaction t;
      t.put(collection, "n" + std::to_string(i), noise(400'000, 1));
      const Status status = commit(store, std::move(t));
      if (status.ok()) continue;
      REQUIRE(code_of(status) == ErrorCode::kNoSpace);
      return i;
    }
  };
  const int before = fill_up(kPhotos);
  REQUIRE(before > 20);
  for (int round = 0; round < 3; ++round) {
    Transaction t;
    t.remove_collection(kPhotos, Contents::kRemoved);
    t.create_collection(kPhotos);
    REQUIRE(commit(store, std::move(t)).ok());
    REQUIRE(fill_up(kPhotos) >= before - 1);
  }
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
