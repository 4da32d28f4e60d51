// Single operations at their edges: sizes around what the engine treats differently, far offsets,
// names, guards, several threads on one object.
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "io/executor.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

std::string read_at(Store& store, std::string_view name, std::uint64_t offset, std::size_t length) {
  Bytes into(length);
  const Result<std::uint64_t> read = store.read(kBucket, name, offset, into);
  if (!read.ok()) return "error: " + read.error().to_string();
  return std::string(as_text(ByteView(into).first(*read)));
}

// The object is so now and after closing and opening again, and nothing is wrong.
void require_lasting(StoreFixture& fixture, std::optional<Store>& store, std::string_view name,
                     const std::string& expected) {
  REQUIRE((get(*store, name) == expected));
  REQUIRE(store->close().ok());
  store.reset();
  store = fixture.open();
  REQUIRE((get(*store, name) == expected));
  REQUIRE(deep_findings(*store) == "");
}

TEST_CASE("store: objects of every size around inline, block and page limits come back") {
  FormatOptions format = small_format();
  format.device_size = 64_MiB;
  StoreFixture fixture(format);
  const std::vector<std::uint64_t> sizes = {
      0,     1,     255,     256,     257,     4095,    4096,    4097,    16383,  16384,
      16385, 65536, 1048575, 1048576, 1048577, 2097151, 2097152, 2097153, 5000000};
  std::optional<Store> store = fixture.open();
  for (const std::uint64_t size : sizes) {
    CAPTURE(size);
    REQUIRE(put(*store, "n" + std::to_string(size), noise(size, size)).ok());
    REQUIRE(put(*store, "z" + std::to_string(size), std::string(size, '\0')).ok());
  }
  for (int round = 0; round < 2; ++round) {
    for (const std::uint64_t size : sizes) {
      CAPTURE(size, round);
      REQUIRE((get(*store, "n" + std::to_string(size)) == noise(size, size)));
      REQUIRE((get(*store, "z" + std::to_string(size)) == std::string(size, '\0')));
      REQUIRE(read_at(*store, "n" + std::to_string(size), size, 10) == "");
      REQUIRE(read_at(*store, "n" + std::to_string(size), size + 5, 10) == "");
      if (size > 0) {
        REQUIRE(read_at(*store, "n" + std::to_string(size), size - 1, 10) ==
                noise(size, size).substr(size - 1));
      }
    }
    REQUIRE(deep_findings(*store) == "");
    REQUIRE(store->close().ok());
    store.reset();
    store = fixture.open();
  }
}

TEST_CASE("store: writes far apart read back, with zeros between them, up to the largest offset") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const std::vector<std::uint64_t> offsets = {(1ULL << 31) - 3, (1ULL << 32) - 3,
                                              (1ULL << 32) + (1 << 20) - 2, (1ULL << 40) - 1,
                                              kMaxObjectSize - 7};
  for (const std::uint64_t offset : offsets) {
    CAPTURE(offset);
    Transaction t;
    t.write(kBucket, "sparse", offset, as_bytes("edge" + std::to_string(offset % 1000)));
    REQUIRE(message_of(store->commit(std::move(t)).status()) == "");
  }
  for (int round = 0; round < 2; ++round) {
    for (const std::uint64_t offset : offsets) {
      CAPTURE(offset);
      const std::string bytes = "edge" + std::to_string(offset % 1000);
      REQUIRE(read_at(*store, "sparse", offset, bytes.size()) == bytes);
      REQUIRE(read_at(*store, "sparse", offset - 5, 7) ==
              std::string(5, '\0') + bytes.substr(0, 2));
    }
    REQUIRE(read_at(*store, "sparse", 0, 100) == std::string(100, '\0'));
    REQUIRE(store->stat(kBucket, "sparse")->size == kMaxObjectSize);
    REQUIRE(deep_findings(*store) == "");
    store.reset();
    store = fixture.open();
  }

  // A range over millions of empty pages costs nothing.
  Transaction cut;
  cut.zero(kBucket, "sparse", 1 << 20, 1ULL << 43);
  cut.truncate(kBucket, "sparse", (1ULL << 43) + 5);
  REQUIRE(store->commit(std::move(cut)).ok());
  REQUIRE(store->stat(kBucket, "sparse")->size == (1ULL << 43) + 5);
  REQUIRE(store->stat(kBucket, "sparse")->extents == 0);
  REQUIRE(deep_findings(*store) == "");
}

