#include "core/cache/read_cache.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "base/units.h"
#include "io/rng.h"

namespace hexad::core {
namespace {

using Count = ReadCache::Count;

std::shared_ptr<CachedRecord> record_of(ReadCache& cache, Lsn version, Lsn as_of) {
  auto record = std::make_shared<CachedRecord>();
  record->serial = cache.new_serial();
  record->as_of = as_of;
  record->exists = true;
  record->object.version = version;
  return record;
}

struct Fixture {
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  ReadCache cache{*executor, 1_MiB};

  // What a reader does that finds the key outside: look up, then insert.
  void learn(std::string_view name, Lsn version) {
    const ReadCache::Found found = cache.find_object("c", name, kMaxLsn, Count::kNothing);
    cache.insert_collection(found.ticket, "c", {7, {}}, version);
    cache.insert_object(found.ticket, 7, name, record_of(cache, version, version));
  }
  // "a" of the collection "c", in the space 7.
  std::shared_ptr<const CachedRecord> find(ReadCache::Need need) {
    return cache.find_object("c", "a", kMaxLsn, Count::kNothing, need).record;
  }
  void insert(const std::shared_ptr<CachedRecord>& record) {
    const auto ticket = cache.find_object("c", "a", kMaxLsn, Count::kNothing).ticket;
    cache.insert_collection(ticket, "c", {7, {}}, 1);
    cache.insert_object(ticket, 7, "a", record);
  }
  std::optional<Lsn> version(std::string_view name, Lsn at = kMaxLsn) {
    const auto record = cache.find_object("c", name, at, Count::kBoth).record;
    return record == nullptr ? std::nullopt : std::optional<Lsn>(record->object.version);
  }
};

TEST_CASE("read_cache: an object is found by names once both names were learned") {
  Fixture fixture;
  REQUIRE_FALSE(fixture.version("a").has_value());
  fixture.learn("a", 5);
  REQUIRE(fixture.version("a") == 5);
  REQUIRE_FALSE(fixture.version("b").has_value());
  REQUIRE_FALSE(
      fixture.cache.find_object("other", "a", kMaxLsn, Count::kNothing).space.has_value());
}

TEST_CASE("read_cache: what is newer than the asked state is not here") {
  Fixture fixture;
  fixture.learn("a", 5);
  REQUIRE_FALSE(fixture.version("a", 4).has_value());
  REQUIRE(fixture.version("a", 5) == 5);
}

TEST_CASE("read_cache: a record read before an invalidation cannot be inserted after it") {
  Fixture fixture;
  const ReadCache::Found found = fixture.cache.find_object("c", "a", kMaxLsn, Count::kNothing);
  const auto old = record_of(fixture.cache, 1, 1);
  fixture.cache.invalidate(object_key(7, "a"));
  fixture.cache.insert_collection(found.ticket, "c", {7, {}}, 1);
  fixture.cache.insert_object(found.ticket, 7, "a", old);
  REQUIRE(old->dropped());
  REQUIRE_FALSE(fixture.version("a").has_value());
  fixture.learn("a", 2);
  REQUIRE(fixture.version("a") == 2);
}

TEST_CASE("read_cache: a collection that changes is forgotten for all of its objects") {
  Fixture fixture;
  for (int i = 0; i < 50; ++i) fixture.learn("object" + std::to_string(i), 3);
  REQUIRE(fixture.version("object7") == 3);
  fixture.cache.invalidate(collection_key("c"));
  for (int i = 0; i < 50; ++i) REQUIRE_FALSE(fixture.version("object" + std::to_string(i)));
}

TEST_CASE("read_cache: pages have keys of their own, and other keys do not matter") {
  Fixture fixture;
  ReadCache& cache = fixture.cache;
  const auto ticket = cache.find_page(9, 2, kMaxLsn, Count::kNothing).ticket;
  const auto page = record_of(cache, 0, 4);
  cache.insert_page(ticket, 9, 2, page);
  for (const std::string& key : {page_key(9, 1), page_key(8, 2), writer_key(9), zone_key(1),
                                 meta_key("counters"), std::string("?"), std::string()}) {
    cache.invalidate(key);
  }
  REQUIRE(cache.find_page(9, 2, kMaxLsn, Count::kNothing).record == page);
  REQUIRE(cache.find_page(9, 2, 3, Count::kNothing).record == nullptr);
  cache.invalidate(page_key(9, 2));
  REQUIRE(cache.find_page(9, 2, kMaxLsn, Count::kNothing).record == nullptr);
  REQUIRE(page->dropped());
}

TEST_CASE("read_cache: bytes are found through their record alone, and go with it") {
  Fixture fixture;
  ReadCache& cache = fixture.cache;
  const auto ticket = cache.find_object("c", "a", kMaxLsn, Count::kNothing).ticket;
  const auto record = record_of(cache, 1, 1);
  Extent extent;
  extent.length = 20'000;
  extent.blob.raw = 20'000;
  record->object.extents.push_back(extent);
  cache.insert_collection(ticket, "c", {7, {}}, 1);
  cache.insert_object(ticket, 7, "a", record);
  const Bytes first(16'384, std::byte{1});
  const Bytes second(3'616, std::byte{2});
  cache.insert_block({record->serial, 0, 0}, first);
  cache.insert_block({record->serial, 0, 1}, second);
  REQUIRE(cache.find_block({record->serial, 0, 0}, Count::kBoth)->bytes == first);
  REQUIRE(cache.find_block({record->serial, 0, 1}, Count::kBoth)->bytes == second);
  REQUIRE(cache.find_block({record->serial, 1, 0}, Count::kBoth) == nullptr);
  REQUIRE(cache.find_block({record->serial + 1, 0, 0}, Count::kBoth) == nullptr);
  REQUIRE(cache.usage().blocks > 20'000);
  cache.invalidate(object_key(7, "a"));
  REQUIRE(cache.usage().blocks == 0);
  const ReadCache::Tally tally = cache.take_tally();
  REQUIRE(tally.block_hits == 2);
  REQUIRE(tally.block_misses == 2);
  REQUIRE(cache.take_tally().block_hits == 0);
}

// Of an object with one blob, from byte 100 of it on.
std::shared_ptr<CachedRecord> small_record(ReadCache& cache, std::uint64_t size) {
  auto record = record_of(cache, 1, 1);
  record->object.size = size;
  Extent extent;
  extent.length = size;
  extent.blob_offset = 100;
  extent.blob.raw = static_cast<std::uint32_t>(size + 100);
  record->object.extents.push_back(extent);
  return record;
}

// "a" of the fixture: 4096 bytes.
std::shared_ptr<CachedRecord> insert_small(Fixture& fixture) {
  auto record = small_record(fixture.cache, 4096);
  fixture.insert(record);
  return record;
}

TEST_CASE("read_cache: bytes of a small object lie with its record") {
  Fixture fixture;
  ReadCache& cache = fixture.cache;
  const auto record = insert_small(fixture);
  REQUIRE(record->is_small());
  REQUIRE(record->whole() == nullptr);
  const ByteRange all{0, 10'000};
  REQUIRE(cache.find_bytes("c", "a", all, Count::kBoth).record == record);
  REQUIRE_FALSE(cache.find_bytes("c", "a", all, Count::kBoth).bytes.has_value());

  Bytes bytes(4096);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
  cache.insert_bytes(*record, bytes);
  const std::byte* const whole = record->whole();
  REQUIRE(whole != nullptr);
  REQUIRE(cache.usage().blocks > 4096);
  cache.insert_bytes(*record, bytes);  // of somebody who read it at the same time
  REQUIRE(record->whole() == whole);
  cache.check_invariants();
  const auto found = [&](std::uint64_t offset, std::uint64_t length) {
    const auto answer = cache.find_bytes("c", "a", {offset, length}, Count::kBoth);
    REQUIRE(answer.bytes.has_value());
    return Bytes(answer.bytes->begin(), answer.bytes->end());
  };
  REQUIRE(found(0, 10'000) == bytes);
  REQUIRE(found(4000, 96) == Bytes(bytes.begin() + 4000, bytes.end()));
  REQUIRE(found(4000, ~std::uint64_t{0}) == Bytes(bytes.begin() + 4000, bytes.end()));
  REQUIRE(found(4096, 1).empty());
  REQUIRE(found(~std::uint64_t{0}, 1).empty());
  const ReadCache::Tally tally = cache.take_tally();
  REQUIRE(tally.record_hits == 7);
  REQUIRE(tally.block_hits == 5);
  REQUIRE(tally.block_misses == 2);
  REQUIRE(tally.reads == 5);
  REQUIRE(tally.bytes_read == 4096 + 2 * 96);

  // They go with it, but for whoever holds the record.
  cache.invalidate(object_key(7, "a"));
  REQUIRE(cache.usage().blocks == 0);
  REQUIRE_FALSE(cache.find_bytes("c", "a", all, Count::kBoth).bytes.has_value());
  REQUIRE(std::equal(bytes.begin(), bytes.end(), record->whole()));
  cache.check_invariants();
}

TEST_CASE("read_cache: which objects have their bytes with the record") {
  Fixture fixture;
  ReadCache& cache = fixture.cache;
  const auto insert = [&](const std::shared_ptr<CachedRecord>& record) {
    fixture.insert(record);
    return record->is_small();
  };
  const std::uint64_t block = cache.block_size();
  REQUIRE(insert(small_record(cache, 1)));
  REQUIRE(insert(small_record(cache, block)));
  REQUIRE_FALSE(insert(small_record(cache, block + 1)));
  auto with_hole = small_record(cache, 500);
  with_hole->object.size = 501;
  REQUIRE_FALSE(insert(with_hole));
  auto late = small_record(cache, 500);
  late->object.extents[0].offset = 1;
  REQUIRE_FALSE(insert(late));
  auto pieces = small_record(cache, 500);
  pieces->object.extents.push_back(pieces->object.extents[0]);
  REQUIRE_FALSE(insert(pieces));
  auto missing = small_record(cache, 500);
  missing->exists = false;
  REQUIRE_FALSE(insert(missing));
  // Inline bytes are there from the beginning.
  auto inlined = record_of(cache, 1, 1);
  inlined->object.size = 3;
  inlined->object.extents.resize(1);
  inlined->object.extents[0].length = 3;
  inlined->object.extents[0].bytes = "abc";
  REQUIRE_FALSE(insert(inlined));
  const auto found = cache.find_bytes("c", "a", {1, 10}, Count::kNothing);
  REQUIRE(found.bytes.has_value());
  REQUIRE(as_text(*found.bytes) == "bc");
}

TEST_CASE("read_cache: bytes of a record that is gone are not kept") {
  Fixture fixture;
  ReadCache& cache = fixture.cache;
  const auto record = insert_small(fixture);
  cache.invalidate(object_key(7, "a"));
  cache.insert_bytes(*record, Bytes(4096));
  REQUIRE(record->whole() == nullptr);
  REQUIRE(cache.usage().blocks == 0);
}

TEST_CASE("read_cache: of a blob in the log bytes and facts are known, and not where it is") {
  Fixture fixture;
  ReadCache& cache = fixture.cache;
  using Need = ReadCache::Need;
  const auto find = [&](Need need) { return fixture.find(need); };
  const auto insert = [&](const auto& record) { fixture.insert(record); };
  const auto unplaced_record = [&](std::uint64_t size) {
    auto record = small_record(cache, size);
    record->object.extents[0].blob.placement = Placement::kLog;
    return record;
  };
  const ByteRange all{0, 10'000};
  const auto first = unplaced_record(4096);
  insert(first);
  REQUIRE(first->is_unplaced());
  REQUIRE(find(Need::kPlaces) == nullptr);
  REQUIRE(find(Need::kFacts) == first);
  // Without its bytes it is nothing that a read could go on with.
  REQUIRE(cache.find_bytes("c", "a", all, Count::kBoth).record == nullptr);
  // The next one who reads brings another record, and its bytes.
  const auto second = unplaced_record(4096);
  insert(second);
  REQUIRE(first->dropped());
  cache.insert_bytes(*second, Bytes(4096, std::byte{5}));
  const ReadCache::Found found = cache.find_bytes("c", "a", all, Count::kBoth);
  REQUIRE(found.record == second);
  REQUIRE(found.bytes->size() == 4096);
  REQUIRE(find(Need::kPlaces) == nullptr);
  // Who looks up more than that does not take the bytes away.
  const auto third = unplaced_record(4096);
  insert(third);
  REQUIRE(third->dropped());
  REQUIRE(find(Need::kFacts) == second);
  // Behind a checkpoint the record with its place does.
  const auto placed = small_record(cache, 4096);
  insert(placed);
  REQUIRE_FALSE(placed->is_unplaced());
  REQUIRE(second->dropped());
  REQUIRE(find(Need::kPlaces) == placed);
  // One that is not small has its bytes nowhere.
  cache.invalidate(object_key(7, "a"));
  const auto large = unplaced_record(cache.block_size() + 1);
  insert(large);
  REQUIRE(large->dropped());
  REQUIRE(find(Need::kFacts) == nullptr);
  cache.check_invariants();
}

TEST_CASE("read_cache: what is moved stays for its bytes, and for whoever is like it") {
  Fixture fixture;
  ReadCache& cache = fixture.cache;
  using Need = ReadCache::Need;
  const auto find = [&](Need need) { return fixture.find(need); };
  const auto insert = [&](const auto& record) { fixture.insert(record); };
  const ByteRange all{0, 10'000};
  const auto first = insert_small(fixture);
  cache.insert_bytes(*first, Bytes(4096, std::byte{5}));
  const ReadCache::Ticket before = cache.find_object("c", "a", kMaxLsn, Count::kNothing).ticket;
  cache.note_moved(object_key(7, "a"));
  CHECK_FALSE(first->dropped());
  CHECK(find(Need::kPlaces) == nullptr);
  CHECK(find(Need::kFacts) == first);
  CHECK(cache.find_bytes("c", "a", all, Count::kNothing).bytes->size() == 4096);
  // Whoever looked it up before does not know where it is now.
  const auto late = small_record(cache, 4096);
  cache.insert_object(before, 7, "a", late);
  CHECK(late->dropped());
  // The next one has the places, and the bytes of the one before.
  const std::uint64_t charged = cache.usage().total;
  const auto second = small_record(cache, 4096);
  second->object.extents[0].blob.where.unit += 1;
  insert(second);
  CHECK(first->dropped());
  CHECK(find(Need::kPlaces) == second);
  CHECK(second->serial == first->serial);
  CHECK(second->whole() == first->whole());
  CHECK(cache.usage().total == charged);
  cache.check_invariants();
  // Nor are they lost where two look for it at once.
  const auto third = small_record(cache, 4096);
  insert(third);
  CHECK(second->dropped());
  CHECK(third->whole() == first->whole());
  CHECK(cache.usage().total == charged);
  // Other bytes are not its own.
  cache.note_moved(object_key(7, "a"));
  const auto other = small_record(cache, 4096);
  other->object.version = third->object.version + 1;
  insert(other);
  CHECK(other->whole() == nullptr);
  CHECK(other->serial != third->serial);
  CHECK(cache.usage().blocks == 0);
  // Of what has changed nothing stays.
  cache.insert_bytes(*other, Bytes(4096));
  cache.note_moved(object_key(7, "a"));
  cache.invalidate(object_key(7, "a"));
  CHECK(find(Need::kFacts) == nullptr);
  cache.note_moved(object_key(7, "a"));
  CHECK(find(Need::kFacts) == nullptr);
  cache.check_invariants();
}

TEST_CASE("read_cache: blocks of a page that is moved are those of the page that comes next") {
  Fixture fixture;
  ReadCache& cache = fixture.cache;
  using Need = ReadCache::Need;
  const auto insert = [&](const std::shared_ptr<CachedRecord>& record) {
    cache.insert_page(cache.find_page(9, 3, kMaxLsn, Count::kNothing).ticket, 9, 3, record);
  };
  const auto page = [&](std::uint32_t unit) {
    auto record = std::make_shared<CachedRecord>();
    record->exists = true;
    record->serial = cache.new_serial();
    Extent extent;
    extent.length = extent.blob.raw = extent.blob.stored = 40'000;
    extent.blob.where.unit = unit;
    record->page = {extent};
    return record;
  };
  const auto first = page(1);
  insert(first);
  cache.insert_block({first->serial, 0, 1}, Bytes(16'384));
  cache.note_moved(page_key(9, 3));
  CHECK(cache.find_page(9, 3, kMaxLsn, Count::kNothing).record == nullptr);
  CHECK(cache.find_page(9, 3, kMaxLsn, Count::kNothing, Need::kFacts).record == first);
  const auto second = page(2);
  insert(second);
  CHECK(cache.find_page(9, 3, kMaxLsn, Count::kNothing).record == second);
  CHECK(cache.find_block({second->serial, 0, 1}, Count::kNothing) != nullptr);
  // One that is cut otherwise is not like it.
  cache.note_moved(page_key(9, 3));
  const auto cut = page(2);
  cut->page[0].length -= 1;
  insert(cut);
  CHECK(cut->serial != second->serial);
  cache.check_invariants();
}

TEST_CASE("read_cache: memory stays within the budget, names of collections included") {
  const auto executor = io::make_thread_executor(1);
  for (const std::uint64_t capacity : {1_MiB, 3_MiB, 20_MiB}) {
    CAPTURE(capacity);
    ReadCache cache(*executor, capacity);
    io::Rng rng(capacity);
    const Bytes block(16'384);
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::string name = "object" + std::to_string(i);
      const std::string collection = std::string(200, 'c') + std::to_string(i);
      const auto ticket = cache.find_object(collection, name, kMaxLsn, Count::kNothing).ticket;
      cache.insert_collection(ticket, collection, {static_cast<CollectionId>(i), {}}, 1);
      const auto record = record_of(cache, 1, 1);
      record->object.attributes["attribute"] = std::string(rng.below(2000), 'v');
      cache.insert_object(ticket, static_cast<CollectionId>(i), name, record);
      cache.insert_block({record->serial, 0, 0}, block);
      if (i % 100 == 0) REQUIRE(cache.usage().total <= capacity);
    }
    REQUIRE(cache.usage().total <= capacity);
    REQUIRE(cache.usage().total > capacity / 2);
    REQUIRE(cache.take_tally().evictions > 0);
    cache.check_invariants();
  }
}

TEST_CASE("read_cache: without a budget nothing is kept and everything works") {
  const auto executor = io::make_thread_executor(1);
  ReadCache cache(*executor, 0);
  REQUIRE_FALSE(cache.enabled());
  const auto found = cache.find_object("c", "a", kMaxLsn, Count::kBoth);
  cache.insert_collection(found.ticket, "c", {7, {}}, 1);
  cache.insert_object(found.ticket, 7, "a", record_of(cache, 1, 1));
  cache.insert_block({1, 0, 0}, Bytes(10));
  cache.invalidate(object_key(7, "a"));
  REQUIRE(cache.find_object("c", "a", kMaxLsn, Count::kBoth).record == nullptr);
  REQUIRE(cache.find_page(1, 0, kMaxLsn, Count::kBoth).record == nullptr);
  REQUIRE(cache.find_block({1, 0, 0}, Count::kBoth) == nullptr);
  REQUIRE(cache.usage().total == 0);
}

// The protocol of N1 to N3: a writer changes the truth, then invalidates, then makes it durable;
// readers look up, read the truth that is durable, insert. Nobody may find less than what was
// durable when he began.
TEST_CASE("read_cache: with writers and readers at once no one finds what was out of date") {
  const auto executor = io::make_thread_executor(1);
  ReadCache cache(*executor, 1_MiB);
  constexpr int kKeys = 8;
  struct Truth {
    std::atomic<Lsn> applied{0};  // as the memtable has it, pending or not
    std::atomic<Lsn> durable{0};
  };
  Truth truth[kKeys];
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> hits{0};
  const auto name_of = [](std::uint64_t key) { return "object" + std::to_string(key); };
  std::thread writer([&] {
    io::Rng rng(1);
    // And on until the readers have had their turn, however late they start.
    for (Lsn lsn = 1; lsn < 30'000 || (hits.load() == 0 && lsn < 100'000'000); ++lsn) {
      const std::uint64_t key = rng.below(kKeys);
      truth[key].applied.store(lsn);
      cache.invalidate(object_key(7, name_of(key)));
      if (rng.chance(1, 50)) std::this_thread::yield();
      truth[key].durable.store(lsn);
      if (rng.chance(1, 500)) cache.invalidate(collection_key("c"));
    }
    stop.store(true);
  });
  std::vector<std::thread> readers;
  for (std::uint64_t i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      io::Rng rng(i + 2);
      while (!stop.load()) {
        const std::uint64_t key = rng.below(kKeys);
        const std::string name = name_of(key);
        const Lsn least = truth[key].durable.load();
        const auto found = cache.find_object("c", name, kMaxLsn, Count::kBoth);
        if (found.record != nullptr) {
          hits.fetch_add(1);
          if (found.record->object.version < least) wrong.fetch_add(1);
          const auto version = static_cast<std::byte>(found.record->object.version.value());
          const auto again = cache.find_bytes("c", name, {0, 100}, Count::kBoth);
          if (again.bytes.has_value()) {
            const auto newer = static_cast<std::byte>(again.record->object.version.value());
            if (again.bytes->back() != newer) wrong.fetch_add(1);
          } else {
            cache.insert_bytes(*found.record, Bytes(100, version));
          }
          continue;
        }
        const Lsn at = truth[key].durable.load();
        if (truth[key].applied.load() > at) continue;  // N2 (b)
        cache.insert_collection(found.ticket, "c", {7, {}}, 0);
        const auto record = small_record(cache, 100);
        record->object.version = at;
        record->as_of = 0;
        cache.insert_object(found.ticket, 7, name, record);
      }
    });
  }
  writer.join();
  for (std::thread& reader : readers) reader.join();
  REQUIRE(wrong.load() == 0);
  REQUIRE(hits.load() > 0);
  cache.check_invariants();
}

}  // namespace
}  // namespace hexad::core
