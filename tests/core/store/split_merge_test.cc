// Objects that go from one collection to another without being written: splits and merges.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "core/record/name_parts.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr const char* kOther = "other";

// Objects of every kind below "a/", some beside them, and an empty collection.
void fill(Store& store) {
  REQUIRE(commit(store, [](Transaction& t) {
            t.create_collection(kOther);
            t.put(kBucket, "a", "beside");
            t.put(kBucket, "a/inline", "some bytes");
            t.put(kBucket, "a/pack", noise(5000, 1));
            t.put(kBucket, "a/stripe", noise(300'000, 2));
            t.put(kBucket, "a/pages", noise(2'500'000, 3));
            t.set_attr(kBucket, "a/inline", "key", "value");
            t.set_hint(kBucket, "a/inline", Hint::kImmutable);
            t.omap_set(kBucket, "a/inline", "k", "v");
            t.put(kBucket, "a0", "behind");
            t.put(kBucket, "z", noise(6000, 4));
          }).ok());
}

std::string names(Store& store, const std::string& collection, bool reverse = false) {
  ListOptions options;
  options.reverse = reverse;
  std::string all;
  const ListPage page = store.list(collection, options).value();
  for (const ListEntry& entry : page.entries) {
    if (!all.empty()) all += ' ';
    all += entry.name;
  }
  return all;
}

void require_totals(Store& store, const std::string& collection, std::uint64_t objects,
                    std::uint64_t bytes) {
  const CollectionInfo info = store.collection(collection).value();
  CHECK(info.objects == objects);
  CHECK(info.bytes == bytes);
  const CollectionUsage usage = store.collection_usage(collection).value();
  CHECK(usage.objects == objects);
  CHECK(usage.bytes == bytes);
}

// What fill() has put below "a/", with versions of `version`.
void require_parts(Store& store, const std::string& collection, Lsn version) {
  CHECK(text_of(store.get(collection, "a/inline")) == "some bytes");
  CHECK((text_of(store.get(collection, "a/pack")) == noise(5000, 1)));
  CHECK((text_of(store.get(collection, "a/stripe")) == noise(300'000, 2)));
  CHECK((text_of(store.get(collection, "a/pages")) == noise(2'500'000, 3)));
  CHECK(store.attribute(collection, "a/inline", "key").value() == "value");
  CHECK(as_text(**store.omap_get(collection, "a/inline", "k")) == "v");
  for (const char* name : {"a/inline", "a/pack", "a/stripe", "a/pages"}) {
    CHECK(store.stat(collection, name)->version == version);
  }
  CHECK(store.stat(collection, "a/inline")->hint == Hint::kImmutable);
}

void wait_for_objects(Store& store, std::uint64_t count) {
  while (store.space()->objects != count) std::this_thread::yield();
}

TEST_CASE("split: objects go with all their parts and their versions, and merge brings them back") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  fill(*store);
  const Lsn version = store->stat(kBucket, "a/inline")->version;
  const std::uint64_t moved = 10 + 5000 + 300'000 + 2'500'000;
  require_parts(*store, kBucket, version);  // and the read cache knows them
  REQUIRE(commit(*store, [](Transaction& t) { t.split_collection(kBucket, "a/", kOther); }).ok());
  for (int round = 0; round < 4; ++round) {
    CAPTURE(round);
    require_parts(*store, kOther, version);
    CHECK(names(*store, kBucket) == "a a0 z");
    CHECK(names(*store, kBucket, true) == "z a0 a");
    CHECK(names(*store, kOther) == "a/inline a/pack a/pages a/stripe");
    CHECK(code_of(store->get(kBucket, "a/pack")) == ErrorCode::kNotFound);
    CHECK_FALSE(store->exists(kBucket, "a/inline").value());
    require_totals(*store, kBucket, 3, 12 + 6000);
    require_totals(*store, kOther, 4, moved);
    REQUIRE(deep_findings(*store) == "");
    // Left to recovery, out of the runs, and after a clean close.
    if (round == 1) REQUIRE(store->checkpoint().ok());
    if (round == 2) REQUIRE(store->close().ok());
    store.reset();
    store = fixture.open();
  }
  REQUIRE(commit(*store, [](Transaction& t) { t.merge_collection(kOther, kBucket); }).ok());
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    require_parts(*store, kBucket, version);
    CHECK(names(*store, kBucket) == "a a/inline a/pack a/pages a/stripe a0 z");
    require_totals(*store, kBucket, 7, moved + 12 + 6000);
    CHECK(code_of(store->collection(kOther)) == ErrorCode::kNotFound);
    CHECK(store->collections()->size() == 1);
    REQUIRE(deep_findings(*store) == "");
    store.reset();
    store = fixture.open();
  }
}

TEST_CASE("split: the same names made anew are other objects, and stay apart") {
  StoreFixture fixture;
  Store store = fixture.open();
  fill(store);
  REQUIRE(commit(store, [](Transaction& t) { t.split_collection(kBucket, "a/", kOther); }).ok());
  const std::unique_ptr<ObjectReader> reader = store.open_reader(kOther, "a/pages").value();
  REQUIRE(commit(store, [](Transaction& t) {
            t.put(kBucket, "a/pack", "new");
            t.create(kBucket, "a/new");
            t.remove(kOther, "a/stripe");
            t.create(kOther, "b");
          }).ok());
  CHECK(names(store, kBucket) == "a a/new a/pack a0 z");
  CHECK(names(store, kOther) == "a/inline a/pack a/pages b");
  CHECK((text_of(store.get(kOther, "a/pack")) == noise(5000, 1)));
  CHECK(text_of(store.get(kBucket, "a/pack")) == "new");
  const Result<Lsn> clash =
      commit(store, [](Transaction& t) { t.merge_collection(kOther, kBucket); });
  REQUIRE(code_of(clash) == ErrorCode::kAlreadyExists);
  CHECK(clash.error().message.find("default/a/pack") != std::string::npos);
  // Objects that a transaction removes first are in nobody's way.
  REQUIRE(commit(store, [](Transaction& t) {
            t.remove(kBucket, "a/pack");
            t.merge_collection(kOther, kBucket);
            t.expect_bytes(kBucket, "a/pack", 0, as_bytes("new"));
          }).ok());
  CHECK(names(store, kBucket) == "a a/inline a/new a/pack a/pages a0 b z");
  CHECK((text_of(store.get(kBucket, "a/pack")) == noise(5000, 1)));
  REQUIRE(deep_findings(store) == "");
  Bytes read(2'500'000);
  std::uint64_t done = 0;
  while (done < read.size()) {
    const std::uint64_t more = reader->read(MutByteView(read).subspan(done)).value();
    REQUIRE(more > 0);
    done += more;
  }
  CHECK((as_text(read) == noise(2'500'000, 3)));
}

TEST_CASE("split: what cannot be done says so, and changes nothing") {
  StoreFixture fixture;
  Store store = fixture.open();
  fill(store);
  REQUIRE(commit(store, [](Transaction& t) { t.create(kOther, "a/x"); }).ok());
  const std::string before = names(store, kBucket) + "|" + names(store, kOther);
  const auto refused = [&](const Build& build) {
    const Result<Lsn> result = commit(store, [&](Transaction& t) {
      t.put(kBucket, "never", "seen");
      build(t);
    });
    REQUIRE_FALSE(result.ok());
    CHECK(names(store, kBucket) + "|" + names(store, kOther) == before);
    return result.error();
  };
  const auto code = [&](const Build& build) { return refused(build).code; };
  const std::string too_long(kMaxNameSize + 1, 'p');
  CHECK(code([](Transaction& t) { t.split_collection("no", "a", kOther); }) ==
        ErrorCode::kNotFound);
  CHECK(code([](Transaction& t) { t.split_collection(kBucket, "a", "no"); }) ==
        ErrorCode::kNotFound);
  CHECK(code([](Transaction& t) { t.merge_collection("no", kOther); }) == ErrorCode::kNotFound);
  CHECK(code([](Transaction& t) { t.merge_collection(kOther, "no"); }) == ErrorCode::kNotFound);
  CHECK(code([](Transaction& t) { t.split_collection(kBucket, "a", kBucket); }) ==
        ErrorCode::kInvalidArgument);
  CHECK(code([](Transaction& t) { t.merge_collection(kBucket, kBucket); }) ==
        ErrorCode::kInvalidArgument);
  CHECK(code([&](Transaction& t) { t.split_collection(kBucket, too_long, kOther); }) ==
        ErrorCode::kInvalidArgument);
  CHECK(code([&](Transaction& t) { t.split_collection(too_long, "a", kOther); }) ==
        ErrorCode::kInvalidArgument);
  CHECK(code([](Transaction& t) { t.split_collection(kBucket, "a", ""); }) ==
        ErrorCode::kInvalidArgument);
  CHECK(code([](Transaction& t) { t.merge_collection(kBucket, ""); }) ==
        ErrorCode::kInvalidArgument);
  const Error taken = refused([](Transaction& t) { t.split_collection(kBucket, "a/", kOther); });
  CHECK(taken.code == ErrorCode::kNotEmpty);
  CHECK(taken.message.find("a/x") != std::string::npos);
  CHECK(code([](Transaction& t) {
          t.split_collection(kBucket, "a0", kOther);
          t.expect_exists(kOther, "a0");
        }) == ErrorCode::kConflict);
  // Quotas of who gets the objects.
  const Error objects = refused([](Transaction& t) {
    t.set_quota(kOther, {1, 0});
    t.split_collection(kBucket, "z", kOther);
  });
  CHECK(objects.code == ErrorCode::kNoSpace);
  CHECK(objects.message.find("collection other") != std::string::npos);
  CHECK(code([](Transaction& t) {
          t.set_quota(kBucket, {0, 100});
          t.create_collection("third");
          t.put("third", "third", noise(101, 1));
          t.merge_collection("third", kBucket);
        }) == ErrorCode::kNoSpace);
  // No object has the prefix: nothing changes, whatever the other one holds.
  REQUIRE(
      commit(store, [](Transaction& t) { t.split_collection(kBucket, "nothing", kOther); }).ok());
  CHECK(names(store, kBucket) + "|" + names(store, kOther) == before);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("split: changes of the same transaction count, before it and after it") {
  StoreFixture fixture;
  Store store = fixture.open();
  fill(store);
  REQUIRE(commit(store, [](Transaction& t) {
            t.put(kBucket, "a/new", "12345");
            t.remove(kBucket, "a/pack");
            t.truncate(kBucket, "a/stripe", 1000);
            t.rename(kBucket, "a/pages", kBucket, "pages");
            t.split_collection(kBucket, "a/", kOther);
            t.append(kOther, "a/new", as_bytes("6"));
            t.put(kBucket, "a/new", "another");
            t.touch(kBucket, "a/pack");
            t.remove(kOther, "a/inline");
            t.expect_exists(kBucket, "a/pack");
            t.expect_absent(kOther, "a/stripe");
          }).ok());
  CHECK(names(store, kBucket) == "a a/new a/pack a0 pages z");
  CHECK(names(store, kOther) == "a/new a/stripe");
  CHECK(text_of(store.get(kOther, "a/new")) == "123456");
  CHECK(text_of(store.get(kBucket, "a/new")) == "another");
  require_totals(store, kOther, 2, 6 + 1000);
  require_totals(store, kBucket, 6, 6 + 7 + 0 + 6 + 2'500'000 + 6000);
  // What was there under a name before it changed hands is gone from whom it was taken.
  REQUIRE(commit(store, [](Transaction& t) {
            t.remove(kOther, "a/new");
            t.remove(kOther, "a/stripe");
            t.rename(kBucket, "a/new", kBucket, "b/new");
            t.split_collection(kBucket, "a/", kOther);
            t.put(kBucket, "a/new", "123456789");
            t.put(kOther, "a/new", "0");
          }).ok());
  CHECK(names(store, kOther) == "a/new a/pack");
  CHECK(names(store, kBucket) == "a a/new a0 b/new pages z");
  require_totals(store, kOther, 2, 1);
  require_totals(store, kBucket, 6, 6 + 9 + 6 + 7 + 2'500'000 + 6000);
  REQUIRE(deep_findings(store) == "");
  REQUIRE(commit(store, [](Transaction& t) {
            t.remove(kOther, "a/new");
            t.remove(kOther, "a/pack");
            t.rename(kBucket, "b/new", kOther, "a/new");
            t.put(kOther, "a/stripe", noise(1000, 1));
            t.create(kBucket, "a/pack");
          }).ok());
  // There and back and on in one transaction, with the empty prefix: all.
  REQUIRE(commit(store, [](Transaction& t) {
            t.create_collection("third");
            t.split_collection(kBucket, "", "third");
            t.put(kBucket, "only", "1");
            t.merge_collection(kBucket, kOther);
            t.create_collection(kBucket);
            t.split_collection("third", "z", kBucket);
          }).ok());
  CHECK(names(store, "third") == "a a/new a/pack a0 pages");
  CHECK(names(store, kBucket) == "z");
  CHECK(names(store, kOther) == "a/new a/stripe only");
  require_totals(store, kOther, 3, 7 + 1000 + 1);
  require_totals(store, kBucket, 1, 6000);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("split: a collection that is removed with its objects leaves those of the other alone") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  fill(*store);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(commit(*store, [&](Transaction& t) {
              for (int j = 0; j < 100; ++j) {
                t.put(kBucket, "a/" + std::to_string(100 * i + j), noise(300, j));
              }
            }).ok());
  }
  REQUIRE(commit(*store, [](Transaction& t) { t.split_collection(kBucket, "a/", kOther); }).ok());
  REQUIRE(code_of(commit(*store, [](Transaction& t) { t.remove_collection(kOther); })) ==
          ErrorCode::kNotEmpty);
  // The names are free at once.
  REQUIRE(commit(*store, [](Transaction& t) {
            t.remove_collection(kOther, Contents::kRemoved);
            t.create_collection(kOther);
            t.put(kOther, "a/1", "new");
            t.put(kBucket, "a/1", "old");
          }).ok());
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    CHECK(names(*store, kBucket) == "a a/1 a0 z");
    CHECK(names(*store, kOther) == "a/1");
    REQUIRE(deep_findings(*store) == "");
    store.reset();
    store = fixture.open();
  }
  wait_for_objects(*store, 5);
  CHECK(text_of(store->get(kOther, "a/1")) == "new");
  CHECK(text_of(store->get(kBucket, "a/1")) == "old");
  CHECK((text_of(store->get(kBucket, "z")) == noise(6000, 4)));
  REQUIRE(deep_findings(*store) == "");
}

TEST_CASE("merge: names that take turns merge, up to a limit, and are listed in order") {
  StoreFixture fixture;
  Store store = fixture.open();
  const auto name = [](int i) { return std::to_string(1000 + i); };
  const auto create = [&](int count) {
    return commit(store,
                  [&](Transaction& t) {
                    t.create_collection("odd");
                    t.create_collection("even");
                    for (int i = 0; i < count; ++i) t.create(i % 2 == 0 ? "even" : "odd", name(i));
                  })
        .ok();
  };
  constexpr int kMost = static_cast<int>(core::kMaxNameParts);
  REQUIRE(create(kMost + 1));
  const Result<Lsn> refused =
      commit(store, [](Transaction& t) { t.merge_collection("odd", "even"); });
  REQUIRE(code_of(refused) == ErrorCode::kTooBig);
  CHECK(store.collection("odd")->objects == kMost / 2);
  REQUIRE(commit(store, [&](Transaction& t) {
            t.remove("even", name(kMost));
            t.merge_collection("odd", "even");
          }).ok());
  std::string expected;
  for (int i = 0; i < kMost; ++i) expected += (i == 0 ? "" : " ") + name(i);
  CHECK(names(store, "even") == expected);
  ListOptions options;
  options.prefix = "11";
  options.reverse = true;
  const ListPage page = store.list("even", options).value();
  REQUIRE(page.entries.size() == 100);
  CHECK(page.entries.front().name == "1199");
  for (int i = 0; i < kMost; ++i) CHECK(store.exists("even", name(i)).value());
  REQUIRE(commit(store, [](Transaction& t) { t.remove_range("even", "1010", "1200"); }).ok());
  require_totals(store, "even", kMost - 190, 0);
  REQUIRE(store.checkpoint().ok());
  REQUIRE(deep_findings(store) == "");
  REQUIRE(
      commit(store, [](Transaction& t) { t.remove_collection("even", Contents::kRemoved); }).ok());
  wait_for_objects(store, 0);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("split: totals are right with writers at work while it counts") {
  StoreFixture fixture;
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  fill(store);
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; !stop; ++i) {
        Transaction t;
        const std::string name = "a/" + std::to_string(writer) + std::to_string(i % 50);
        if (i % 3 == 2) {
          t.remove(kBucket, name);
        } else {
          t.put(kBucket, name, noise(static_cast<std::size_t>(i % 400), 1));
        }
        if (!store.commit(std::move(t)).ok()) ++failed;
      }
    });
  }
  std::string why;
  for (int round = 0; round < 30 && why.empty(); ++round) {
    const Result<Lsn> split =
        commit(store, [](Transaction& t) { t.split_collection(kBucket, "a/", kOther); });
    if (!split.ok()) why = split.error().to_string();
    const Result<Lsn> merged = commit(store, [](Transaction& t) {
      t.remove_range(kBucket, "a/", "a0");
      t.merge_collection(kOther, kBucket);
      t.create_collection(kOther);
    });
    if (!merged.ok()) why = merged.error().to_string();
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  REQUIRE(why == "");
  REQUIRE(failed == 0);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("split: a writer that was open writes to where its name is now") {
  StoreFixture fixture;
  Store store = fixture.open();
  fill(store);
  const std::unique_ptr<ObjectWriter> writer = store.open_writer(kBucket, "a/pack").value();
  REQUIRE(writer->append(as_bytes(noise(1'500'000, 8))).ok());
  REQUIRE(commit(store, [](Transaction& t) { t.split_collection(kBucket, "a/", kOther); }).ok());
  REQUIRE(writer->commit().ok());
  CHECK((text_of(store.get(kBucket, "a/pack")) == noise(1'500'000, 8)));
  CHECK((text_of(store.get(kOther, "a/pack")) == noise(5000, 1)));
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