TEST_CASE("store: nothing reaches behind the largest object") {
  StoreFixture fixture;
  Store store = fixture.open();
  const auto refused = [&](Transaction t) { return code_of(store.commit(std::move(t))); };
  {
    Transaction t;
    t.truncate(kBucket, "full", kMaxObjectSize);
    t.write(kBucket, "full", kMaxObjectSize - 1, as_bytes("x"));
    REQUIRE(store.commit(std::move(t)).ok());
  }
  {
    Transaction t;
    t.append(kBucket, "full", as_bytes("y"));
    REQUIRE(refused(std::move(t)) == ErrorCode::kTooBig);
  }
  {
    Transaction t;
    t.write(kBucket, "full", kMaxObjectSize, as_bytes("y"));
    REQUIRE(refused(std::move(t)) == ErrorCode::kTooBig);
  }
  {
    Transaction t;
    t.zero(kBucket, "full", 1, kMaxObjectSize);
    REQUIRE(refused(std::move(t)) == ErrorCode::kTooBig);
  }
  {
    Transaction t;
    t.truncate(kBucket, "full", kMaxObjectSize + 1);
    REQUIRE(refused(std::move(t)) == ErrorCode::kTooBig);
  }
  REQUIRE(read_at(store, "full", kMaxObjectSize - 1, 5) == "x");
}

TEST_CASE("store: an object that is larger than memory is refused by get, and read in ranges") {
  StoreFixture fixture;
  Store store = fixture.open();
  Transaction t;
  t.write(kBucket, "huge", kMaxObjectSize - 3, as_bytes("end"));
  REQUIRE(store.commit(std::move(t)).ok());
  REQUIRE(code_of(store.get(kBucket, "huge")) == ErrorCode::kTooBig);
  REQUIRE(read_at(store, "huge", kMaxObjectSize - 3, 10) == "end");
}

TEST_CASE("store: small writes over one another in a page full of small writes") {
  // The page holds as many inline bytes as it may; a write onto one of them is then stored as a
  // blob, and once more as it is planned again.
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  std::string expected(64 << 10, '\0');
  io::Rng rng(3);
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const std::uint64_t offset = i < 40 ? i * 1000 : rng.below(40) * 1000 + rng.below(50);
    const std::string bytes = noise(200, i);
    Transaction t;
    t.write(kBucket, "page", offset, as_bytes(bytes));
    REQUIRE(message_of(store->commit(std::move(t)).status()) == "");
    expected.replace(offset, bytes.size(), bytes);
  }
  expected.resize(store->stat(kBucket, "page")->size);
  require_lasting(fixture, store, "page", expected);
}

TEST_CASE("store: a page cut into thousands of pieces stays readable") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  std::string expected = noise(1 << 20, 1);
  REQUIRE(put(*store, "cut", expected).ok());
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    Transaction t;
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t offset = (round * 100 + i) * 150;
      t.zero(kBucket, "cut", offset, 1);
      expected[offset] = '\0';
    }
    REQUIRE(message_of(store->commit(std::move(t)).status()) == "");
    REQUIRE(read_at(*store, "cut", 149, 3) == expected.substr(149, 3));
  }
  require_lasting(fixture, store, "cut", expected);
}

