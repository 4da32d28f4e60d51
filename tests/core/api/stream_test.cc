// Objects written and read piece by piece, as users do it. The parts: stream_writer_test.cc,
// stream_reader_test.cc.
#include "core/api/stream.h"

#include <catch2/catch.hpp>
#include <utility>

#include "tests/core/stream_support.h"

namespace hexad::testing {
namespace {

TEST_CASE("stream: objects of every size are invisible until they are published, then complete") {
  StoreFixture fixture(stream_format());
  std::optional<Store> store = fixture.open();
  const std::vector<std::uint64_t> sizes = {0,       1,       256,     257,      4096,
                                            1048575, 1048576, 1048577, 9'000'000};
  for (const std::uint64_t size : sizes) {
    const std::string name = "s" + std::to_string(size);
    CAPTURE(size);
    const std::unique_ptr<ObjectWriter> writer = writer_of(*store, name);
    REQUIRE(message_of(write_noise(*writer, size, size)) == "");
    REQUIRE(writer->set_attr("kind", "streamed").ok());
    REQUIRE(writer->size() == size);
    REQUIRE(code_of(store->get(kBucket, name)) == ErrorCode::kNotFound);
    const Result<Lsn> lsn = writer->commit();
    REQUIRE(message_of(lsn.status()) == "");
    REQUIRE(store->stat(kBucket, name)->version == *lsn);
    REQUIRE(code_of(writer->append(as_bytes("x"))) == ErrorCode::kClosed);
    REQUIRE(code_of(writer->commit()) == ErrorCode::kClosed);
  }
  for (int round = 0; round < 2; ++round) {
    for (const std::uint64_t size : sizes) {
      CAPTURE(size, round);
      const std::string name = "s" + std::to_string(size);
      REQUIRE(reads_noise(*store, name, size, size));
      REQUIRE(store->attributes(kBucket, name)->at("kind") == "streamed");
    }
    REQUIRE(deep_findings(*store) == "");
    store.reset();
    store = fixture.open();
  }
}

TEST_CASE("stream: what was written to one store is not published in another") {
  StoreFixture fixture(stream_format());
  StoreFixture elsewhere(stream_format());
  Store store = fixture.open();
  Store other = elsewhere.open();
  const std::unique_ptr<ObjectWriter> writer = writer_of(other, "a");
  REQUIRE(write_noise(*writer, 3'000'000, 1).ok());
  Transaction t;
  t.touch(kBucket, "b");
  t.publish(*writer);
  const Result<Lsn> committed = store.commit(std::move(t));
  REQUIRE(code_of(committed) == ErrorCode::kInvalidArgument);
  REQUIRE(committed.status().error().message.find("another store") != std::string::npos);
  for (Store* one : {&store, &other}) {
    REQUIRE(code_of(one->get(kBucket, "a")) == ErrorCode::kNotFound);
    REQUIRE(code_of(one->get(kBucket, "b")) == ErrorCode::kNotFound);
    REQUIRE(deep_findings(*one) == "");
  }
}

TEST_CASE("stream: a transaction may go after the store whose writer it would have published") {
  StoreFixture fixture(stream_format());
  std::optional<Store> store = fixture.open();
  std::unique_ptr<ObjectWriter> writer = writer_of(*store, "a");
  REQUIRE(write_noise(*writer, 3'000'000, 1).ok());
  std::optional<Transaction> t(std::in_place);
  t->publish(*writer);
  writer.reset();
  store.reset();
  SECTION("and gives back nothing") { t.reset(); }
  SECTION("and is refused by the next one") {
    store = fixture.open();
    REQUIRE(code_of(store->commit(*std::exchange(t, {}))) == ErrorCode::kInvalidArgument);
    store.reset();
  }
  store = fixture.open();
  REQUIRE(code_of(store->get(kBucket, "a")) == ErrorCode::kNotFound);
  REQUIRE(deep_findings(*store) == "");
}

TEST_CASE("stream: a published object is an object like any other") {
  StoreFixture fixture(stream_format());
  Store store = fixture.open();
  const std::unique_ptr<ObjectWriter> writer = writer_of(store, "a");
  const std::string value = noise(2'500'000, 1);
  REQUIRE(writer->append(as_bytes(value)).ok());
  REQUIRE(writer->commit().ok());
  Transaction t;
  t.write(kBucket, "a", 1'000'000, as_bytes("overwritten"));
  t.append(kBucket, "a", as_bytes("tail"));
  t.truncate(kBucket, "a", 2'500'002);
  t.rename(kBucket, "a", kBucket, "b");
  REQUIRE(store.commit(std::move(t)).ok());
  std::string expected = value;
  expected.replace(1'000'000, 11, "overwritten");
  REQUIRE((get(store, "b") == expected + "ta"));
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
