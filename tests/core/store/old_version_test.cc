// A reader of one object for long: its version stays readable, and it holds on to nothing that came
// after it. Before, one open reader kept everything that was freed anywhere in the store.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "base/units.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

std::unique_ptr<ObjectReader> reader_of(Store& store, std::string_view name) {
  Result<std::unique_ptr<ObjectReader>> reader = store.open_reader(kBucket, name);
  REQUIRE(message_of(reader.status()) == "");
  return std::move(reader).value();
}

std::string rest_of(ObjectReader& reader) {
  std::string text(reader.stat().size, '\0');
  reader.seek(0);
  std::size_t done = 0;
  while (done < text.size()) {
    const Result<std::uint64_t> read = reader.read(
        MutByteView(reinterpret_cast<std::byte*>(text.data()), text.size()).subspan(done));
    if (!read.ok()) return "error: " + read.error().message;
    done += *read;
  }
  return text;
}

// Overwrites three objects until the store has been written full several times.
void turn_over(Store& store, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    CAPTURE(i);
    REQUIRE(message_of(put(store, "ring" + std::to_string(i % 3), noise(1_MiB, i)).status()) == "");
    // A small one beside it goes through the log and a pack stripe.
    REQUIRE(put(store, "small" + std::to_string(i % 5), noise(5000, 7000 + i)).ok());
  }
}

TEST_CASE("old_version: beside an open reader the space of what came later is used again") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string film = noise(4_MiB, 1);
  REQUIRE(put(store, "film", film).ok());
  const std::unique_ptr<ObjectReader> reader = reader_of(store, "film");
  turn_over(store, 150);
  REQUIRE((rest_of(*reader) == film));
  // The version that it reads is overwritten, and then removed: it is held, and named.
  REQUIRE(put(store, "film", noise(1_MiB, 2)).ok());
  REQUIRE(remove(store, "film").ok());
  turn_over(store, 60);
  REQUIRE((rest_of(*reader) == film));
  const SpaceUsage usage = *store.space();
  CHECK(usage.held_by_readers >= 4_MiB);
  CHECK(usage.held_by_readers < 8_MiB);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("old_version: whoever holds space is named, with when it came and how much it is") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "film", noise(4_MiB, 1)).ok());
  REQUIRE(put(store, "song", noise(1_MiB, 2)).ok());
  CHECK(store.space()->readers.empty());
  std::unique_ptr<ObjectReader> song = reader_of(store, "song");
  REQUIRE(put(store, "other", noise(100, 3)).ok());
  std::unique_ptr<ObjectReader> film = reader_of(store, "film");
  CHECK(store.space()->readers.empty());  // nothing has been freed
  REQUIRE(remove(store, "film").ok());
  REQUIRE(remove(store, "song").ok());
  turn_over(store, 5);
  const SpaceUsage held = *store.space();
  // The first to come needs what the second one does, too: it counts once.
  std::uint64_t sum = 0;
  for (const HeldByReader& reader : held.readers) {
    CHECK(reader.collection == kBucket);
    CHECK(reader.opened > 0);
    sum += reader.held;
  }
  CHECK(sum == held.held_by_readers);
  CHECK(sum >= 5_MiB);
  REQUIRE_FALSE(held.readers.empty());
  CHECK(held.readers.front().name == "song");
  song.reset();
  turn_over(store, 5);
  const SpaceUsage less = *store.space();
  REQUIRE(less.readers.size() == 1);
  CHECK(less.readers.front().name == "film");
  CHECK(less.readers.front().held == less.held_by_readers);
  film.reset();
  turn_over(store, 5);
  CHECK(store.space()->held_by_readers == 0);
  CHECK(store.space()->readers.empty());
}