TEST_CASE("store: one byte at a time, thousands of times, all over a page") {
  StoreFixture fixture;
  Store store = fixture.open();
  std::string expected = noise(1 << 20, 1);
  REQUIRE(put(store, "bytes", expected).ok());
  io::Rng rng(5);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    Transaction t;
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t offset = rng.below(1 << 20);
      const char byte = static_cast<char>(rng.next());
      t.write(kBucket, "bytes", offset, as_bytes(std::string(1, byte)));
      expected[offset] = byte;
    }
    REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
  }
  REQUIRE((get(store, "bytes") == expected));
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("store: later ops of a transaction see earlier ones, replaced data takes no space") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string first = noise(300000, 1);
  const std::string second = noise(200000, 2);
  const std::uint64_t free = unused(store);
  {
    Transaction t;
    t.put(kBucket, "twice", first);
    t.append(kBucket, "twice", as_bytes("tail"));
    t.put(kBucket, "twice", second);
    t.append(kBucket, "twice", as_bytes("end"));
    t.append(kBucket, "twice", as_bytes(noise(5000, 3)));
    REQUIRE(store.commit(std::move(t)).ok());
  }
  REQUIRE((get(store, "twice") == second + "end" + noise(5000, 3)));
  REQUIRE(deep_findings(store) == "");
  {
    Transaction t;
    t.put(kBucket, "gone", first);
    t.remove(kBucket, "gone");
    t.remove(kBucket, "twice");
    REQUIRE(store.commit(std::move(t)).ok());
  }
  REQUIRE(code_of(store.get(kBucket, "gone")) == ErrorCode::kNotFound);
  REQUIRE(unused(store) == free);
}

TEST_CASE("store: rename onto a name that is removed before, in a ring, and into another bucket") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const std::string a = noise(2'500'000, 1);
  const std::string b = noise(3000, 2);
  REQUIRE(put(*store, "a", a).ok());
  REQUIRE(put(*store, "b", b).ok());
  {
    Transaction t;
    t.set_attr(kBucket, "a", "colour", "red");
    t.create_collection("other");
    REQUIRE(store->commit(std::move(t)).ok());
  }
  {
    Transaction t;
    t.rename(kBucket, "a", kBucket, "b");
    REQUIRE(code_of(store->commit(std::move(t))) == ErrorCode::kAlreadyExists);
  }
  {  // a <-> b by way of a third name
    Transaction t;
    t.rename(kBucket, "a", kBucket, "c");
    t.rename(kBucket, "b", kBucket, "a");
    t.rename(kBucket, "c", kBucket, "b");
    REQUIRE(store->commit(std::move(t)).ok());
  }
  REQUIRE((get(*store, "b") == a));
  REQUIRE((get(*store, "a") == b));
  REQUIRE(code_of(store->get(kBucket, "c")) == ErrorCode::kNotFound);
  {
    Transaction t;
    t.remove(kBucket, "a");
    t.rename(kBucket, "b", kBucket, "a");
    t.put(kBucket, "b", "fresh");
    REQUIRE(store->commit(std::move(t)).ok());
  }
  REQUIRE((get(*store, "a") == a));
  REQUIRE(get(*store, "b") == "fresh");
  {
    Transaction t;
    t.rename(kBucket, "a", "other", "a");
    REQUIRE(store->commit(std::move(t)).ok());
  }
  for (int round = 0; round < 2; ++round) {
    REQUIRE((text_of(store->get("other", "a")) == a));
    REQUIRE(store->attributes("other", "a")->at("colour") == "red");
    REQUIRE(code_of(store->get(kBucket, "a")) == ErrorCode::kNotFound);
    REQUIRE(deep_findings(*store) == "");
    store.reset();
    store = fixture.open();
  }
  Transaction t;
  t.rename(kBucket, "b", "nowhere", "b");
  REQUIRE(code_of(store->commit(std::move(t))) == ErrorCode::kNotFound);
}

TEST_CASE("store: guards look at the state before the transaction and name the object") {
  StoreFixture fixture;
  Store store = fixture.open();
  const Result<Lsn> first = put(store, "a", "1");
  REQUIRE(first.ok());
  {
    Transaction t;
    t.remove(kBucket, "a");
    t.put(kBucket, "b", "2");
    t.expect_exists(kBucket, "a");
    t.expect_absent(kBucket, "b");
    t.expect_version(kBucket, "a", *first);
    REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
  }
  REQUIRE(code_of(store.get(kBucket, "a")) == ErrorCode::kNotFound);
  {
    Transaction t;
    t.put(kBucket, "c", "3");
    t.expect_absent(kBucket, "b");
    const Result<Lsn> result = store.commit(std::move(t));
    REQUIRE(code_of(result) == ErrorCode::kConflict);
    REQUIRE_THAT(result.error().message, Catch::Contains("default/b"));
  }
  REQUIRE(code_of(store.get(kBucket, "c")) == ErrorCode::kNotFound);
  {
    Transaction t;
    t.expect_absent("no such collection", "x");
    t.put(kBucket, "c", "3");
    REQUIRE(store.commit(std::move(t)).ok());
  }
}

