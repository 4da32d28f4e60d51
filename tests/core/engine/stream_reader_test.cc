#include "core/engine/stream_reader.h"

#include <catch2/catch.hpp>

#include "alloc/device_layout.h"
#include "core/opening/opening.h"
#include "tests/core/stream_support.h"

namespace hexad::testing {
namespace {

TEST_CASE("stream_reader: a reader keeps its version while the object is overwritten and deleted") {
  StoreFixture fixture(stream_format());
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  const std::string old = noise(3'000'000, 1);
  REQUIRE(put(store, "a", old).ok());
  Result<std::unique_ptr<ObjectReader>> reader = store.open_reader(kBucket, "a");
  REQUIRE(reader.ok());
  Bytes first(1'000'000);
  REQUIRE(*(*reader)->read(first) == first.size());
  for (int i = 0; i < 20; ++i) {
    REQUIRE(put(store, "a", noise(3'000'000, 100 + i)).ok());
    if (i == 5) REQUIRE(remove(store, "a").ok());
    if (i % 3 == 0) REQUIRE(store.checkpoint().ok());
  }
  REQUIRE(remove(store, "a").ok());
  // Everything that may be reused is.
  for (int i = 0; i < 40; ++i) REQUIRE(put(store, "b", noise(3'000'000, 200 + i)).ok());
  Bytes rest(2'500'000);
  REQUIRE(*(*reader)->read(rest) == 2'000'000);
  REQUIRE((as_text(first) == old.substr(0, 1'000'000)));
  REQUIRE((as_text(ByteView(rest).first(2'000'000)) == old.substr(1'000'000)));
  (*reader)->seek(17);
  REQUIRE(*(*reader)->read(first) == first.size());
  REQUIRE((as_text(first) == old.substr(17, 1'000'000)));
  reader->reset();
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE(
    "stream_reader: a reader that stays open does not keep checkpoints from growing the index") {
  StoreFixture fixture(stream_format());
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  const std::string old = noise(3'000'000, 1);
  REQUIRE(put(store, "a", old).ok());
  REQUIRE(store.checkpoint().ok());
  Result<std::unique_ptr<ObjectReader>> reader = store.open_reader(kBucket, "a");
  REQUIRE(reader.ok());
  REQUIRE(remove(store, "a").ok());
  // Some 16 MiB of metadata: more than the index is made with.
  for (int i = 0; i < 300; ++i) {
    Transaction t;
    for (int j = 0; j < 20; ++j) {
      const std::string name = std::to_string(i) + "/" + std::to_string(j);
      t.touch(kBucket, name);
      t.set_attr(kBucket, name, "large", noise(2500, i * 20 + j));
    }
    REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
  }
  REQUIRE(store.checkpoint().ok());
  Bytes all(old.size());
  REQUIRE(*(*reader)->read(all) == all.size());
  REQUIRE((as_text(all) == old));
}

// A reader keeps a copy of the pages of its object. Here it has room for none of them, as with an
// object of more than 40 GiB; the smallest stream_buffer that a user may ask for would need 2.5
// GiB.
TEST_CASE("stream_reader: an object with more pages than fit is read until it changes") {
  StoreFixture fixture(stream_format());
  constexpr std::uint64_t kSize = 5'000'000;
  {
    Store store = fixture.open();
    const std::unique_ptr<ObjectWriter> writer = writer_of(store, "x");
    REQUIRE(message_of(write_noise(*writer, kSize, 3)) == "");
    REQUIRE(writer->commit().ok());
    REQUIRE(store.close().ok());
  }
  Result<core::StoreParts> parts = core::open_parts(fixture.pool, {}, fixture.system);
  REQUIRE(parts.ok());
  parts->options.stream_buffer = 1;
  core::Engine engine(std::move(parts).value());
  REQUIRE(engine.start().ok());
  const std::string whole(as_text(*engine.reads().get(kBucket, "x")));
  const auto commit = [&](Transaction&& t) { REQUIRE(engine.commit(std::move(t)).ok()); };
  const auto open = [&] {
    Result<std::unique_ptr<core::StreamReader>> reader =
        core::StreamReader::open(engine, kBucket, "x");
    REQUIRE(message_of(reader.status()) == "");
    return std::move(reader).value();
  };

  const auto reader = open();
  Bytes into(700'000);
  std::string read;
  for (int i = 0;; ++i) {
    // Other changes and checkpoints do not matter.
    if (i == 2) {
      Transaction other;
      other.put(kBucket, "y", as_bytes("y"));
      commit(std::move(other));
    }
    if (i == 4) REQUIRE(engine.checkpoint().ok());
    const Result<std::uint64_t> length = reader->read(into);
    REQUIRE(message_of(length.status()) == "");
    if (*length == 0) break;
    read += as_text(ByteView(into).first(*length));
  }
  REQUIRE((read == whole));
  reader->seek(1'234'567);
  REQUIRE(*reader->read(into) == into.size());
  REQUIRE((as_text(into) == whole.substr(1'234'567, into.size())));

  const auto gone = open();
  const auto changed = open();
  REQUIRE(changed->read(into).ok());
  Transaction change;
  change.write(kBucket, "x", 4'000'000, as_bytes("changed"));
  commit(std::move(change));
  REQUIRE(code_of(changed->read(into)) == ErrorCode::kConflict);
  REQUIRE(message_of(changed->read(into).status()).find("x") != std::string::npos);
  Transaction removal;
  removal.remove(kBucket, "x");
  commit(std::move(removal));
  REQUIRE(code_of(gone->read(into)) == ErrorCode::kConflict);
  REQUIRE(engine.close().ok());
}

TEST_CASE("stream_reader: it ends where the object does, and may be sent anywhere") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string value = noise(1'100'000, 1);
  Transaction t;
  t.put(kBucket, "a", value);
  t.set_attr(kBucket, "a", "k", "v");
  REQUIRE(store.commit(std::move(t)).ok());
  const auto reader = store.open_reader(kBucket, "a").value();
  REQUIRE(reader->stat().size == value.size());
  REQUIRE(reader->attributes() == Attributes{{"k", "v"}});
  const auto read = [&](std::size_t size) {
    Bytes into(size);
    const std::uint64_t length = reader->read(into).value();
    return std::string(as_text(ByteView(into).first(length)));
  };
  REQUIRE(read(0).empty());
  REQUIRE((read(value.size()) == value));
  REQUIRE(read(1).empty());
  for (const std::uint64_t at :
       {std::uint64_t{0}, std::uint64_t{1'048'575}, std::uint64_t{value.size() - 1},
        std::uint64_t{value.size()}, std::uint64_t{value.size() + 1}, ~std::uint64_t{0}}) {
    CAPTURE(at);
    reader->seek(at);
    REQUIRE((read(10) == (at < value.size() ? value.substr(at, 10) : "")));
  }
}

TEST_CASE("stream_reader: an object that is not there cannot be opened, one of nothing can") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(code_of(store.open_reader(kBucket, "a")) == ErrorCode::kNotFound);
  REQUIRE(code_of(store.open_reader("none", "a")) == ErrorCode::kNotFound);
  REQUIRE(put(store, "a", "").ok());
  const auto reader = store.open_reader(kBucket, "a").value();
  Bytes into(10);
  REQUIRE(reader->read(into).value() == 0);
}

TEST_CASE("stream_reader: holes are read as zeros, also where a page has no key") {
  StoreFixture fixture;
  Store store = fixture.open();
  Transaction t;
  t.write(kBucket, "a", 3 * core::kPageSpan + 5, as_bytes("tail"));
  REQUIRE(store.commit(std::move(t)).ok());
  const auto reader = store.open_reader(kBucket, "a").value();
  Bytes into(3 * core::kPageSpan + 100, std::byte{0xee});
  REQUIRE(reader->read(into).value() == 3 * core::kPageSpan + 9);
  REQUIRE(is_zero(ByteView(into).first(3 * core::kPageSpan + 5)));
  REQUIRE(as_text(ByteView(into).subspan(3 * core::kPageSpan + 5, 4)) == "tail");
}

TEST_CASE("stream_reader: what cannot be read is said, and the position stays") {
  StoreFixture fixture;
  const std::string value = noise(2'000'000, 1);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "a", value).ok());
    REQUIRE(store.close().ok());
  }
  RuntimeOptions options;
  options.cache_size = 0;
  Store store = fixture.open(Access::kReadOnly, options);
  const auto reader = store.open_reader(kBucket, "a").value();
  Bytes into(1'500'000);
  std::vector<Bytes> saved;
  for (const std::size_t device : {0, 1, 2}) {
    saved.push_back(read_media(*fixture.media(device)));
    // Everything behind label, roots and log.
    const std::uint64_t slabs = alloc::kHeadEnd + 1_MiB;
    const std::uint64_t end = alloc::kHeadEnd + alloc::room_of(saved.back().size());
    fixture.media(device)->write(slabs, Bytes(end - slabs, std::byte{0x5a}));
  }
  const Result<std::uint64_t> failed = reader->read(into);
  REQUIRE(code_of(failed) == ErrorCode::kUnavailable);
  REQUIRE_THAT(failed.error().message, Catch::StartsWith("object default/a"));
  for (const std::size_t device : {0, 1, 2}) fixture.media(device)->write(0, saved[device]);
  REQUIRE(reader->read(into).value() == into.size());
  REQUIRE((as_text(into) == std::string_view(value).substr(0, into.size())));
}

}  // namespace
}  // namespace hexad::testing
