// Reads through the cache: always what was committed last, and nothing asked below while it is
// warm.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "core/engine/engine.h"
#include "core/opening/opening.h"
#include "core/report/counter_report.h"
#include "tests/core/store_fixture.h"
#include "tests/kv/forwarding_index.h"

namespace hexad::testing {
namespace {

// Counts who asks the index.
class CountingIndex final : public ForwardingIndex {
 public:
  using ForwardingIndex::ForwardingIndex;

  Result<std::unique_ptr<kv::IndexReader>> snapshot() override {
    ++snapshots;
    return ForwardingIndex::snapshot();
  }

  std::atomic<std::uint64_t> snapshots{0};
};

// An engine over a counting index. The store was closed cleanly: its memtable is empty.
struct CountedEngine {
  CountingIndex* index = nullptr;
  std::unique_ptr<core::Engine> engine;

  explicit CountedEngine(StoreFixture& fixture) {
    Result<core::StoreParts> parts = core::open_parts(fixture.pool, {}, fixture.system);
    REQUIRE(parts.ok());
    auto counting = std::make_unique<CountingIndex>(std::move(parts->index));
    index = counting.get();
    parts->index = std::make_unique<kv::TieredIndex>(parts->system->executor(), parts->runs->set(),
                                                     std::move(counting));
    parts->metadata = std::make_unique<core::Metadata>(parts->system->executor(), *parts->index);
    engine = std::make_unique<core::Engine>(std::move(parts).value());
    REQUIRE(engine->start().ok());
  }
  std::uint64_t device_bytes_read() {
    for (const Counter& counter : engine->counter_report().all()) {
      if (counter.name == "device_read_bytes") return counter.since_open;
    }
    return 0;
  }
};

TEST_CASE("cached reads: the second get, read and stat ask neither the index nor a device") {
  StoreFixture fixture;
  const std::string small = noise(4096, 1);
  const std::string odd = noise(100'001, 2);
  const std::string large = noise(3'000'000, 3);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "inline", "short").ok());
    REQUIRE(put(store, "small", small).ok());
    REQUIRE(put(store, "odd", odd).ok());
    REQUIRE(put(store, "large", large).ok());
    REQUIRE(store.close().ok());
  }
  CountedEngine counted(fixture);
  core::Engine& engine = *counted.engine;
  Bytes across(50'000);
  const auto all = [&] {
    REQUIRE(text_of(engine.reads().get(kBucket, "inline")) == "short");
    REQUIRE(text_of(engine.reads().get(kBucket, "small")) == small);
    REQUIRE(text_of(engine.reads().get(kBucket, "odd")) == odd);
    // Over the border of two pages.
    REQUIRE(*engine.reads().read(kBucket, "large", (1 << 20) - 20'000, across) == across.size());
    REQUIRE(as_text(across) == large.substr((1 << 20) - 20'000, across.size()));
    REQUIRE((text_of(engine.reads().get(kBucket, "large")) == large));
    REQUIRE(code_of(engine.reads().get(kBucket, "missing")) == ErrorCode::kNotFound);
    REQUIRE(engine.reads().stat(kBucket, "odd")->size == odd.size());
    REQUIRE(engine.reads().attributes(kBucket, "odd")->empty());
  };
  all();
  const std::uint64_t asked = counted.index->snapshots;
  const std::uint64_t bytes = counted.device_bytes_read();
  REQUIRE(asked > 0);
  REQUIRE(bytes > 0);
  for (int i = 0; i < 3; ++i) all();
  REQUIRE(counted.index->snapshots == asked);
  REQUIRE(counted.device_bytes_read() == bytes);
  // A change of something else leaves the answers; a checkpoint, too.
  Transaction t;
  t.put(kBucket, "other", as_bytes("x"));
  REQUIRE(engine.commit(std::move(t)).ok());
  REQUIRE(engine.checkpoint().ok());
  const std::uint64_t before = counted.index->snapshots;
  all();
  REQUIRE(counted.index->snapshots == before);
  REQUIRE(engine.close().ok());
}

TEST_CASE(
    "cached reads: every change is seen at once, before and after a checkpoint and reopening") {
  StoreFixture fixture;
  std::optional<Store> store(fixture.open());
  const auto commit = [&](Transaction&& t) {
    REQUIRE(message_of(store->commit(std::move(t)).status()) == "");
  };
  // Looks twice, so that the second answer is a cached one.
  const auto shows = [&](std::string_view name, const std::string& value) {
    for (int i = 0; i < 2; ++i) {
      if (get(*store, name) != value || store->stat(kBucket, name)->size != value.size()) {
        return false;
      }
    }
    return true;
  };
  const auto missing = [&](std::string_view name) {
    return code_of(store->get(kBucket, name)) == ErrorCode::kNotFound &&
           code_of(store->stat(kBucket, name)) == ErrorCode::kNotFound;
  };
  for (const int mode : {0, 1, 2}) {
    CAPTURE(mode);
    const auto between = [&] {
      if (mode == 1) REQUIRE(store->checkpoint().ok());
      if (mode == 2) {
        REQUIRE(store->close().ok());
        store.reset();
        store.emplace(fixture.open());
      }
    };
    REQUIRE(missing("a"));
    std::string value = noise(5000, 1);
    REQUIRE(put(*store, "a", value).ok());
    REQUIRE(shows("a", value));
    between();
    REQUIRE(shows("a", value));
    value = noise(70'000, 2);
    REQUIRE(put(*store, "a", value).ok());
    REQUIRE(shows("a", value));
    between();

    Transaction write;
    write.write(kBucket, "a", 10'000, as_bytes("changed"));
    commit(std::move(write));
    value.replace(10'000, 7, "changed");
    REQUIRE(shows("a", value));
    Transaction append;
    append.append(kBucket, "a", as_bytes("tail"));
    commit(std::move(append));
    value += "tail";
    REQUIRE(shows("a", value));
    between();
    Transaction cut;
    cut.truncate(kBucket, "a", 20'000);
    commit(std::move(cut));
    value.resize(20'000);
    REQUIRE(shows("a", value));

    Transaction attribute;
    attribute.set_attr(kBucket, "a", "color", "red");
    commit(std::move(attribute));
    REQUIRE(store->attributes(kBucket, "a")->at("color") == "red");

    REQUIRE(missing("b"));
    Transaction rename;
    rename.rename(kBucket, "a", kBucket, "b");
    commit(std::move(rename));
    REQUIRE(missing("a"));
    REQUIRE(shows("b", value));
    between();
    REQUIRE(missing("a"));
    REQUIRE(shows("b", value));
    REQUIRE(remove(*store, "b").ok());
    REQUIRE(missing("b"));
    between();
    REQUIRE(missing("b"));
  }
}

TEST_CASE(
    "cached reads: a collection that was removed and made again holds nothing of the old one") {
  StoreFixture fixture;
  Store store = fixture.open();
  for (int round = 0; round < 4; ++round) {
    Transaction make;
    make.create_collection("c");
    const std::string value = noise(3000, static_cast<std::uint64_t>(round));
    make.put("c", "x", as_bytes(value));
    REQUIRE(store.commit(std::move(make)).ok());
    for (int i = 0; i < 2; ++i) REQUIRE(text_of(store.get("c", "x")) == value);
    REQUIRE(code_of(store.get("c", "y")) == ErrorCode::kNotFound);
    Transaction drop;
    drop.remove("c", "x");
    drop.remove_collection("c");
    REQUIRE(store.commit(std::move(drop)).ok());
    REQUIRE(code_of(store.get("c", "x")) == ErrorCode::kNotFound);
    REQUIRE(code_of(store.stat("c", "x")) == ErrorCode::kNotFound);
    if (round % 2 == 1) REQUIRE(message_of(store.checkpoint()) == "");
  }
}

TEST_CASE("cached reads: space that is used again shows the new bytes", "[one-thread]") {
  StoreFixture fixture;
  RuntimeOptions options = busy_runtime();
  options.cache_size = GENERATE(std::uint64_t{0}, 1_MiB, 64_MiB);
  Store store = fixture.open(Access::kReadWrite, options);
  io::Rng rng(7);
  std::map<std::string, std::string> model;
  // Some five times what the devices hold.
  for (std::uint64_t step = 0; step < 1500; ++step) {
    const std::string name = "object" + std::to_string(rng.below(24));
    if (rng.chance(1, 4)) {
      if (model.erase(name) > 0) REQUIRE(remove(store, name).ok());
    } else {
      const std::string value = noise(rng.below(200'000), step);
      REQUIRE(message_of(put(store, name, value).status()) == "");
      model[name] = value;
    }
    for (int look = 0; look < 2; ++look) {
      const std::string other = "object" + std::to_string(rng.below(24));
      const auto expected = model.find(other);
      if (expected == model.end()) {
        REQUIRE(code_of(store.get(kBucket, other)) == ErrorCode::kNotFound);
      } else {
        REQUIRE((get(store, other) == expected->second));
      }
    }
  }
  for (const auto& [name, value] : model) REQUIRE((get(store, name) == value));
  REQUIRE(deep_findings(store).empty());
}

// N8: cleaning empties no cache.
TEST_CASE("cached reads: what the cleaner moves stays in the cache") {
  constexpr std::size_t kObject = 4096;
  constexpr int kCount = 3000;
  constexpr int kKept = 10;  // every tenth
  FormatOptions format = small_format();
  format.device_size = 16_MiB;
  StoreFixture fixture(format);
  Store store = fixture.open();
  std::vector<std::uint64_t> versions(kCount, 0);
  std::uint64_t made = 0;
  const auto name_of = [](int i) { return "o" + std::to_string(i); };
  const auto write = [&](bool all) {
    for (int i = 0; i < kCount;) {
      Transaction t;
      for (int many = 0; many < 50 && i < kCount; ++i) {
        if (!all && i % kKept == 0) continue;
        versions[i] = ++made;
        t.put(kBucket, name_of(i), noise(kObject, made));
        ++many;
      }
      REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
    }
    REQUIRE(message_of(store.checkpoint()) == "");
  };
  write(true);
  const auto look = [&] {
    for (int i = 0; i < kCount; i += kKept) {
      REQUIRE((get(store, name_of(i)) == noise(kObject, versions[i])));
    }
  };
  look();
  look();
  // Those that stay lie among the others.
  for (int lap = 0; counter(store, "cleaned_blobs") < kCount / kKept / 2; ++lap) {
    REQUIRE(lap < 200);
    write(false);
  }
  const std::uint64_t records = counter(store, "cache_record_misses");
  const std::uint64_t blocks = counter(store, "cache_block_misses");
  look();
  CHECK(counter(store, "cache_block_misses") == blocks);
  CHECK(counter(store, "cache_record_misses") == records);
  // What has changed is what it is now.
  for (int i = 1; i < kCount; i += 7) {
    REQUIRE((get(store, name_of(i)) == noise(kObject, versions[i])));
  }
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("cached reads: any range of an object in pieces, cold and warm, at any checksum block") {
  FormatOptions format = small_format();
  format.checksum_block = GENERATE(4_KiB, 16_KiB, 64_KiB);
  format.compression.mode = compression::Mode::kAggressive;
  StoreFixture fixture(format);
  RuntimeOptions options;
  options.cache_size = GENERATE(std::uint64_t{0}, 1_MiB, 64_MiB);
  Store store = fixture.open(Access::kReadWrite, options);
  io::Rng rng(format.checksum_block + options.cache_size);
  std::string value(1'500'000, '\0');
  const auto change = [&] {
    const std::uint64_t at = rng.below(value.size());
    const std::uint64_t length = std::min<std::uint64_t>(1 + rng.below(120'000), value.size() - at);
    std::string bytes = noise(length, at);
    if (rng.chance(1, 2)) bytes = std::string(length, static_cast<char>('a' + rng.below(26)));
    Transaction t;
    t.write(kBucket, "x", at, as_bytes(bytes));
    REQUIRE(store.commit(std::move(t)).ok());
    value.replace(at, length, bytes);
  };
  Transaction t;
  t.touch(kBucket, "x");
  t.truncate(kBucket, "x", value.size());
  REQUIRE(store.commit(std::move(t)).ok());
  for (int i = 0; i < 20; ++i) change();
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t at = rng.below(value.size());
    Bytes into(1 + rng.below(rng.chance(1, 8) ? 700'000 : 40'000));
    const Result<std::uint64_t> length = store.read(kBucket, "x", at, into);
    REQUIRE(length.ok());
    REQUIRE((as_text(ByteView(into).first(*length)) == value.substr(at, into.size())));
    if (i % 20 == 0) change();
  }
}

TEST_CASE("cached reads: a degraded read leaves right bytes behind") {
  StoreFixture fixture;
  const std::string value = noise(200'000, 5);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "x", value).ok());
    REQUIRE(store.close().ok());
  }
  fixture.take_away(1);
  fixture.take_away(4);
  Store store = fixture.open();
  for (int i = 0; i < 2; ++i) REQUIRE((get(store, "x") == value));
  REQUIRE(counter(store, "degraded_reads") > 0);
  REQUIRE(counter(store, "cache_reads") == 1);
}

TEST_CASE("cached reads: hits and misses are counted, those of large reads, too") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "x", noise(20'000, 1)).ok());
  REQUIRE(put(store, "large", noise(600'000, 1)).ok());
  for (int i = 0; i < 3; ++i) get(store, "x");
  REQUIRE(counter(store, "reads") == 3);
  REQUIRE(counter(store, "read_bytes") == 60'000);
  REQUIRE(counter(store, "cache_reads") == 2);
  REQUIRE(counter(store, "cache_read_bytes") == 40'000);
  REQUIRE(counter(store, "cache_record_misses") == 1);
  REQUIRE(counter(store, "cache_record_hits") == 2);
  REQUIRE(counter(store, "cache_block_hits") == 4);
  REQUIRE(counter(store, "cache_block_misses") == 2);
  for (int i = 0; i < 3; ++i) get(store, "large");
  REQUIRE(counter(store, "cache_reads") == 4);
  REQUIRE(counter(store, "cache_block_hits") == 4 + 2 * 37);
  REQUIRE(counter(store, "cache_block_misses") == 2 + 37);
  // What is small now counts, however large it has been.
  REQUIRE(put(store, "cut", noise(2'000'000, 1)).ok());
  Transaction cut;
  cut.truncate(kBucket, "cut", 5000);
  REQUIRE(store.commit(std::move(cut)).ok());
  for (int i = 0; i < 2; ++i) REQUIRE((get(store, "cut") == noise(2'000'000, 1).substr(0, 5000)));
  REQUIRE(counter(store, "cache_reads") == 5);
  REQUIRE(counter(store, "cache_block_hits") == 5 + 2 * 37);
}

TEST_CASE("cached reads: a scan of large objects takes nothing from what is read again") {
  StoreFixture fixture;
  RuntimeOptions options;
  options.cache_size = 4_MiB;
  Store store = fixture.open(Access::kReadWrite, options);
  const auto hot = [](int i) { return "hot" + std::to_string(i); };
  const auto scanned = [](int i) { return "scanned" + std::to_string(i); };
  for (int i = 0; i < 20; ++i) REQUIRE(put(store, hot(i), noise(20'000, 1)).ok());
  for (int i = 0; i < 20; ++i) REQUIRE(put(store, scanned(i), noise(500'000, 2)).ok());
  REQUIRE(put(store, "longer", noise(600'000, 3)).ok());  // than an eighth of the cache
  REQUIRE(store.checkpoint().ok());
  for (int i = 0; i < 60; ++i) get(store, hot(i % 20));
  for (int i = 0; i < 20; ++i) get(store, scanned(i));
  std::uint64_t served = counter(store, "cache_reads");
  for (int i = 0; i < 20; ++i) get(store, hot(i));
  REQUIRE(counter(store, "cache_reads") == served + 20);
  // The first time it is refused, the second time it is let in. Not all of each: where two blocks
  // are remembered in one place, one of them is forgotten.
  served = counter(store, "cache_reads");
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 3; ++j) REQUIRE((get(store, scanned(i)) == noise(500'000, 2)));
  }
  REQUIRE(counter(store, "cache_reads") > served);
  served = counter(store, "cache_reads");
  for (int i = 0; i < 4; ++i) get(store, "longer");
  REQUIRE(counter(store, "cache_reads") == served);
}

TEST_CASE("cached reads: a reader takes what the cache has of its version, and of no other") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string old = noise(2'500'000, 1);
  const std::string now = noise(2'500'000, 2);
  REQUIRE(put(store, "x", old).ok());
  const auto read_all = [](ObjectReader& reader) {
    reader.seek(0);
    std::string all;
    Bytes piece(300'000);
    for (;;) {
      const Result<std::uint64_t> length = reader.read(piece);
      REQUIRE(length.ok());
      if (*length == 0) return all;
      all += as_text(ByteView(piece).first(*length));
    }
  };
  const std::unique_ptr<ObjectReader> reader = std::move(store.open_reader(kBucket, "x")).value();
  REQUIRE((read_all(*reader) == old));
  const std::uint64_t read = counter(store, "device_read_bytes");
  REQUIRE((read_all(*reader) == old));
  REQUIRE((get(store, "x") == old));
  REQUIRE(counter(store, "device_read_bytes") == read);
  REQUIRE(counter(store, "read_bytes") == 3 * old.size());
  REQUIRE(put(store, "x", now).ok());
  REQUIRE((read_all(*reader) == old));
  REQUIRE((get(store, "x") == now));
  REQUIRE((read_all(*reader) == old));
  REQUIRE(remove(store, "x").ok());
  REQUIRE((read_all(*reader) == old));
  REQUIRE(counter(store, "read_bytes") == 7 * old.size());
}

TEST_CASE("cached reads: what the cache has in one piece is lent, and stays as it is") {
  StoreFixture fixture;
  const std::string small = noise(9000, 1);
  std::optional<PinnedBytes> lent;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "inline", "short").ok());
    REQUIRE(put(store, "small", small).ok());
    REQUIRE(put(store, "large", noise(100'000, 2)).ok());
    REQUIRE(put(store, "empty", "").ok());
    REQUIRE(store.checkpoint().ok());
    for (const char* name : {"inline", "small", "large", "empty", "missing", ""}) {
      CAPTURE(name);
      REQUIRE_FALSE(store.cached(kBucket, name).has_value());
      REQUIRE_FALSE(store.cached_stat(kBucket, name).has_value());
    }
    REQUIRE(counter(store, "cache_record_misses") == 0);  // only what is answered counts
    for (const char* name : {"inline", "small", "large", "empty"}) get(store, name);
    REQUIRE(as_text(store.cached(kBucket, "inline")->bytes()) == "short");
    const std::uint64_t served = counter(store, "cache_reads");
    lent = store.cached(kBucket, "small");
    REQUIRE(as_text(lent->bytes()) == small);
    REQUIRE(counter(store, "cache_reads") == served + 1);
    REQUIRE(counter(store, "reads") == 4 + 2);
    REQUIRE_FALSE(store.cached(kBucket, "large").has_value());
    REQUIRE(store.cached_stat(kBucket, "large")->size == 100'000);
    Bytes into(100'001);
    REQUIRE(store.cached_read(kBucket, "large", 0, into) == 100'000u);
    REQUIRE((as_text(ByteView(into).first(100'000)) == noise(100'000, 2)));
    REQUIRE(store.cached_read(kBucket, "large", 99'000, MutByteView(into).first(500)) == 500u);
    REQUIRE((as_text(ByteView(into).first(500)) == noise(100'000, 2).substr(99'000, 500)));
    REQUIRE(store.cached_read(kBucket, "large", 100'000, into) == 0u);
    REQUIRE(store.cached_read(kBucket, "small", 1, into) == small.size() - 1);
    REQUIRE(store.cached_read(kBucket, "empty", 0, into) == 0u);
    REQUIRE_FALSE(store.cached_read(kBucket, "missing", 0, into).has_value());
    REQUIRE(store.cached_size(kBucket, "large") == 100'000u);
    REQUIRE_FALSE(store.cached_size(kBucket, "missing").has_value());
    REQUIRE_FALSE(store.cached_size(kBucket, "paged").has_value());
    REQUIRE(put(store, "paged", noise(3'000'000, 3)).ok());
    REQUIRE(store.stat(kBucket, "paged")->size == 3'000'000);
    REQUIRE_FALSE(store.cached_stat(kBucket, "paged").has_value());
    REQUIRE(store.cached_size(kBucket, "paged") == 3'000'000u);
    REQUIRE(store.cached_stat(kBucket, "empty")->size == 0);
    // A change is seen at once, and leaves what was lent alone.
    REQUIRE(put(store, "small", "x").ok());
    const auto now = store.cached(kBucket, "small");
    REQUIRE((!now.has_value() || as_text(now->bytes()) == "x"));
    REQUIRE(remove(store, "small").ok());
    REQUIRE_FALSE(store.cached(kBucket, "small").has_value());
    REQUIRE_FALSE(store.cached_stat(kBucket, "small").has_value());
    REQUIRE(store.close().ok());
  }
  REQUIRE(as_text(lent->bytes()) == small);
}

TEST_CASE("cached reads: a part of a small object leaves all of it in the cache") {
  StoreFixture fixture;
  const std::string data = noise(9000, 1);
  Store store = fixture.open();
  REQUIRE(put(store, "a", data).ok());
  REQUIRE(put(store, "b", data).ok());
  REQUIRE(store.checkpoint().ok());
  Bytes part(100);
  REQUIRE(*store.read(kBucket, "a", 8000, part) == part.size());
  REQUIRE(as_text(part) == data.substr(8000, 100));
  const std::uint64_t read = counter(store, "device_read_bytes");
  REQUIRE(get(store, "a") == data);
  REQUIRE(counter(store, "device_read_bytes") == read);
  // Ranges too.
  const std::vector<ByteRange> ranges = {{8990, 100}, {0, 10}, {0, 10}, {9000, 5}};
  const std::string wanted = data.substr(8990) + data.substr(0, 10) + data.substr(0, 10);
  REQUIRE(text_of(store.read_ranges(kBucket, "b", ranges)) == wanted);
  const std::uint64_t both = counter(store, "device_read_bytes");
  REQUIRE(text_of(store.read_ranges(kBucket, "b", ranges)) == wanted);
  REQUIRE(get(store, "b") == data);
  REQUIRE(counter(store, "device_read_bytes") == both);
}

TEST_CASE("cached reads: what is in the log alone is read once, and where it is said anew") {
  StoreFixture fixture;
  const std::string data = noise(4096, 1);
  Store store = fixture.open();
  REQUIRE(put(store, "a", data).ok());
  REQUIRE(store.stat(kBucket, "a")->placement == "log");
  REQUIRE_FALSE(store.cached(kBucket, "a").has_value());
  REQUIRE(get(store, "a") == data);
  const auto served = [&] { return counter(store, "cache_reads"); };
  std::uint64_t before = served();
  REQUIRE(get(store, "a") == data);
  Bytes part(96);
  REQUIRE(store.cached_read(kBucket, "a", 4000, part) == part.size());
  REQUIRE(as_text(part) == data.substr(4000));
  REQUIRE(store.cached_size(kBucket, "a") == data.size());
  const auto lent = store.cached(kBucket, "a");
  REQUIRE(lent.has_value());
  REQUIRE(served() == before + 3);
  // A look at all that is known of it leaves the bytes where they are.
  REQUIRE(store.stat(kBucket, "a")->placement == "log");
  REQUIRE(store.cached(kBucket, "a").has_value());

  REQUIRE(store.checkpoint().ok());
  before = served();
  REQUIRE(get(store, "a") == data);
  REQUIRE(served() == before + 1);
  REQUIRE(store.stat(kBucket, "a")->placement == "pack");
  // What changes the object takes it from where it is now.
  REQUIRE(put(store, "a", data).ok());
  REQUIRE(get(store, "a") == data);
  REQUIRE(store.checkpoint().ok());
  Transaction change;
  change.write(kBucket, "a", 10, as_bytes("changed"));
  change.clone(kBucket, "a", kBucket, "b");
  REQUIRE(store.commit(std::move(change)).ok());
  std::string changed = data;
  changed.replace(10, 7, "changed");
  for (int i = 0; i < 2; ++i) {
    REQUIRE(get(store, "a") == changed);
    REQUIRE(get(store, "b") == changed);
  }
  REQUIRE(as_text(lent->bytes()) == data);
  REQUIRE(deep_findings(store) == "");
}

// Every value says when it was written; nobody may see one older than what was acknowledged when he
// began to look, nor parts of two.
TEST_CASE(
    "cached reads: many readers beside writers never see what is out of date, nor a mixture") {
  StoreFixture fixture;
  RuntimeOptions options = busy_runtime();
  options.cache_size = GENERATE(1_MiB, 64_MiB);
  Store store = fixture.open(Access::kReadWrite, options);
  constexpr std::uint64_t kNames = 6;
  constexpr std::uint64_t kMiddle = 1 << 20;
  const auto fill_of = [](std::uint64_t round) { return static_cast<char>(1 + round % 120); };
  std::atomic<std::uint64_t> acknowledged[kNames] = {};
  std::atomic<std::uint64_t> crossing{0};
  {
    Transaction t;
    t.touch(kBucket, "wide");
    t.truncate(kBucket, "wide", 2 * kMiddle);
    REQUIRE(store.commit(std::move(t)).ok());
  }
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    io::Rng rng(1);
    for (std::uint64_t round = 1; round <= 600; ++round) {
      const std::uint64_t name = rng.below(kNames);
      const std::string value =
          std::to_string(round) + ":" + std::string(rng.below(9000), fill_of(round));
      if (!put(store, "n" + std::to_string(name), value).ok()) wrong.fetch_add(1);
      acknowledged[name].store(round);
      // Two pages in one transaction.
      Transaction t;
      t.write(kBucket, "wide", kMiddle - 3000, as_bytes(std::string(6000, fill_of(round))));
      if (!store.commit(std::move(t)).ok()) wrong.fetch_add(1);
      crossing.store(round);
    }
    stop.store(true);
  });
  for (std::uint64_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      io::Rng rng(i + 10);
      while (!stop.load()) {
        const std::uint64_t name = rng.below(kNames);
        const std::uint64_t least = acknowledged[name].load();
        const Result<Bytes> bytes = store.get(kBucket, "n" + std::to_string(name));
        if (bytes.ok()) {
          const std::string text(as_text(*bytes));
          const std::size_t colon = text.find(':');
          const std::uint64_t round = std::stoull(text.substr(0, colon));
          if (round < least ||
              text.find_first_not_of(fill_of(round), colon + 1) != std::string::npos) {
            wrong.fetch_add(1);
          }
        } else if (least > 0) {
          wrong.fetch_add(1);
        }
        const std::uint64_t least_wide = crossing.load();
        Bytes wide(6000);
        if (store.read(kBucket, "wide", kMiddle - 3000, wide).ok()) {
          for (const std::byte b : wide) {
            if (b != wide[0]) wrong.fetch_add(1);
          }
          if (least_wide > 0 && wide[0] == std::byte{0}) wrong.fetch_add(1);
        } else {
          wrong.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong.load() == 0);
  REQUIRE(deep_findings(store).empty());
}

}  // namespace
}  // namespace hexad::testing
