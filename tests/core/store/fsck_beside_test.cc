// fsck beside commits: it looks at one moment, whatever is overwritten, removed, packed, merged and
// written meanwhile, and nobody waits for it.
#include <catch2/catch.hpp>
#include <cstddef>
#include <thread>

#include "base/units.h"
#include "tests/core/cells_on_media.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr int kObjects = 24;
// Inlined in the log, packed, of a stripe of its own, of several pages.
constexpr std::size_t kSizes[] = {100, 3_KiB, 40_KiB, 1'300'000};

std::string name_of(int i) { return "object" + std::to_string(i); }
std::string value_of(int i, int round) {
  return noise(kSizes[i % std::size(kSizes)], 100 * round + i);
}

void write_some(Store& store, int round, int from, int step) {
  for (int i = from; i < kObjects; i += step) {
    REQUIRE(message_of(put(store, name_of(i), value_of(i, round)).status()) == "");
  }
}

// Some of it in runs and pack stripes, the rest in the log alone; a clone, an omap, what is freed.
void fill(Store& store) {
  write_some(store, 0, 0, 1);
  REQUIRE(store.checkpoint().ok());
  write_some(store, 1, 0, 3);
  REQUIRE(commit(store, [](Transaction& t) {
            t.clone(kBucket, name_of(3), kBucket, "clone");
            for (int i = 0; i < 8; ++i) t.omap_set(kBucket, name_of(1), name_of(i), noise(900, i));
          }).ok());
  write_some(store, 2, 1, 5);
}

// Overwrites, packs, makes runs, frees and uses again what is free, as far as that is allowed.
// Returns what failed, since it runs on a thread of its own.
std::string turn_over(Store& store, int round) {
  for (int lap = 0; lap < 3; ++lap) {
    for (int i = 0; i < kObjects; ++i) {
      Status status;
      if ((i + lap) % 4 == 0) {
        status = remove(store, name_of(i)).status();
        if (code_of(status) == ErrorCode::kNotFound) status = {};
      } else {
        status = put(store, name_of(i), value_of(i, 10 * round + lap)).status();
      }
      // What the check still looks at cannot be used again yet.
      if (!status.ok() && code_of(status) != ErrorCode::kNoSpace) return message_of(status);
    }
    const Status status = store.checkpoint();
    if (!status.ok()) return message_of(status);
  }
  return "";
}

std::string as_text(const FsckReport& report) {
  std::string text;
  for (const Finding& finding : report.findings) {
    text += finding.subject + ": " + finding.problem + "\n";
  }
  return text;
}

TEST_CASE("fsck: everything is turned over while it looks, and it finds nothing wrong") {
  const bool deep = GENERATE(false, true);
  CAPTURE(deep);
  FormatOptions format = small_format();
  format.device_size = 32_MiB;
  StoreFixture fixture(format);
  Store store = fixture.open();
  fill(store);
  std::uint64_t looks = 0;
  FsckOptions count{deep, false, [&](const FsckReport&) { return ++looks > 0; }};
  REQUIRE(as_text(*store.fsck(count)) == "");
  REQUIRE(looks > kObjects);

  for (int round = 1; round <= 6; ++round) {
    const std::uint64_t when = round == 1 ? 1 : looks * (round - 1) / 6;
    std::uint64_t look = 0;
    std::string failed = "not called";
    FsckOptions options{deep, false, [&](const FsckReport&) {
                          if (++look != when) return true;
                          // Another thread commits and is waited for: it does not wait for fsck.
                          std::thread([&] { failed = turn_over(store, round); }).join();
                          return true;
                        }};
    const Result<FsckReport> report = store.fsck(options);
    REQUIRE(report.ok());
    CHECK(as_text(*report) == "");
    CHECK(failed == "");
    CHECK(deep_findings(store) == "");
    fill(store);
    looks = 0;
    REQUIRE(as_text(*store.fsck(count)) == "");
  }
}

TEST_CASE("fsck: what is damaged at the moment is found, and put right, while commits go on") {
  StoreFixture fixture;
  Store store = fixture.open();
  fill(store);
  // Two cells of an object's stripe.
  const StripeOnMedia stripe = find_private(fixture, value_of(2, 0));
  flip_byte(fixture, stripe[1], 7);
  flip_byte(fixture, stripe[5], 4000);
  bool committed = false;
  FsckOptions options{true, true, [&](const FsckReport&) {
                        if (committed) return true;
                        committed = true;
                        std::thread([&] { put(store, "beside", "it").status().ignore(); }).join();
                        return true;
                      }};
  const Result<FsckReport> report = store.fsck(options);
  REQUIRE(report.ok());
  CHECK(!report->findings.empty());
  CHECK(report->errors() == 0);
  CHECK(is_whole(fixture, stripe));
  CHECK(get(store, "beside") == "it");
  CHECK(deep_findings(store) == "");
}

TEST_CASE("fsck: it ends with an error when the store is closed beside it") {
  StoreFixture fixture;
  Store store = fixture.open();
  fill(store);
  bool closed = false;
  FsckOptions options{true, false, [&](const FsckReport&) {
                        if (closed) return true;
                        closed = true;
                        std::thread([&] { store.close().ignore(); }).join();
                        return true;
                      }};
  const Result<FsckReport> report = store.fsck(options);
  CHECK(code_of(report) == ErrorCode::kClosed);
}

TEST_CASE("fsck: it ends where its progress says so, with what it has found") {
  StoreFixture fixture;
  Store store = fixture.open();
  fill(store);
  int looks = 0;
  FsckOptions options{true, false, [&](const FsckReport&) { return ++looks < kObjects / 2; }};
  Result<FsckReport> report = store.fsck(options);
  REQUIRE(report.ok());
  CHECK(!report->complete);
  CHECK(looks == kObjects / 2);
  CHECK(report->objects_checked < kObjects);
  CHECK(as_text(*report) == "");
  options.progress = {};
  report = store.fsck(options);
  REQUIRE(report.ok());
  CHECK(report->complete);
  CHECK(report->objects_checked == kObjects + 1);  // the clone
}

}  // namespace
}  // namespace hexad::testing
