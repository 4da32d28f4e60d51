// What the store says about space and work: from the allocator and the records, and counted.
#include <catch2/catch.hpp>
#include <utility>

#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

std::uint64_t total(Store& store, std::string_view name) {
  for (const Counter& one : store.counters()) {
    if (one.name == name) return one.total;
  }
  FAIL("no counter is called " << name);
  return 0;
}

// Counted by a walk over all objects, and what the store keeps count of says the same.
SpaceUsage space_of(Store& store) {
  Result<SpaceUsage> before = store.space();
  Result<SpaceUsage> space = store.space(SpaceDetail::kBreakdown);
  Result<SpaceUsage> totals = store.space();
  // The background may have made a checkpoint or a zone meanwhile: once more then.
  while (before.ok() && totals.ok() && before->used != totals->used) {
    before = std::move(totals);
    space = store.space(SpaceDetail::kBreakdown);
    totals = store.space();
  }
  REQUIRE(message_of(space.status()) == "");
  REQUIRE(space->broken_down);
  REQUIRE(message_of(totals.status()) == "");
  REQUIRE_FALSE(totals->broken_down);
  REQUIRE(totals->objects == space->objects);
  REQUIRE(totals->user_bytes == space->user_bytes);
  REQUIRE(totals->allocated == space->allocated);
  REQUIRE(totals->promised == space->promised);
  REQUIRE(totals->capacity == space->capacity);
  REQUIRE(totals->available == space->available);
  REQUIRE(totals->internal_metadata == space->internal_metadata);
  REQUIRE(totals->used == space->used);
  return *space;
}

// Bytes that no user has: free, or the store's own.
std::uint64_t of_nobody(const SpaceUsage& space) {
  return space.available + space.internally_reserved + space.internal_metadata;
}

