// Objects of many pages that are truncated and get holes, against a model that knows where their
// bytes are: no hold of the sequencer's lock handles more than a bounded number of pages, and
// nobody sees what the background has not taken back yet.
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "core/check/fsck.h"
#include "core/engine/engine.h"
#include "core/opening/opening.h"
#include "core/record/keys.h"
#include "core/record/record.h"
#include "core/report/counter_report.h"
#include "io/rng.h"
#include "tests/base/thinned.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using core::kPageSpan;

// What one hold of the lock may handle: what one record takes back, and the numbers of owners.
constexpr std::uint64_t kMostKeys = 4096;
// ... besides what was deleted since the last checkpoint, and is stepped over.
constexpr std::uint64_t kMostDeleted = 10'000;

FormatOptions roomy_format() {
  FormatOptions format = small_format();
  format.device_size = 64 << 20;
  format.log_size = 4 << 20;
  return format;
}

struct Opened {
  explicit Opened(StoreFixture& fixture, const RuntimeOptions& options = {},
                  std::uint64_t ranges_at_once = kMaxClonedPages)
      : engine([&] {
          core::StoreParts parts = core::open_parts(fixture.pool, options, fixture.system).value();
          parts.ranges_at_once = ranges_at_once;
          return parts;
        }()) {
    REQUIRE(engine.start().ok());
  }
  ~Opened() { engine.close().ignore(); }
  void must(const Build& build) {
    Transaction t;
    build(t);
    const Result<Lsn> done = engine.commit(std::move(t));
    INFO((done.ok() ? "" : done.error().message));
    REQUIRE(done.ok());
  }
  // A byte at the beginning of each page.
  void make(const std::string& name, std::uint64_t pages) {
    for (std::uint64_t page = 0; page < pages;) {
      must([&](Transaction& t) {
        for (int i = 0; i < 500 && page < pages; ++i, ++page) {
          t.write(kBucket, name, page * kPageSpan, as_bytes(std::string_view("x")));
        }
      });
    }
  }
  // Until nobody has anything to take back.
  void settle() {
    for (;;) {
      bool any = false;
      const auto look = [&](std::string_view, std::string_view) -> Result<bool> {
        any = true;
        return false;
      };
      REQUIRE(engine.own_commits().scan(core::kCutKeys, look).ok());
      REQUIRE(engine.own_commits().scan(core::kWriterKeys, look).ok());
      if (!any) return;
      REQUIRE(engine.sync().ok());
      std::this_thread::yield();
    }
  }
  std::uint64_t pages() {
    std::uint64_t count = 0;
    const auto look = [&](std::string_view, std::string_view) -> Result<bool> {
      ++count;
      return true;
    };
    REQUIRE(engine.own_commits().scan(core::kPageKeys, look).ok());
    return count;
  }
  std::uint64_t checkpoints() {
    for (const Counter& counter : engine.counter_report().all()) {
      if (counter.name == "checkpoints") return counter.since_open;
    }
    return 0;
  }
  std::string findings() {
    FsckOptions options;
    options.deep = true;
    std::string found;
    const FsckReport report = engine.fsck().run(options).value();
    for (const Finding& finding : report.findings) {
      found += finding.subject + ": " + finding.problem + "\n";
    }
    return found;
  }

  core::Engine engine;
};