TEST_CASE("store: names of 1024 bytes work, of 0 and 1025 bytes are refused without effect") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string longest(1024, 'x');
  {
    Transaction t;
    t.create_collection(longest);
    t.put(longest, longest, "value");
    REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
  }
  REQUIRE(text_of(store.get(longest, longest)) == "value");
  for (const std::string& bad : {std::string(), std::string(1025, 'x')}) {
    CAPTURE(bad.size());
    Transaction t;
    t.put(kBucket, "good", "value");
    t.put(kBucket, bad, "value");
    REQUIRE(code_of(store.commit(std::move(t))) == ErrorCode::kInvalidArgument);
    Transaction c;
    c.create_collection(bad);
    REQUIRE(code_of(store.commit(std::move(c))) == ErrorCode::kInvalidArgument);
    REQUIRE(code_of(store.get(kBucket, "good")) == ErrorCode::kNotFound);
    REQUIRE(code_of(store.get(kBucket, bad)).has_value());
    REQUIRE(code_of(store.get(bad, "x")).has_value());
    REQUIRE(code_of(store.open_writer(kBucket, bad)) == ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("store: too many attributes are refused as a whole") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "a", "1").ok());
  Transaction t;
  for (int i = 0; i < 70; ++i) t.set_attr(kBucket, "a", std::to_string(i), std::string(1000, 'v'));
  REQUIRE(code_of(store.commit(std::move(t))) == ErrorCode::kTooBig);
  REQUIRE(store.attributes(kBucket, "a")->empty());
}

TEST_CASE("store: a transaction beyond the limit is refused and names the writer") {
  StoreFixture fixture;
  RuntimeOptions runtime;
  runtime.max_transaction = 1_MiB;
  Store store = fixture.open(Access::kReadWrite, runtime);
  REQUIRE(put(store, "a", noise(1_MiB, 1)).ok());
  const Result<Lsn> result = put(store, "b", noise(1_MiB + 1, 1));
  REQUIRE(code_of(result) == ErrorCode::kTooBig);
  REQUIRE_THAT(result.error().to_string(), Catch::Contains("open_writer"));
}

TEST_CASE("store: after close nothing is committed any more") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "a", "1").ok());
    REQUIRE(store.close().ok());
    REQUIRE(store.close().ok());
    REQUIRE(code_of(put(store, "a", "2")) == ErrorCode::kClosed);
    REQUIRE(code_of(store.open_writer(kBucket, "b")) == ErrorCode::kClosed);
    REQUIRE(code_of(store.checkpoint()) == ErrorCode::kClosed);
  }
  Store store = fixture.open();
  REQUIRE(get(store, "a") == "1");
}

TEST_CASE("store: threads that append to one object lose nothing") {
  StoreFixture fixture;
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  constexpr int kThreads = 4;
  constexpr int kAppends = 60;
  std::vector<std::unique_ptr<io::Thread>> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.push_back(fixture.memory.executor().start("append", [&store, thread] {
      for (int i = 0; i < kAppends; ++i) {
        // Some inline, some not; each marks where it begins and ends.
        const std::string middle(i % 3 == 0 ? 700 : 20, static_cast<char>('a' + thread));
        Transaction t;
        t.append(kBucket, "log", as_bytes("<" + middle + ">"));
        HEXAD_ASSERT(store.commit(std::move(t)).ok());
      }
    }));
  }
  for (const auto& thread : threads) thread->join();
  const std::string log = get(store, "log");
  std::map<char, int> seen;
  for (std::size_t at = 0; at < log.size();) {
    REQUIRE(log[at] == '<');
    const std::size_t end = log.find('>', at);
    const std::string middle = log.substr(at + 1, end - at - 1);
    const int number = seen[middle[0]]++;
    REQUIRE(middle == std::string(number % 3 == 0 ? 700 : 20, middle[0]));
    at = end + 1;
  }
  REQUIRE(seen.size() == kThreads);
  for (const auto& [letter, count] : seen) REQUIRE(count == kAppends);
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
