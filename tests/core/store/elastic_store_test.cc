// Space in many short runs: what is written takes the runs there are, until it is really used up.
// Before, objects of 1 MiB found "no space" with 40 % of a pool free, behind small ones of which
// every second had been removed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "base/units.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

std::string small_noise(int i) { return noise(64_KiB, 1000 + i); }

std::string name_of(const char* kind, int i) { return kind + std::to_string(i); }

// A store full of objects of 64 KiB of which every second is gone. Returns how many there were.
int perforate(Store& store) {
  int count = 0;
  while (put(store, name_of("s", count), small_noise(count)).ok()) ++count;
  REQUIRE(count > 100);
  for (int i = 0; i < count; i += 2) REQUIRE(remove(store, name_of("s", i)).ok());
  REQUIRE(message_of(store.sync()) == "");
  return count;
}

void check_small(Store& store, int count) {
  for (int i = 1; i < count; i += 2) REQUIRE((get(store, name_of("s", i)) == small_noise(i)));
}

// By a put, by a writer, or by writes and an append of one transaction.
enum class Way : std::uint8_t { kPut, kStream, kWrites };

Status write_large(Store& store, Way way, const std::string& name, const std::string& bytes) {
  if (way == Way::kPut) return put(store, name, bytes).status();
  if (way == Way::kStream) {
    HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectWriter> writer, store.open_writer(kBucket, name));
    HEXAD_TRY(writer->append(as_bytes(bytes)));
    return writer->commit().status();
  }
  Transaction t;
  const std::size_t half = bytes.size() / 2;
  t.write(kBucket, name, 0, as_bytes(bytes).first(half));
  t.append(kBucket, name, as_bytes(bytes).subspan(half));
  return store.commit(std::move(t)).status();
}

TEST_CASE("elastic: objects of 1 MiB go into the gaps between small ones until no gap is left") {
  const Way way = GENERATE(Way::kPut, Way::kStream, Way::kWrites);
  CAPTURE(static_cast<int>(way));
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const int count = perforate(*store);
  int large = 0;
  Status status;
  for (;; ++large) {
    status = write_large(*store, way, name_of("b", large), noise(1_MiB, large));
    if (!status.ok()) break;
  }
  CHECK(code_of(status) == ErrorCode::kNoSpace);
  // What is left is less than one more would take, and what merging of metadata may take for now.
  const SpaceUsage usage = *store->space();
  CHECK(usage.available < 1_MiB + 1_MiB / 2);
  CHECK(large >= 3);
  CHECK(counter(*store, "alloc_pieces_cut") >= static_cast<std::uint64_t>(large) / 2);
  CHECK(counter(*store, "alloc_pieces_cut_into") > counter(*store, "alloc_pieces_cut"));
  for (int round = 0; round < 2; ++round) {
    check_small(*store, count);
    for (int i = 0; i < large; ++i) {
      REQUIRE((get(*store, name_of("b", i)) == noise(1_MiB, i)));
    }
    REQUIRE(deep_findings(*store) == "");
    if (round == 0) REQUIRE(message_of(store->close()) == "");
    store.reset();
    store = fixture.open();
  }
  // All of it comes back.
  for (int i = 0; i < large; ++i) REQUIRE(remove(*store, name_of("b", i)).ok());
  for (int i = 1; i < count; i += 2) REQUIRE(remove(*store, name_of("s", i)).ok());
  REQUIRE(message_of(store->sync()) == "");
  REQUIRE(store->space()->allocated == 0);
}

// Of each 4 KiB so many bytes are noise: of those in stretches of 128 KiB, and of those between.
std::string part_noise(std::size_t size, std::size_t kept, std::size_t kept_between) {
  std::string bytes = noise(size, 7);
  for (std::size_t at = 0; at < size; at += 4_KiB) {
    const std::size_t end = std::min<std::size_t>(at + 4_KiB, size);
    const std::size_t zeros = at + (at / 128_KiB % 2 == 0 ? kept : kept_between);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(std::min(zeros, end)),
              bytes.begin() + static_cast<std::ptrdiff_t>(end), '\0');
  }
  return bytes;
}

FormatOptions heeding_hints() {
  FormatOptions format = small_format();
  format.compression.mode = compression::Mode::kPassive;
  return format;
}

// Of the runs that are not kept for checkpoints all that have more than four units are taken.
void take_long_runs(Store& store) {
  const std::uint64_t cut = counter(store, "alloc_pieces_cut");
  int i = 0;
  for (; counter(store, "alloc_pieces_cut") == cut; ++i) {
    REQUIRE(put(store, name_of("f", i), noise(80_KiB, 5000 + i)).ok());
  }
  REQUIRE(remove(store, name_of("f", i - 1)).ok());
  REQUIRE(message_of(store.sync()) == "");
}

// Gaps of four units are few: what is cut for them and compresses unevenly is cut once more.
TEST_CASE("elastic: a small object of a writer is whole, however often it is cut") {
  constexpr int kOfFour = 26;
  StoreFixture fixture(heeding_hints());
  Store store = fixture.open();
  int count = 0;
  const auto bytes_of = [](int i) { return noise(i < kOfFour ? 64_KiB : 48_KiB, 1000 + i); };
  while (put(store, name_of("s", count), bytes_of(count)).ok()) ++count;
  for (int i = 0; i < count; i += 2) REQUIRE(remove(store, name_of("s", i)).ok());
  REQUIRE(message_of(store.sync()) == "");
  take_long_runs(store);

  const std::string small = noise(200_KiB, 1);
  const std::string large = part_noise(1_MiB, 2458, 1393);
  const std::unique_ptr<ObjectWriter> writer = std::move(store.open_writer(kBucket, "w")).value();
  REQUIRE(writer->append(as_bytes(small)).ok());
  Transaction t;
  t.put(kBucket, "p", as_bytes(large), Hint::kCompressible);
  t.publish(*writer);
  const Status committed = store.commit(std::move(t)).status();
  REQUIRE(message_of(committed) == "");
  CHECK((get(store, "p") == large));
  CHECK((get(store, "w") == small));
  CHECK(deep_findings(store) == "");
}

TEST_CASE("elastic: a small object of a writer that is compressed goes into gaps, too") {
  StoreFixture fixture(heeding_hints());
  Store store = fixture.open();
  const int count = perforate(store);
  take_long_runs(store);
  const std::string small = part_noise(400_KiB, 2000, 2000);
  const std::unique_ptr<ObjectWriter> writer =
      std::move(store.open_writer(kBucket, "w", Hint::kCompressible)).value();
  REQUIRE(writer->append(as_bytes(small)).ok());
  REQUIRE(message_of(writer->commit().status()) == "");
  CHECK((get(store, "w") == small));
  check_small(store, count);
  CHECK(deep_findings(store) == "");
}

// The first half of it takes twice what the average says.
TEST_CASE("elastic: what compresses unevenly goes into gaps, too") {
  StoreFixture fixture(heeding_hints());
  Store store = fixture.open();
  const int count = perforate(store);
  take_long_runs(store);
  const std::string large = noise(512_KiB, 1) + std::string(512_KiB, 'x');
  Transaction t;
  t.put(kBucket, "p", as_bytes(large), Hint::kCompressible);
  const Status committed = store.commit(std::move(t)).status();
  REQUIRE(message_of(committed) == "");
  CHECK((get(store, "p") == large));
  check_small(store, count);
  CHECK(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