TEST_CASE(
    "cut_pages: whatever is done to an object of many pages, each hold of the lock is short") {
  StoreFixture fixture(roomy_format());
  Opened opened(fixture);
  constexpr std::uint64_t kPages = 20'000 / kThinned;
  const auto made = [&] { opened.make("a", kPages); };
  made();
  SECTION("truncate") {
    opened.must([](Transaction& t) { t.truncate(kBucket, "a", 1); });
    CHECK(opened.engine.reads().stat(kBucket, "a")->extents == 1);
    opened.settle();
    CHECK(opened.pages() == 1);
  }
  SECTION("truncate in the middle, and to nothing") {
    opened.must([](Transaction& t) { t.truncate(kBucket, "a", kPages / 2 * kPageSpan + 1); });
    CHECK(opened.engine.reads().stat(kBucket, "a")->extents == kPages / 2 + 1);
    opened.must([](Transaction& t) { t.truncate(kBucket, "a", 0); });
    CHECK(opened.engine.reads().stat(kBucket, "a")->extents == 0);
    opened.settle();
    CHECK(opened.pages() == 0);
  }
  SECTION("zero") {
    opened.must([](Transaction& t) { t.zero(kBucket, "a", 1, (kPages - 1) * kPageSpan); });
    CHECK(opened.engine.reads().stat(kBucket, "a")->extents == 1);
    opened.settle();
    CHECK(opened.pages() == 1);
  }
  SECTION("replaced in a transaction that has touched it") {
    opened.must([](Transaction& t) {
      t.write(kBucket, "a", 5, as_bytes(std::string_view("y")));
      t.rename(kBucket, "a", kBucket, "b");
      t.put(kBucket, "b", "short");
    });
    opened.settle();
    CHECK(opened.pages() == 0);
  }
  SECTION("removed after it was cut") {
    opened.must([](Transaction& t) { t.truncate(kBucket, "a", 1); });
    opened.must([](Transaction& t) { t.remove(kBucket, "a"); });
    opened.settle();
    CHECK(opened.pages() == 0);
  }
  SECTION("clone") {
    opened.must([](Transaction& t) { t.clone(kBucket, "a", kBucket, "b"); });
    CHECK(opened.engine.reads().stat(kBucket, "b")->extents == kPages);
    CHECK(opened.pages() == 2 * kPages);
    opened.must([](Transaction& t) {
      t.clone(kBucket, "b", kBucket, "c");
      t.clone(kBucket, "c", kBucket, "d");
      t.remove(kBucket, "b");
      t.remove(kBucket, "c");
    });
    opened.settle();
    CHECK(opened.engine.reads().stat(kBucket, "d")->extents == kPages);
    CHECK(opened.pages() == 2 * kPages);
  }
  SECTION("clone that its guard, or a later op, refuses") {
    Transaction guarded;
    guarded.expect_absent(kBucket, "a");
    guarded.clone(kBucket, "a", kBucket, "b");
    CHECK(code_of(opened.engine.commit(std::move(guarded))) == ErrorCode::kConflict);
    CHECK(opened.pages() == kPages);
    Transaction late;
    late.clone(kBucket, "a", kBucket, "b");
    late.create(kBucket, "a");
    CHECK(code_of(opened.engine.commit(std::move(late))) == ErrorCode::kAlreadyExists);
    opened.settle();
    CHECK(opened.pages() == kPages);
  }
  SECTION("remove") {
    opened.must([](Transaction& t) { t.remove(kBucket, "a"); });
    opened.settle();
    CHECK(opened.pages() == 0);
  }
  CHECK(opened.engine.largest_hold() <= kMostDeleted + kMostKeys);
  CHECK(opened.findings() == "");
}

