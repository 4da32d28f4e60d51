#include "core/plan/plan_totals.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "core/engine/engine.h"
#include "core/opening/opening.h"
#include "core/record/keys.h"
#include "tests/core/plan/planner_world.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

void require_totals(Store& store, std::uint64_t objects, std::uint64_t bytes,
                    const std::string& collection = kBucket) {
  const Result<CollectionInfo> info = store.collection(collection);
  REQUIRE(info.ok());
  CHECK(info->objects == objects);
  CHECK(info->bytes == bytes);
}

TEST_CASE("totals: every kind of change is counted, before and after reopening") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  require_totals(*store, 0, 0);
  REQUIRE(commit(*store, [](Transaction& t) {
            t.create_collection("other");
            t.put(kBucket, "a", noise(5000, 1));
            t.write(kBucket, "b", 1'000'000, as_bytes("end"));
            t.create(kBucket, "c");
            t.put(kBucket, "never", "x");
            t.remove(kBucket, "never");
          }).ok());
  require_totals(*store, 3, 5000 + 1'000'003);
  REQUIRE(commit(*store, [](Transaction& t) {
            t.truncate(kBucket, "b", 7);
            t.append(kBucket, "a", as_bytes("more"));
            t.zero(kBucket, "c", 10, 10);
            t.set_attr(kBucket, "c", "k", "v");
          }).ok());
  require_totals(*store, 3, 5004 + 7 + 20);
  REQUIRE(commit(*store, [](Transaction& t) {
            t.rename(kBucket, "a", "other", "a");
            t.rename(kBucket, "c", kBucket, "d");
          }).ok());
  require_totals(*store, 2, 27);
  require_totals(*store, 1, 5004, "other");
  {
    auto writer = store->open_writer(kBucket, "stream");
    REQUIRE(writer.ok());
    for (int i = 0; i < 5; ++i) REQUIRE((*writer)->append(as_bytes(noise(700'000, i))).ok());
    REQUIRE((*writer)->commit().ok());
  }
  require_totals(*store, 3, 27 + 3'500'000);
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    if (round == 2) REQUIRE(store->close().ok());
    store.reset();
    store = fixture.open();
    require_totals(*store, 3, 27 + 3'500'000);
    require_totals(*store, 1, 5004, "other");
    REQUIRE(deep_findings(*store) == "");
    if (round == 0) REQUIRE(store->checkpoint().ok());
  }
  REQUIRE(commit(*store, [](Transaction& t) {
            t.remove_range(kBucket, "", "");
            t.remove_range("other", "", "");
            t.remove_collection("other");
          }).ok());
  require_totals(*store, 0, 0);
  REQUIRE(code_of(store->collection("other")) == ErrorCode::kNotFound);
  // A collection of the same name begins with nothing, in the same transaction, too.
  REQUIRE(commit(*store, [](Transaction& t) {
            t.create_collection("other");
            t.put("other", "a", "1");
          }).ok());
  REQUIRE(commit(*store, [](Transaction& t) {
            t.remove("other", "a");
            t.remove_collection("other");
            t.create_collection("other");
            t.put("other", "b", "22");
          }).ok());
  require_totals(*store, 1, 2, "other");
  REQUIRE(deep_findings(*store) == "");
}

TEST_CASE("quota: of objects, to the last one, and removing always works") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  REQUIRE(commit(*store, [](Transaction& t) {
            t.set_quota(kBucket, {3, 0});
            t.put(kBucket, "a", "1");
            t.put(kBucket, "b", "2");
            t.put(kBucket, "c", "3");
          }).ok());
  store.reset();
  store = fixture.open();
  REQUIRE(store->collection(kBucket)->quota == Quota{3, 0});
  const Result<Lsn> full = put(*store, "d", "4");
  REQUIRE(code_of(full) == ErrorCode::kNoSpace);
  CHECK(full.error().message == "collection default: 4 objects, its quota is 3 objects");
  CHECK_FALSE(full.error().hint.empty());
  CHECK_FALSE(store->exists(kBucket, "d").value());
  // One for another, in any order, and changes of what is there.
  REQUIRE(commit(*store, [](Transaction& t) {
            t.put(kBucket, "d", "4");
            t.remove(kBucket, "a");
          }).ok());
  REQUIRE(put(*store, "b", noise(100'000, 1)).ok());
  // Below what there is: nothing comes in, everything goes out.
  REQUIRE(commit(*store, [](Transaction& t) { t.set_quota(kBucket, {1, 0}); }).ok());
  REQUIRE(put(*store, "b", "still").ok());
  REQUIRE(code_of(put(*store, "e", "5")) == ErrorCode::kNoSpace);
  REQUIRE(::hexad::testing::remove(*store, "b").ok());
  REQUIRE(commit(*store, [](Transaction& t) { t.rename(kBucket, "c", kBucket, "cc"); }).ok());
  REQUIRE(code_of(put(*store, "e", "5")) == ErrorCode::kNoSpace);
  // The quota that counts is the one at the end.
  REQUIRE(commit(*store, [](Transaction& t) {
            t.put(kBucket, "e", "5");
            t.put(kBucket, "f", "6");
            t.set_quota(kBucket, {4, 0});
          }).ok());
  require_totals(*store, 4, 4);
  REQUIRE(commit(*store, [](Transaction& t) { t.set_quota(kBucket, {}); }).ok());
  REQUIRE(put(*store, "g", "7").ok());
  CHECK(code_of(commit(*store, [](Transaction& t) { t.set_quota("none", {}); })) ==
        ErrorCode::kNotFound);
}

TEST_CASE("quota: of bytes, to the last one, holes and streams counted") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(commit(store, [](Transaction& t) {
            t.create_collection("other");
            t.set_quota(kBucket, {0, 1'000'000});
          }).ok());
  REQUIRE(put(store, "a", noise(400'000, 1)).ok());
  REQUIRE(commit(store, [](Transaction& t) { t.truncate(kBucket, "a", 999'999); }).ok());
  REQUIRE(put(store, "b", "1").ok());
  const Result<Lsn> full =
      commit(store, [](Transaction& t) { t.append(kBucket, "b", as_bytes("2")); });
  REQUIRE(code_of(full) == ErrorCode::kNoSpace);
  CHECK(full.error().message == "collection default: 1000001 bytes, its quota is 1000000 bytes");
  CHECK(get(store, "b") == "1");
  // Empty objects take no bytes; others have their own quota.
  REQUIRE(put(store, "empty", "").ok());
  REQUIRE(commit(store, [](Transaction& t) { t.put("other", "big", noise(2'000'000, 2)); }).ok());
  REQUIRE(code_of(commit(store, [](Transaction& t) {
            t.rename("other", "big", kBucket, "big");
          })) == ErrorCode::kNoSpace);
  auto writer = store.open_writer(kBucket, "stream");
  REQUIRE(writer.ok());
  for (int i = 0; i < 3; ++i) REQUIRE((*writer)->append(as_bytes(noise(1 << 20, i))).ok());
  REQUIRE(code_of((*writer)->commit()) == ErrorCode::kNoSpace);
  REQUIRE(commit(store, [](Transaction& t) { t.rename(kBucket, "a", "other", "a"); }).ok());
  require_totals(store, 2, 1);
  require_totals(store, 2, 2'999'999, "other");
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("quota: threads that fill a collection together stop at it exactly") {
  StoreFixture fixture;
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  REQUIRE(commit(store, [](Transaction& t) { t.set_quota(kBucket, {50, 0}); }).ok());
  std::vector<std::unique_ptr<io::Thread>> threads;
  std::atomic<int> made{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.push_back(fixture.memory.executor().start("fill", [&, thread] {
      for (int i = 0; i < 30; ++i) {
        const auto result = put(store, std::to_string(thread * 100 + i), noise(700, i));
        HEXAD_ASSERT(result.ok() || result.error().code == ErrorCode::kNoSpace);
        if (result.ok()) ++made;
      }
    }));
  }
  for (const auto& thread : threads) thread->join();
  REQUIRE(made == 50);
  require_totals(store, 50, 50 * 700);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("policy: what is written later is compressed as it says, what is stored stays") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const std::string text(50'000, 't');
  REQUIRE(put(*store, "before", text).ok());
  compression::Policy policy;
  policy.mode = compression::Mode::kForce;
  policy.algorithm = compression::Algorithm::kZstd;
  REQUIRE(commit(*store, [&](Transaction& t) { t.set_policy(kBucket, policy); }).ok());
  REQUIRE(put(*store, "after", text).ok());
  for (int round = 0; round < 2; ++round) {
    CHECK(store->stat(kBucket, "before")->stored == text.size());
    CHECK(store->stat(kBucket, "after")->stored < text.size() / 10);
    CHECK((get(*store, "before") == text));
    CHECK((get(*store, "after") == text));
    CHECK(store->collection(kBucket)->compression == policy);
    const Result<CollectionUsage> usage = store->collection_usage(kBucket);
    REQUIRE(usage.ok());
    CHECK(usage->objects == 2);
    CHECK(usage->bytes == 2 * text.size());
    CHECK(usage->compressed_original == text.size());
    CHECK(usage->stored == text.size() + usage->compressed);
    REQUIRE(store->close().ok());
    store.reset();
    store = fixture.open();
  }
  policy.mode = compression::Mode::kNone;
  REQUIRE(commit(*store, [&](Transaction& t) {
            t.create_collection("later");
            t.set_policy(kBucket, policy);
            t.set_quota(kBucket, {100, 0});
          }).ok());
  REQUIRE(put(*store, "last", text).ok());
  CHECK(store->stat(kBucket, "last")->stored == text.size());
  CHECK(store->collection(kBucket)->quota == Quota{100, 0});
  CHECK(store->collection(kBucket)->compression == policy);
  CHECK(store->collections()->size() == 2);
  CHECK(code_of(commit(*store, [&](Transaction& t) { t.set_policy("none", policy); })) ==
        ErrorCode::kNotFound);
}

TEST_CASE("totals: fsck finds what is counted wrong, and counts anew when it repairs") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "a", noise(5000, 1)).ok());
    REQUIRE(put(store, "b", "12345").ok());
  }
  const auto damage = GENERATE(values<std::optional<std::string>>(
      {std::nullopt, core::encode_totals({1, 5005}), core::encode_totals({3, 5000}),
       core::encode_totals({7, kMaxCollectionBytes}), std::string("\x07\x01")}));
  {
    core::Engine engine(core::open_parts(fixture.pool, {}, fixture.system).value());
    REQUIRE(engine.start().ok());
    const auto fill = [&](core::LogRecord& record) -> Status {
      record.images.push_back({core::totals_key(1), damage});
      record.images.push_back({core::totals_key(77), core::encode_totals({1, 1})});
      return {};
    };
    REQUIRE(engine.own_commits().commit_internal(fill).ok());
    REQUIRE(engine.close().ok());
  }
  std::optional<Store> store = fixture.open();
  REQUIRE_THAT(deep_findings(*store), Catch::Contains("2 objects of 5005 bytes"));
  REQUIRE(store->fsck({false, false})->errors() >= 2);
  REQUIRE(store->fsck({false, true}).ok());
  REQUIRE(store->fsck({false, false})->errors() == 0);
  require_totals(*store, 2, 5005);
  store.reset();
  store = fixture.open();
  require_totals(*store, 2, 5005);
  REQUIRE(::hexad::testing::remove(*store, "a").ok());
  require_totals(*store, 1, 5);
  REQUIRE(deep_findings(*store) == "");
}

// --- what the planner decides ---

TEST_CASE("totals: a transaction that changes no number and no size writes none") {
  core::testing::MapSource source;
  core::PlanContext context;
  context.lsn = 100;
  source.map[core::collection_key("c")] = core::encode_collection({1, {}, {}});
  core::ObjectRecord record;
  record.size = 10;
  source.map[core::object_key(1, "a")] = core::encode_object(record, context.shape);
  source.map[core::totals_key(1)] = core::encode_totals({1, 10});
  const auto plan = [&](const Build& build) {
    Transaction t;
    build(t);
    return core::plan_transaction(t, core::PreparedOps(t.size()), context, source);
  };
  CHECK(plan([](Transaction& t) {
          t.set_attr("c", "a", "k", "v");
          t.create("c", "b");
          t.remove("c", "b");
          t.rename("c", "a", "c", "z");
          t.expect_exists("c", "a");
        })->totals.empty());
  const Result<core::Plan> grown = plan([](Transaction& t) { t.truncate("c", "a", 25); });
  REQUIRE(grown->totals.size() == 1);
  CHECK(grown->totals[0].key == core::totals_key(1));
  CHECK(core::decode_totals(*grown->totals[0].value).value() == core::CollectionTotals{1, 25});
  const Result<core::Plan> emptied = plan([](Transaction& t) { t.remove("c", "a"); });
  REQUIRE(emptied->totals.size() == 1);
  CHECK_FALSE(emptied->totals[0].value.has_value());

  // Where sizes could no longer be added up, they end.
  source.map[core::totals_key(1)] = core::encode_totals({1 << 18, kMaxCollectionBytes - 5});
  CHECK(plan([](Transaction& t) { t.truncate("c", "a", 15); }).ok());
  CHECK(plan([](Transaction& t) { t.truncate("c", "a", 16); }).error().code == ErrorCode::kTooBig);
  CHECK(plan([](Transaction& t) { t.truncate("c", "a", kMaxObjectSize); }).error().code ==
        ErrorCode::kTooBig);

  // Totals that cannot be true are damage, and no reason to count below zero.
  source.map[core::totals_key(1)] = core::encode_totals({1, 9});
  CHECK(plan([](Transaction& t) { t.remove("c", "a"); }).error().code == ErrorCode::kCorruption);
  source.map.erase(core::totals_key(1));
  CHECK(plan([](Transaction& t) { t.remove("c", "a"); }).error().code == ErrorCode::kCorruption);
  CHECK(plan([](Transaction& t) { t.set_attr("c", "a", "k", "v"); }).ok());
}

}  // namespace
}  // namespace hexad::testing