TEST_CASE("old_version: a small object that gets its place after its reader came is held too") {
  StoreFixture fixture;
  Store store = fixture.open();
  std::vector<std::unique_ptr<ObjectReader>> readers;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(put(store, "small" + std::to_string(i), noise(5000, i)).ok());
    readers.push_back(reader_of(store, "small" + std::to_string(i)));
  }
  REQUIRE(message_of(store.checkpoint()) == "");  // what rode in the log is packed
  for (int i = 0; i < 5; ++i) REQUIRE(remove(store, "small" + std::to_string(i)).ok());
  turn_over(store, 100);
  for (int i = 0; i < 5; ++i) REQUIRE((rest_of(*readers[i]) == noise(5000, i)));
}

TEST_CASE("old_version: a reader gives way to a commit that finds no other space, and says so") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "film", noise(8_MiB, 1)).ok());
  const std::unique_ptr<ObjectReader> reader = reader_of(store, "film");
  REQUIRE(remove(store, "film").ok());
  int count = 0;
  while (put(store, "o" + std::to_string(count), noise(1_MiB, count)).ok()) ++count;
  // All but the reserve: what the reader held is among it.
  CHECK(store.space()->held_by_readers == 0);
  CHECK(store.space()->available < 1_MiB + 1_MiB / 2);
  const std::string read = rest_of(*reader);
  CHECK_THAT(read, Catch::Contains("error: ") && Catch::Contains("its old version was given up"));
  for (int i = 0; i < count; ++i) {
    REQUIRE((get(store, "o" + std::to_string(i)) == noise(1_MiB, i)));
  }
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("old_version: a reader beside more others than have slots is named, too") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "film", noise(4_MiB, 1)).ok());
  REQUIRE(put(store, "small", noise(5000, 2)).ok());
  std::vector<std::unique_ptr<ObjectReader>> readers;
  for (int i = 0; i < 70; ++i) readers.push_back(reader_of(store, "small"));
  const std::unique_ptr<ObjectReader> film = reader_of(store, "film");
  readers.clear();  // those before it that have none are gone
  REQUIRE(remove(store, "film").ok());
  turn_over(store, 5);
  const SpaceUsage held = *store.space();
  REQUIRE(held.readers.size() == 1);
  CHECK(held.readers.front().name == "film");
  CHECK(held.readers.front().held == held.held_by_readers);
  CHECK(held.held_by_readers >= 4_MiB);
  CHECK(held.waiting == 0);
}

TEST_CASE("old_version: a commit that finds no space since somebody reads is told who that is") {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  StoreFixture fixture(small_format(), &faulty);
  RuntimeOptions options;
  options.cache_size = 0;
  Store store = fixture.open(Access::kReadWrite, options);
  const std::string film = noise(8_MiB, 1);
  REQUIRE(put(store, "film", film).ok());
  const std::unique_ptr<ObjectReader> reader = reader_of(store, "film");
  REQUIRE(remove(store, "film").ok());
  // Its first read of a device lasts until the store is full: whoever reads is not ended.
  std::promise<void> reads;
  std::promise<void> full;
  std::atomic<bool> first = true;
  std::atomic<std::thread::id> its_thread{};
  faulty.watch([&](const io::IoRequest& request) {
    if (std::this_thread::get_id() != its_thread.load() || request.op != io::IoOp::kRead) return;
    if (!first.exchange(false)) return;
    reads.set_value();
    full.get_future().wait();
  });
  std::string read;
  std::thread slow([&] {
    its_thread = std::this_thread::get_id();
    read = rest_of(*reader);
  });
  REQUIRE(reads.get_future().wait_for(std::chrono::minutes(10)) == std::future_status::ready);
  Status refused;
  for (int i = 0; refused.ok(); ++i) {
    refused = put(store, "o" + std::to_string(i), noise(1_MiB, i)).status();
  }
  full.set_value();
  slow.join();
  faulty.watch({});
  CHECK(code_of(refused) == ErrorCode::kNoSpace);
  CHECK_THAT(message_of(refused),
             Catch::Contains("is being read just now") &&
                 Catch::Contains("of it by a reader of " + std::string(kBucket) +
                                 "/film that has been open for "));
  CHECK((read == film));
}

}  // namespace
}  // namespace hexad::testing