TEST_CASE("cut_pages: a range of any number of pages is cloned by one transaction") {
  FormatOptions format = roomy_format();
  format.log_size = 16 << 20;
  StoreFixture fixture(format);
  Opened opened(fixture);
  constexpr std::uint64_t kPages = 6'000;
  opened.make("a", kPages);
  opened.must([](Transaction& t) { t.truncate(kBucket, "a", kPages * kPageSpan); });
  const auto extents = [&](const std::string& name) {
    return opened.engine.reads().stat(kBucket, name)->extents;
  };
  SECTION("to a new object, between pages") {
    constexpr std::uint64_t kFrom = 10 * kPageSpan + 5;  // behind the byte of its page
    opened.must([](Transaction& t) {
      t.clone_range(kBucket, "a", kFrom, 5'500 * kPageSpan, kBucket, "b", 3);
    });
    CHECK(opened.engine.reads().stat(kBucket, "b")->size == 5'500 * kPageSpan + 3);
    CHECK(extents("b") == 5'500);
    Bytes byte(1);
    REQUIRE(opened.engine.reads().read(kBucket, "b", 5'000 * kPageSpan - 2, byte).value() == 1);
    CHECK(as_text(byte) == "x");
  }
  SECTION("into an object with pages elsewhere, and over some of its own") {
    opened.make("b", 7'000);
    opened.must([](Transaction& t) { t.zero(kBucket, "b", 1'000 * kPageSpan, 5'000 * kPageSpan); });
    opened.must([](Transaction& t) { t.set_attr(kBucket, "b", "kept", "yes"); });
    opened.must([](Transaction& t) {
      t.clone_range(kBucket, "a", 0, 5'000 * kPageSpan, kBucket, "b", 900 * kPageSpan + 1);
    });
    CHECK(opened.engine.reads().stat(kBucket, "b")->size == 6'999 * kPageSpan + 1);
    CHECK(extents("b") == 901 + 5'000 + 1'000 - 1);  // two bytes beside each other
    CHECK(opened.engine.reads().attribute(kBucket, "b", "kept").value() == "yes");
    opened.settle();
    CHECK(opened.pages() == kPages + 6'900);
  }
  SECTION("what is refused says how much fits, and that does") {
    constexpr std::uint64_t kAll = 5'990 * kPageSpan - 5;
    constexpr std::uint64_t kFrom = 10 * kPageSpan + 5;
    // Its other pages would have to move.
    const auto clone = [&](std::uint64_t from, std::uint64_t length) {
      Transaction t;
      t.clone_range(kBucket, "a", from, length, kBucket, "a", from + 7'000 * kPageSpan);
      return opened.engine.commit(std::move(t));
    };
    const Result<Lsn> refused = clone(kFrom, kAll);
    REQUIRE(code_of(refused) == ErrorCode::kTooBig);
    constexpr std::uint64_t kFits = 4'097 * kPageSpan - 5;  // a page costs what the op does
    CHECK_THAT(refused.error().message,
               Catch::Contains("object default/a: of the " + std::to_string(kAll) + " bytes at " +
                               std::to_string(kFrom) + " this transaction can show the first " +
                               std::to_string(kFits) + ","));
    CHECK(code_of(clone(kFrom, kFits + 1)) == ErrorCode::kTooBig);
    CHECK(code_of(clone(kFrom, kFits)) == std::nullopt);
    CHECK(code_of(clone(kFrom + kFits, kAll - kFits)) == std::nullopt);
    CHECK(extents("a") == kPages + 5'989);
  }
  opened.settle();
  CHECK(opened.engine.largest_hold() <= kMostDeleted + 2 * kMostKeys);
  CHECK(opened.findings() == "");
}

TEST_CASE("cut_pages: a clone made beside writers shows one state of its source") {
  // Of all, or of a range that lies across other pages than in the source.
  const std::uint64_t shift = GENERATE(0, 100);
  CAPTURE(shift);
  StoreFixture fixture(roomy_format());
  Opened opened(fixture);
  constexpr std::uint64_t kPages = 6'000;
  opened.make("a", kPages);
  std::atomic<bool> stop = false;
  std::uint64_t rounds = 0;
  // Each transaction gives two pages, one at each end, the same number.
  std::thread writer([&] {
    io::Rng rng(1);
    for (std::uint64_t i = 1; !stop; ++i) {
      const std::uint64_t page = rng.below(1000);
      const std::string number = std::to_string(i) + "/" + noise(300, i);
      Transaction t;
      t.write(kBucket, "a", page * kPageSpan, as_bytes(number));
      t.write(kBucket, "a", (kPages - 1 - page) * kPageSpan, as_bytes(number));
      if (opened.engine.commit(std::move(t)).ok()) ++rounds;
    }
  });
  for (int i = 0; i < 4; ++i) {
    Transaction t;
    if (shift == 0) t.clone(kBucket, "a", kBucket, "b");
    if (shift > 0) {
      t.clone_range(kBucket, "a", 0, (kPages - 1) * kPageSpan + 1, kBucket, "b", shift);
    }
    CHECK(code_of(opened.engine.commit(std::move(t))) == std::nullopt);
    for (std::uint64_t page = 0; page < 1000; ++page) {
      Bytes low(20);
      Bytes high(20);
      const std::uint64_t other = kPages - 1 - page;
      CHECK(opened.engine.reads().read(kBucket, "b", page * kPageSpan + shift, low).ok());
      CHECK(opened.engine.reads().read(kBucket, "b", other * kPageSpan + shift, high).ok());
      // Of the last page the range has one byte.
      CHECK((page == 0 && shift > 0 ? low[0] == high[0] : low == high));
    }
  }
  stop = true;
  writer.join();
  CHECK(rounds > 0);
  // A range is looked at as far as it could be shown page by page, and then pages are put in place.
  CHECK(opened.engine.largest_hold() <= (shift == 0 ? 1 : 2) * kMostKeys);
  opened.settle();
  CHECK(opened.findings() == "");
}

// Else each page that is taken back meanwhile would be one that has changed since it was copied.
TEST_CASE("cut_pages: what is cut off of an object goes before the others are copied") {
  StoreFixture fixture(roomy_format());
  Opened opened(fixture);
  constexpr std::uint64_t kPages = 600;
  opened.make("a", kPages);
  const core::CollectionRecord collection =
      core::decode_collection(
          *opened.engine.own_commits().get(core::collection_key(kBucket)).value())
          .value();
  const std::string key = collection.key_of("a");
  const core::RecordShape& shape = opened.engine.shape().record;
  core::ObjectRecord object =
      core::decode_object(*opened.engine.own_commits().get(key).value(), shape).value();
  // The background is not told.
  object.cuts = {{10, 20}, {300, 310}};
  const auto fill = [&](core::LogRecord& record) -> Status {
    record.images.push_back({key, core::encode_object(object, shape)});
    record.images.push_back({core::cut_key(object.body), core::encode_cuts(object.cuts)});
    return {};
  };
  REQUIRE(opened.engine.own_commits().commit_internal(fill).ok());
  REQUIRE(opened.pages() == kPages);
  opened.must([](Transaction& t) { t.clone(kBucket, "a", kBucket, "b"); });
  CHECK_FALSE(opened.engine.own_commits().get(core::cut_key(object.body)).value().has_value());
  CHECK(opened.pages() == 2 * (kPages - 20));
  CHECK(opened.engine.reads().stat(kBucket, "b")->extents == kPages - 20);
  CHECK(opened.findings() == "");
}

// 20,000 of them between pages that are there: what is taken back, or copied, page by page has to
// get past them, and no transaction has met them before.
TEST_CASE("cut_pages: pages that were deleted are not walked over under the lock") {
  FormatOptions format = roomy_format();
  format.log_size = 16 << 20;
  StoreFixture fixture(format);
  RuntimeOptions options;
  options.memtable_size = 64 << 20;
  Opened opened(fixture, options);
  constexpr std::uint64_t kFirst = 2'000;
  constexpr std::uint64_t kGap = 20'000;
  constexpr std::uint64_t kLast = 100;
  opened.make("a", kFirst + kGap + kLast);
  opened.must([](Transaction& t) { t.zero(kBucket, "a", kFirst * kPageSpan, kGap * kPageSpan); });
  opened.settle();
  REQUIRE(opened.pages() == kFirst + kLast);
  REQUIRE(opened.checkpoints() == 0);  // all tombstones are there
  SECTION("what is removed") {
    opened.must([](Transaction& t) { t.remove(kBucket, "a"); });
    opened.settle();
    CHECK(opened.pages() == 0);
  }
  SECTION("what is cloned") {
    opened.must([](Transaction& t) { t.clone(kBucket, "a", kBucket, "b"); });
    CHECK(opened.pages() == 2 * (kFirst + kLast));
    CHECK(opened.engine.reads().stat(kBucket, "b")->extents == kFirst + kLast);
  }
  // Such a walk ends, and a checkpoint takes them all away.
  CHECK(opened.checkpoints() == 1);
  CHECK(opened.engine.largest_hold() >= kMostDeleted);
  CHECK(opened.engine.largest_hold() <= kMostDeleted + kMostKeys);
  CHECK(opened.findings() == "");
}

TEST_CASE("cut_pages: names that were deleted, or go to another collection, are walked elsewhere") {
  StoreFixture fixture(roomy_format());
  Opened opened(fixture);
  constexpr int kNames = 24'000;
  opened.must([](Transaction& t) {
    for (const char* name : {"many", "to", "further"}) t.create_collection(name);
  });
  for (int name = 0; name < kNames;) {
    opened.must([&](Transaction& t) {
      for (int i = 0; i < 2000; ++i, ++name) t.touch("many", "n" + std::to_string(100'000 + name));
    });
  }
  SECTION("deleted ones") {
    opened.must([](Transaction& t) { t.touch("many", "o"); });
    for (int name = 0; name < kNames; name += 2000) {
      opened.must([&](Transaction& t) {
        t.remove_range("many", "n" + std::to_string(100'000 + name),
                       "n" + std::to_string(102'000 + name));
      });
    }
    REQUIRE(opened.checkpoints() == 0);  // all tombstones are there
    Transaction t;
    t.remove_collection("many");
    CHECK(code_of(opened.engine.commit(std::move(t))) == ErrorCode::kNotEmpty);
    CHECK(opened.checkpoints() == 1);
    CHECK(opened.engine.largest_hold() <= kMostDeleted + 2 * kMostKeys);
  }
  SECTION("split twice") {
    opened.must([](Transaction& t) {
      t.split_collection("many", "n", "to");
      t.remove("to", "n100007");
      t.split_collection("to", "n1", "further");
    });
    CHECK(opened.engine.reads().collection("further")->objects == kNames - 1);
    CHECK(opened.engine.reads().collection("to")->objects == 0);
    CHECK(opened.engine.largest_hold() <= 3 * kMostKeys);
  }
  CHECK(opened.findings() == "");
}

// F12 of core/check/fsck_check.h.
TEST_CASE("cut_pages: fsck finds pages that nobody takes back, and marks on those that are shown") {
  StoreFixture fixture(roomy_format());
  Opened opened(fixture);
  opened.make("a", 5);
  const core::CollectionRecord collection =
      core::decode_collection(
          *opened.engine.own_commits().get(core::collection_key(kBucket)).value())
          .value();
  const std::string key = collection.key_of("a");
  const core::RecordShape& shape = opened.engine.shape().record;
  core::ObjectRecord object =
      core::decode_object(*opened.engine.own_commits().get(key).value(), shape).value();
  REQUIRE(object.body != 0);
  const auto write = [&](const core::PageCuts& cuts, const core::PageCuts& marks) {
    object.cuts = cuts;
    const auto fill = [&](core::LogRecord& record) -> Status {
      record.images.push_back({key, core::encode_object(object, shape)});
      std::optional<std::string> value;
      if (!marks.empty()) value = core::encode_cuts(marks);
      record.images.push_back({core::cut_key(object.body), std::move(value)});
      return {};
    };
    REQUIRE(opened.engine.own_commits().commit_internal(fill).ok());
    return opened.findings();
  };
  CHECK(write({{1, 3}}, {{1, 3}}) == "");
  CHECK(write({{1, 8}}, {{1, 5}}) == "");
  const std::string lost = write({{1, 4}}, {{2, 4}});
  CHECK(lost.find("was cut off, and is taken back by nobody") != std::string::npos);
  const std::string shown = write({{1, 2}}, {{1, 3}});
  CHECK(shown.find("object default/a: more pages are marked than cut off") != std::string::npos);
  CHECK(write({{1, 3}}, {{1, 3}}) == "");
}

// Where the bytes are that an object holds, none next to another.
struct Sparse {
  std::uint64_t size = 0;
  std::map<std::uint64_t, char> bytes;

  void cut(std::uint64_t from, std::uint64_t end) {
    bytes.erase(bytes.lower_bound(from), bytes.lower_bound(end));
  }
  bool operator==(const Sparse&) const = default;
};

Sparse read_back(core::Engine& engine, const std::string& name) {
  Sparse found;
  found.size = engine.reads().stat(kBucket, name)->size;
  const auto ranges = engine.reads().extents(kBucket, name, {0, kMaxObjectSize}).value();
  for (const ByteRange& range : ranges) {
    CHECK(range.length == 1);
    Bytes byte(1);
    REQUIRE(engine.reads().read(kBucket, name, range.offset, byte).value() == 1);
    found.bytes[range.offset] = static_cast<char>(byte[0]);
  }
  return found;
}

// Bytes where there may be none, or some that are gone.
void check_some(core::Engine& engine, const std::string& name, const Sparse& object, io::Rng& rng) {
  if (object.size == 0) return;
  for (int i = 0; i < 10; ++i) {
    std::uint64_t at = rng.below(object.size);
    if (rng.chance(1, 2)) at = at / kPageSpan * kPageSpan;
    Bytes read(1000, std::byte{7});
    const std::uint64_t length = engine.reads().read(kBucket, name, at, read).value();
    REQUIRE(length == std::min<std::uint64_t>(1000, object.size - at));
    std::string expected(length, '\0');
    for (auto byte = object.bytes.lower_bound(at);
         byte != object.bytes.end() && byte->first < at + length; ++byte) {
      expected[byte->first - at] = byte->second;
    }
    REQUIRE(std::string(as_text(ByteView(read).first(length))) == expected);
  }
}

TEST_CASE("cut_pages: random holes and writes match the model, through reopenings",
          "[one-thread]") {
  const std::uint64_t seed = GENERATE(range(1, kThinned == 1 ? 5 : 3));
  CAPTURE(seed);
  io::Rng rng(seed);
  StoreFixture fixture(roomy_format());
  std::map<std::string, Sparse> model;
  std::optional<Opened> opened;
  // Ranges of more pages are copied before, as those of thousands are.
  const std::uint64_t ranges_at_once = seed % 2 == 0 ? 2 : kMaxClonedPages;
  opened.emplace(fixture, RuntimeOptions{}, ranges_at_once);
  constexpr std::uint64_t kPages = 400;
  for (int step = 0; step < 150; ++step) {
    CAPTURE(step);
    opened->must([&](Transaction& t) {
      for (std::uint64_t i = 1 + rng.below(3); i > 0; --i) {
        const std::string name(1, static_cast<char>('a' + rng.below(3)));
        const bool there = model.count(name) > 0;
        Sparse& object = model[name];
        std::uint64_t at = rng.below(kPages) * kPageSpan + rng.below(2) * 10;
        switch (rng.below(12)) {
          case 0:
          case 1:
          case 2:  // something in many pages
            for (std::uint64_t n = 1 + rng.below(300); n > 0; --n) {
              const char byte = static_cast<char>('a' + rng.below(26));
              t.write(kBucket, name, at, as_bytes(std::string_view(&byte, 1)));
              object.bytes[at] = byte;
              object.size = std::max(object.size, at + 1);
              at += kPageSpan;
              if (at >= kPages * kPageSpan) at %= kPageSpan;
            }
            break;
          case 3:
          case 4:
          case 5: {
            const std::uint64_t length = 1 + rng.below(300 * kPageSpan);
            t.zero(kBucket, name, at, length);
            object.cut(at, at + length);
            object.size = std::max(object.size, at + length);
            break;
          }
          case 6:
          case 7:
            t.truncate(kBucket, name, at);
            object.cut(at, ~std::uint64_t{0});
            object.size = at;
            if (!there) model.erase(name);
            break;
          case 8: {
            const std::string to(1, static_cast<char>('a' + rng.below(3)));
            t.touch(kBucket, name);
            if (to == name) break;
            t.clone(kBucket, name, kBucket, to);
            const Sparse copy = object;
            model[to] = copy;
            break;
          }
          case 9:
          case 10: {
            const std::string to(1, static_cast<char>('a' + rng.below(3)));
            t.touch(kBucket, name);
            if (object.size == 0) break;
            std::uint64_t from = rng.below(object.size);
            from -= from % kPageSpan;
            const std::uint64_t length =
                1 + rng.below(std::min(object.size - from, 300 * kPageSpan));
            const std::uint64_t apart = from > at ? from - at : at - from;
            if (to == name && apart < length) break;
            t.clone_range(kBucket, name, from, length, kBucket, to, at);
            std::map<std::uint64_t, char> shown;
            for (const auto& [byte, value] : object.bytes) {
              if (byte >= from && byte < from + length) shown[byte - from + at] = value;
            }
            Sparse& target = model[to];
            target.cut(at, at + length);
            target.bytes.insert(shown.begin(), shown.end());
            target.size = std::max(target.size, at + length);
            break;
          }
          default:
            t.remove(kBucket, name);
            model.erase(name);
        }
      }
    });
    for (const auto& [name, object] : model) check_some(opened->engine, name, object, rng);
    if (rng.chance(1, 10)) REQUIRE(opened->engine.checkpoint().ok());
    if (rng.chance(1, 10)) {
      opened.reset();
      opened.emplace(fixture, RuntimeOptions{}, ranges_at_once);
    }
    if (rng.chance(1, 5)) REQUIRE(opened->findings() == "");
    for (const char* name : {"a", "b", "c"}) {
      CAPTURE(name);
      REQUIRE(opened->engine.reads().exists(kBucket, name).value() == (model.count(name) > 0));
      if (model.count(name) > 0) REQUIRE((read_back(opened->engine, name) == model[name]));
    }
    REQUIRE(opened->engine.largest_hold() <= kMostKeys);
  }
  opened->settle();
  REQUIRE(opened->findings() == "");
  std::uint64_t pages = 0;
  for (const auto& [name, object] : model) {
    std::uint64_t last = ~std::uint64_t{0};
    for (const auto& [at, byte] : object.bytes) {
      if (at / kPageSpan != last) ++pages;
      last = at / kPageSpan;
    }
  }
  CHECK(opened->pages() <= pages);  // page 0 may stand in the record
}

}  // namespace
}  // namespace hexad::testing