TEST_CASE("usage: space is what the objects take, to the byte") {
  StoreFixture fixture;
  Store store = fixture.open();
  const SpaceUsage empty = space_of(store);
  REQUIRE(empty.objects == 0);
  REQUIRE(empty.user_bytes == 0);
  REQUIRE(empty.allocated == 0);
  REQUIRE(empty.capacity > 0);
  REQUIRE(of_nobody(empty) == empty.capacity);
  REQUIRE(empty.per_device.size() == 6 + 0);

  REQUIRE(put(store, "empty", "").ok());
  REQUIRE(put(store, "inline", noise(256, 1)).ok());
  REQUIRE(put(store, "unit", noise(257, 2)).ok());       // one 4 KiB unit in each of six cells
  REQUIRE(put(store, "large", noise(100'000, 3)).ok());  // cells of 25,000: seven units each
  // What rides in the log has its units set aside, and gets them with the next checkpoint.
  REQUIRE(store.stat(kDefaultCollection, "unit")->placement == "log");
  REQUIRE(space_of(store).allocated == (1 + 7) * 4 * 4096);
  REQUIRE(store.checkpoint().ok());
  const SpaceUsage some = space_of(store);
  REQUIRE(some.objects == 4);
  REQUIRE(some.user_bytes == 256 + 257 + 100'000);
  REQUIRE(some.allocated == (1 + 7) * 4 * 4096);
  REQUIRE(of_nobody(some) == empty.capacity - some.allocated);
  REQUIRE(some.internally_reserved > 0);
  REQUIRE(some.internal_metadata > 0);
  REQUIRE(some.compressed == 0);
  REQUIRE(some.metadata > 0);
  std::uint64_t used = 0;
  for (const DeviceSpace& device : some.per_device) {
    REQUIRE(device.used <= device.capacity);
    used += device.used;
  }
  REQUIRE(used == some.used);
  REQUIRE(store.stat(kDefaultCollection, "inline")->placement == "inline");
  REQUIRE(store.stat(kDefaultCollection, "unit")->placement == "pack");
  REQUIRE(store.stat(kDefaultCollection, "empty")->placement == "none");
  REQUIRE(store.stat(kDefaultCollection, "large")->stored == 100'000);

  // Reopening changes nothing, a crash neither.
  REQUIRE(store.close().ok());
  { Store moved = std::move(store); }
  for (const Access access : {Access::kReadOnly, Access::kReadWrite, Access::kReadWrite}) {
    Store again = fixture.open(access);
    const SpaceUsage same = space_of(again);
    REQUIRE(same.user_bytes == some.user_bytes);
    REQUIRE(same.allocated == some.allocated);
    REQUIRE(of_nobody(same) == of_nobody(some));
    REQUIRE(same.internally_reserved > 0);
    REQUIRE(same.capacity == some.capacity);
    REQUIRE(same.objects == 4);
  }
  Store again = fixture.open();
  for (const char* name : {"empty", "inline", "unit", "large"}) REQUIRE(remove(again, name).ok());
  const SpaceUsage gone = space_of(again);
  REQUIRE(gone.objects == 0);
  REQUIRE(gone.allocated == 0);
  REQUIRE(of_nobody(gone) == gone.capacity);
}

TEST_CASE("usage: compressed bytes are counted by what they were and what they are") {
  FormatOptions format = small_format();
  format.compression.mode = compression::Mode::kAggressive;
  StoreFixture fixture(format);
  Store store = fixture.open();
  const std::string text(200'000, 'a');
  REQUIRE(put(store, "text", text).ok());
  {
    Transaction t;
    t.put(kDefaultCollection, "noise", noise(200'000, 1), Hint::kIncompressible);
    REQUIRE(store.commit(std::move(t)).ok());
  }
  const SpaceUsage space = space_of(store);
  REQUIRE(space.user_bytes == 400'000);
  REQUIRE(space.compressed_original == 200'000);
  REQUIRE(space.compressed > 0);
  REQUIRE(space.compressed < 20'000);
  REQUIRE(space.compressed_allocated >= space.compressed);
  REQUIRE(space.compressed_allocated < space.allocated);
  REQUIRE(store.stat(kDefaultCollection, "text")->stored == space.compressed);
  REQUIRE((get(store, "text") == text));
  REQUIRE(counter(store, "compress_success_count") == 1);
  REQUIRE(counter(store, "bluestore_compressed_original") == 200'000);
  REQUIRE(counter(store, "bluestore_compressed") == space.compressed);
  REQUIRE(counter(store, "bluestore_compressed_allocated") == space.compressed_allocated);
  for (const char* name : {"compressed", "compressed_original", "compressed_allocated"}) {
    REQUIRE(counter(store, name) == counter(store, std::string("bluestore_") + name));
  }
}

TEST_CASE("usage: user bytes are sizes, and stored is what is left of them to store") {
  FormatOptions format = small_format();
  format.compression.mode = compression::Mode::kAggressive;
  StoreFixture fixture(format);
  Store store = fixture.open();
  // A hole of 900,000 bytes, and text that shrinks.
  Transaction first;
  first.put(kDefaultCollection, "text", std::string(100'000, 'a'));
  first.truncate(kDefaultCollection, "text", 1'000'000);
  REQUIRE(store.commit(std::move(first)).ok());
  Transaction second;
  second.clone(kDefaultCollection, "text", kDefaultCollection, "clone");
  REQUIRE(store.commit(std::move(second)).ok());
  REQUIRE(store.checkpoint().ok());
  const SpaceUsage space = space_of(store);
  CHECK(space.user_bytes == 2'000'000);
  CHECK(space.compressed_original == 100'000);  // the clone shows the same blob
  const ObjectStat stat = *store.stat(kDefaultCollection, "text");
  CHECK(stat.size == 1'000'000);
  CHECK(stat.stored == space.compressed);
  const CollectionUsage usage = *store.collection_usage(kDefaultCollection);
  CHECK(usage.bytes == space.user_bytes);
  CHECK(usage.stored == 2 * stat.stored);
}

TEST_CASE("usage: counters go on over openings, and tell this one's share apart") {
  StoreFixture fixture;
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  std::uint64_t transactions = 0;
  for (int opening = 0; opening < 3; ++opening) {
    CAPTURE(opening);
    Store store = fixture.open();
    const std::uint64_t before = total(store, "txc_count");
    REQUIRE(before >= transactions);
    REQUIRE(counter(store, "written_bytes") == 0);
    REQUIRE(total(store, "written_bytes") == written);
    REQUIRE(total(store, "read_bytes") == read);
    for (int i = 0; i < 10; ++i) REQUIRE(put(store, "a", noise(10'000, i)).ok());
    REQUIRE(get(store, "a").size() == 10'000);
    REQUIRE(counter(store, "written_bytes") == 100'000);
    REQUIRE(counter(store, "read_bytes") == 10'000);
    REQUIRE(counter(store, "reads") == 1);
    REQUIRE(counter(store, "txc_count") >= 10);
    // A lone small write rides in the log; what does not, and what a checkpoint has packed, is
    // coded.
    const std::uint64_t coded =
        10 - counter(store, "log_first_blobs") + counter(store, "log_blobs_packed");
    REQUIRE(counter(store, "log_first_blobs") > 0);
    REQUIRE(counter(store, "device_user_bytes") == coded * 10'000);
    REQUIRE(counter(store, "device_parity_bytes") == coded * 2 * 4096);
    REQUIRE(counter(store, "device_log_bytes") > 0);
    written += 100'000;
    read += 10'000;
    transactions = total(store, "txc_count");
    REQUIRE(store.close().ok());
  }
  {
    // Looking does not count.
    Store store = fixture.open(Access::kReadOnly);
    get(store, "a");
    REQUIRE(total(store, "read_bytes") == read + 10'000);
  }
  Store store = fixture.open();
  REQUIRE(total(store, "read_bytes") == read);
  {
    Transaction t;
    t.set_attr(kDefaultCollection, "absent", "a", "b");
    REQUIRE_FALSE(store.commit(std::move(t)).ok());
  }
  REQUIRE(counter(store, "txc_failed_count") == 1);
  // Every name once, and as documented.
  std::set<std::string> names;
  for (const Counter& one : store.counters()) REQUIRE(names.insert(one.name).second);
}

TEST_CASE("usage: a degraded store says what it still can take") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "a", noise(100'000, 1)).ok());
    REQUIRE(store.close().ok());
  }
  fixture.take_away(0);
  fixture.take_away(1);
  Store store = fixture.open();
  const SpaceUsage space = space_of(store);
  REQUIRE(space.available > 0);
  // Fill it with what it says.
  std::uint64_t stored = 0;
  for (int i = 0;; ++i) {
    const Result<Lsn> result = put(store, "b" + std::to_string(i), noise(64'000, i));
    if (!result.ok()) {
      REQUIRE(code_of(result) == ErrorCode::kNoSpace);
      break;
    }
    stored += 64'000;
  }
  REQUIRE(stored > space.available * 8 / 10);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("usage: the status of a healthy store") {
  StoreFixture fixture;
  Store store = fixture.open();
  const StoreStatus status = store.status();
  REQUIRE(status.health == Health::kOk);
  REQUIRE(status.faults_tolerated == 2);
  REQUIRE_FALSE(status.read_only);
  REQUIRE(status.io_queue == "memory");
  REQUIRE(status.devices.size() == 7);
  int log = 0;
  for (const DeviceStatus& device : status.devices) {
    REQUIRE(device.state == "ok");
    log += device.holds_log ? 1 : 0;
  }
  REQUIRE(log == 4);  // the fast device, and m+1 for data
  REQUIRE(status.log_size == 1_MiB);
  const Result<Lsn> lsn = put(store, "a", "b");
  // Or more: the store may have made a zone meanwhile.
  REQUIRE(store.status().last_lsn >= *lsn);
  REQUIRE(store.checkpoint().ok());
  REQUIRE(store.status().checkpoint_lsn >= *lsn);
  REQUIRE_FALSE(store.effective_options().empty());
}

}  // namespace
}  // namespace hexad::testing
