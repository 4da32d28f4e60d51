// No thread of the engine has two readers of the index at once, whatever is asked of it. It once
// had: an opening writer asked for a second one while the index, which wanted to grow, waited for
// the first, and all the store stood still.
#include <functional>
#include <utility>

#include "base/units.h"
#include "core/engine/engine.h"
#include "core/opening/opening.h"
#include "kv/lmdb/lmdb_index.h"
#include "tests/base/thinned.h"
#include "tests/core/store/settled_store.h"
#include "tests/core/store_fixture.h"
#include "tests/core/store_runner.h"
#include "tests/kv/watched_index.h"

namespace hexad::testing {
namespace {

// Stores that are opened over watched indexes in LMDB.
class Watched {
 public:
  explicit Watched(io::System& system)
      : system_(system), home_(watch, kv::make_lmdb_home(system.executor())) {}

  Result<Store> open(const PoolDescription& pool, const RuntimeOptions& runtime) {
    HEXAD_TRY_ASSIGN(core::StoreParts parts, core::open_parts(pool, runtime, &system_, &home_));
    auto engine = std::make_unique<core::Engine>(std::move(parts));
    HEXAD_TRY(engine->start());
    return Store(std::move(engine));
  }

  ReaderWatch watch;

 private:
  io::System& system_;
  WatchedHome home_;
};

FormatOptions heeding(compression::Mode mode) {
  FormatOptions format = small_format();
  format.device_size = 24_MiB;
  format.compression.mode = mode;  // heeds the hints of objects
  format.compression.algorithm = compression::Algorithm::kSnappy;
  return format;
}

// An object of several pages, with an omap, a clone of both, and a small one.
void fill(Store& store) {
  REQUIRE(put(store, "large", noise(3'000'000, 1)).ok());
  REQUIRE(put(store, "small", "some bytes").ok());
  Transaction t;
  t.set_hint(kBucket, "small", Hint::kCompressible);
  for (int i = 0; i < 20; ++i) t.omap_set(kBucket, "large", "k" + std::to_string(i), noise(90, i));
  t.clone(kBucket, "large", kBucket, "clone");
  REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
}

using Call = std::pair<const char*, std::function<Status(Store&)>>;

Call committing(const char* name, std::function<void(Transaction&)> change) {
  return {name, [change = std::move(change)](Store& store) {
            Transaction t;
            change(t);
            return store.commit(std::move(t)).status();
          }};
}

std::vector<Call> calls() {
  static const std::string kLarge = noise(3'000'000, 1);
  std::vector<Call> calls = {
      {"get", [](Store& s) { return s.get(kBucket, "large").status(); }},
      {"read",
       [](Store& s) {
         Bytes into(2'000'000);
         return s.read(kBucket, "large", 17, into).status();
       }},
      {"read_ranges",
       [](Store& s) {
         const ByteRange ranges[] = {{5, 100}, {2'000'000, 5000}};
         return s.read_ranges(kBucket, "large", ranges).status();
       }},
      {"extents", [](Store& s) { return s.extents(kBucket, "large").status(); }},
      {"checksum",
       [](Store& s) {
         return s.checksum(kBucket, "clone", {0, kMaxObjectSize}).status();
       }},
      {"exists", [](Store& s) { return s.exists(kBucket, "missing").status(); }},
      {"stat", [](Store& s) { return s.stat(kBucket, "large").status(); }},
      {"attributes", [](Store& s) { return s.attributes(kBucket, "large").status(); }},
      {"omap_get", [](Store& s) { return s.omap_get(kBucket, "clone", "k1").status(); }},
      {"omap_header", [](Store& s) { return s.omap_header(kBucket, "large").status(); }},
      {"omap_list", [](Store& s) { return s.omap_list(kBucket, "clone").status(); }},
      {"list", [](Store& s) { return s.list(kBucket).status(); }},
      {"collections", [](Store& s) { return s.collections().status(); }},
      {"collection", [](Store& s) { return s.collection(kBucket).status(); }},
      {"collection_usage", [](Store& s) { return s.collection_usage(kBucket).status(); }},
      {"space", [](Store& s) { return s.space().status(); }},
      {"checkpoint", [](Store& s) { return s.checkpoint(); }},
      {"fsck",
       [](Store& s) {
         FsckOptions options;
         options.deep = true;
         options.repair = true;
         return s.fsck(options).status();
       }},
      {"scrub", [](Store& s) { return s.scrub().status(); }},
      {"status",
       [](Store& s) {
         s.status();
         s.counters();
         return Status();
       }},
      {"open_writer, with the hint that the object has",
       [](Store& s) -> Status {
         HEXAD_TRY_ASSIGN(const auto writer, s.open_writer(kBucket, "small"));
         HEXAD_TRY(writer->append(as_bytes(std::string_view(kLarge))));
         return writer->commit().status();
       }},
      {"open_reader",
       [](Store& s) -> Status {
         HEXAD_TRY_ASSIGN(const auto reader, s.open_reader(kBucket, "large"));
         Bytes into(100);
         return reader->read(into).status();
       }},
  };
  const auto bytes = [](std::string_view text) { return as_bytes(text); };
  calls.push_back(committing("expect_bytes", [bytes](Transaction& t) {
    t.expect_bytes(kBucket, "large", 0, bytes(kLarge));
    t.write(kBucket, "large", 5, bytes(std::string_view("five!")));
    t.write(kBucket, "large", 5, bytes(std::string_view(kLarge).substr(5, 5)));
  }));
  calls.push_back(committing("expect_omap", [](Transaction& t) {
    static const std::string kValue = noise(90, 3);
    t.expect_omap(kBucket, "clone", "k3", as_bytes(std::string_view(kValue)));
    t.omap_set(kBucket, "clone", "k4", as_bytes(std::string_view("four")));
  }));
  calls.push_back(committing("a put that hints", [bytes](Transaction& t) {
    t.put(kBucket, "hinted", bytes(std::string_view(kLarge).substr(0, 100'000)),
          Hint::kCompressible);
    t.append(kBucket, "hinted", bytes("more"));
  }));
  calls.push_back(committing("clone_range", [](Transaction& t) {
    t.clone_range(kBucket, "large", 1 << 20, 1 << 20, kBucket, "hinted", 0);
  }));
  calls.push_back(
      committing("create_collection", [](Transaction& t) { t.create_collection("split"); }));
  calls.push_back(
      committing("split", [](Transaction& t) { t.split_collection(kBucket, "c", "split"); }));
  calls.push_back(
      committing("merge", [](Transaction& t) { t.merge_collection("split", kBucket); }));
  calls.push_back(committing("remove_range", [](Transaction& t) {
    t.remove_range(kBucket, "h", "i");
    t.omap_remove_range(kBucket, "clone", "k1", "k2");
  }));
  calls.push_back(committing("truncate, zero, rename", [](Transaction& t) {
    t.truncate(kBucket, "clone", 2'000'000);
    t.zero(kBucket, "clone", 100, 1'500'000);
    t.rename(kBucket, "clone", kBucket, "renamed");
  }));
  calls.push_back(committing("remove", [](Transaction& t) {
    t.remove(kBucket, "renamed");
    t.remove(kBucket, "large");
  }));
  calls.push_back(committing("remove_collection", [](Transaction& t) {
    t.create_collection("gone");
    t.put("gone", "a", std::string_view("a"));
    t.remove_collection("gone", Contents::kRemoved);
  }));
  return calls;
}

TEST_CASE("nested readers: no call of a store has two readers of the index in one thread") {
  for (const compression::Mode mode :
       {compression::Mode::kPassive, compression::Mode::kAggressive}) {
    StoreFixture fixture(heeding(mode));
    Watched watched(*fixture.system);
    {
      Result<Store> store = watched.open(fixture.pool, {});
      REQUIRE(message_of(store.status()) == "");
      fill(*store);
      REQUIRE(store->close().ok());
    }
    Result<Store> store = watched.open(fixture.pool, {});  // with nothing in its caches
    REQUIRE(message_of(store.status()) == "");
    for (const auto& [name, call] : calls()) {
      CAPTURE(name);
      REQUIRE(message_of(call(*store)) == "");
      REQUIRE(watched.watch.nested() == 0);
    }
    REQUIRE(message_of(store->close()) == "");
    REQUIRE(watched.watch.nested() == 0);
    REQUIRE(watched.watch.readers() > calls().size());
  }
}

// What random transactions, streams and openings do, and the threads in the background.
class WatchedTarget final : public ReopenedTarget {
 public:
  WatchedTarget(FormatOptions format, const RuntimeOptions& runtime)
      : ReopenedTarget(runtime), fixture_(std::move(format)), watched_(*fixture_.system) {}
  ~WatchedTarget() override { drop(); }

  const ReaderWatch& watch() const { return watched_.watch; }

 private:
  Result<Store> open_store(const RuntimeOptions& runtime) override {
    return watched_.open(fixture_.pool, runtime);
  }

  StoreFixture fixture_;
  Watched watched_;
};

TEST_CASE("nested readers: random transactions have none") {
  for (std::uint64_t seed = 1; seed <= 6; seed += kThinned) {
    CAPTURE(seed);
    FormatOptions format = format_of_seed(seed);
    if (seed % 2 == 0) format.compression = heeding(compression::Mode::kPassive).compression;
    WatchedTarget target(std::move(format), runtime_of_seed(seed));
    REQUIRE(message_of(target.open(Access::kReadWrite)) == "");
    RunnerOptions options;
    options.seed = seed;
    options.ops = 600;
    REQUIRE(run_store(target, options).difference == "");
    REQUIRE(target.watch().nested() == 0);
    REQUIRE(target.watch().readers() > 100);
  }
}

// It reads in one state, and commits without one.
TEST_CASE("nested readers: the cleaner has none (CL7)") {
  constexpr int kObjects = 1500;
  FormatOptions format = small_format();
  format.device_size = 16_MiB;
  StoreFixture fixture(format);
  Watched watched(*fixture.system);
  Result<Store> store = watched.open(fixture.pool, {});
  REQUIRE(message_of(store.status()) == "");
  for (int i = 0; i < kObjects; i += 50) {
    Transaction t;
    for (int j = i; j < i + 50; ++j) t.put(kBucket, std::to_string(j), noise(4096, j));
    REQUIRE(message_of(store->commit(std::move(t)).status()) == "");
  }
  REQUIRE(message_of(store->checkpoint()) == "");
  const std::uint64_t full = store->space()->allocated;
  Transaction t;
  for (int i = 0; i < kObjects; ++i) {
    if (i % 20 != 0) t.remove(kBucket, std::to_string(i));
  }
  REQUIRE(message_of(store->commit(std::move(t)).status()) == "");
  wait_until_allocated(*store, full / 4);
  CHECK(counter(*store, "cleaned_blobs") > 0);
  REQUIRE(message_of(store->close()) == "");
  REQUIRE(watched.watch.nested() == 0);
}

TEST_CASE("nested readers: two at once are noticed") {
  StoreFixture fixture;
  ReaderWatch watch;
  WatchedHome home(watch, kv::make_lmdb_home(fixture.memory.executor()));
  const auto index =
      home.open(fixture.directory / "other", Uuid{}, io::OpenMode::kReadWrite).value();
  {
    const auto first = index->snapshot().value();
    REQUIRE(watch.nested() == 0);
    const auto other = fixture.memory.executor().start("other", [&] { index->snapshot().value(); });
    other->join();
    REQUIRE(watch.nested() == 0);
    const auto second = index->snapshot().value();
    REQUIRE(watch.nested() == 1);
  }
  const auto third = index->snapshot().value();
  REQUIRE(watch.nested() == 1);
}

}  // namespace
}  // namespace hexad::testing
