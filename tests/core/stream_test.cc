// Objects written and read piece by piece.
#include "core/stream.h"

#include <catch2/catch.hpp>
#include <memory>

#include "core/opening.h"
#include "core/stream_reader.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr const char* kBucket = kDefaultCollection;

FormatOptions stream_format() {
  FormatOptions options = small_format();
  options.device_size = 64_MiB;
  return options;
}

// A log of 1 MiB takes records of some 200 KiB: beyond a few hundred pages a writer has to put the
// extents it holds aside.
constexpr std::uint64_t kSpillingSize = 130_MiB;

FormatOptions spilling_format() {
  FormatOptions options = small_format();
  options.device_size = 128_MiB;
  options.slab_size = 16_MiB;
  return options;
}

// Pieces of odd sizes.
Status write_noise(ObjectWriter& writer, std::uint64_t size, std::uint64_t seed) {
  io::Rng rng(seed);
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t piece = std::min<std::uint64_t>(size - done, 1 + rng.below(700'000));
    HEXAD_TRY(writer.append(as_bytes(noise(piece, seed + done))));
    done += piece;
  }
  return {};
}

bool reads_noise(Store& store, std::string_view name, std::uint64_t size, std::uint64_t seed) {
  Result<std::unique_ptr<ObjectReader>> reader = store.open_reader(kBucket, name);
  REQUIRE(message_of(reader.status()) == "");
  REQUIRE((*reader)->stat().size == size);
  io::Rng rng(seed);
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t piece = std::min<std::uint64_t>(size - done, 1 + rng.below(700'000));
    Bytes into(piece);
    const Result<std::uint64_t> read = (*reader)->read(into);
    REQUIRE(message_of(read.status()) == "");
    if (*read != piece || as_text(into) != noise(piece, seed + done)) return false;
    done += piece;
  }
  Bytes more(10);
  REQUIRE(*(*reader)->read(more) == 0);
  return true;
}

std::unique_ptr<ObjectWriter> writer_of(Store& store, std::string_view name) {
  Result<std::unique_ptr<ObjectWriter>> writer = store.open_writer(kBucket, name);
  REQUIRE(message_of(writer.status()) == "");
  return std::move(writer).value();
}

std::uint64_t available(Store& store) {
  REQUIRE(store.checkpoint().ok());
  const Result<SpaceUsage> space = store.space();
  REQUIRE(space.ok());
  return space->available;
}

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

TEST_CASE("stream: what an abandoned writer took comes back at once") {
  StoreFixture fixture(stream_format());
  Store store = fixture.open();
  REQUIRE(put(store, "other", noise(100'000, 1)).ok());
  const std::uint64_t before = available(store);
  for (int i = 0; i < 10; ++i) {
    const std::unique_ptr<ObjectWriter> writer = writer_of(store, "abandoned");
    REQUIRE(write_noise(*writer, 20'000'000, 1).ok());
  }
  REQUIRE(available(store) == before);
  REQUIRE(code_of(store.get(kBucket, "abandoned")) == ErrorCode::kNotFound);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("stream: what a writer took before a crash comes back at the next opening") {
  StoreFixture fixture(stream_format());
  std::uint64_t before = 0;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "other", noise(100'000, 1)).ok());
    before = available(store);
  }
  {
    // Its process is gone: what the writer's destructor would do is undone.
    std::map<std::string, Bytes> media;
    {
      Store store = fixture.open();
      const std::unique_ptr<ObjectWriter> writer = writer_of(store, "abandoned");
      REQUIRE(write_noise(*writer, 20'000'000, 1).ok());
      for (const std::string& path : fixture.pool.devices) {
        media[path] = read_media(*fixture.memory.media(path));
      }
    }
    for (const auto& [path, bytes] : media) fixture.memory.media(path)->write(0, bytes);
  }
  Store store = fixture.open();
  REQUIRE(available(store) == before);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("stream: published together with other changes, or not at all") {
  StoreFixture fixture(stream_format());
  Store store = fixture.open();
  REQUIRE(put(store, "marker", "old").ok());
  const std::uint64_t before = available(store);
  {
    const std::unique_ptr<ObjectWriter> writer = writer_of(store, "streamed");
    REQUIRE(write_noise(*writer, 5'000'000, 1).ok());
    Transaction t;
    t.put(kBucket, "marker", "new");
    t.publish(*writer);
    t.expect_absent(kBucket, "marker");
    REQUIRE(code_of(store.commit(std::move(t))) == ErrorCode::kConflict);
    REQUIRE(code_of(store.get(kBucket, "streamed")) == ErrorCode::kNotFound);
    REQUIRE(get(store, "marker") == "old");
  }
  REQUIRE(available(store) == before);
  {
    // Not even committed.
    const std::unique_ptr<ObjectWriter> writer = writer_of(store, "streamed");
    REQUIRE(write_noise(*writer, 5'000'000, 1).ok());
    Transaction t;
    t.publish(*writer);
  }
  REQUIRE(available(store) == before);
  {
    const std::unique_ptr<ObjectWriter> first = writer_of(store, "streamed");
    const std::unique_ptr<ObjectWriter> second = writer_of(store, "streamed");
    const std::unique_ptr<ObjectWriter> third = writer_of(store, "third");
    REQUIRE(write_noise(*first, 5'000'000, 1).ok());
    REQUIRE(write_noise(*second, 4'000'000, 2).ok());
    REQUIRE(write_noise(*third, 3'000'000, 3).ok());
    Transaction t;
    t.publish(*first);
    t.put(kBucket, "marker", "new");
    t.publish(*second);  // replaces the first
    t.publish(*third);
    t.rename(kBucket, "third", kBucket, "renamed");
    REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
  }
  REQUIRE(reads_noise(store, "streamed", 4'000'000, 2));
  REQUIRE(reads_noise(store, "renamed", 3'000'000, 3));
  REQUIRE(get(store, "marker") == "new");
  REQUIRE(deep_findings(store) == "");
  for (const char* name : {"streamed", "renamed"}) REQUIRE(remove(store, name).ok());
  REQUIRE(available(store) == before);
}

TEST_CASE("stream: a reader keeps its version while the object is overwritten and deleted") {
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

TEST_CASE("stream: a reader that stays open does not keep checkpoints from growing the index") {
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

TEST_CASE("stream: a writer of a larger object than the log can describe at once") {
  StoreFixture fixture(spilling_format());
  std::optional<Store> store = fixture.open();
  const std::uint64_t before = available(*store);
  SECTION("publishes it whole") {
    const std::unique_ptr<ObjectWriter> writer = writer_of(*store, "large");
    REQUIRE(message_of(write_noise(*writer, kSpillingSize, 1)) == "");
    REQUIRE(code_of(store->get(kBucket, "large")) == ErrorCode::kNotFound);
    REQUIRE(deep_findings(*store) == "");
    REQUIRE(message_of(writer->commit().status()) == "");
    REQUIRE(reads_noise(*store, "large", kSpillingSize, 1));
    store.reset();
    store = fixture.open();
    REQUIRE(reads_noise(*store, "large", kSpillingSize, 1));
    REQUIRE(deep_findings(*store) == "");
    REQUIRE(remove(*store, "large").ok());
  }
  SECTION("replaces another such object") {
    for (const std::uint64_t seed : {1, 2}) {
      const std::unique_ptr<ObjectWriter> writer = writer_of(*store, "large");
      REQUIRE(write_noise(*writer, kSpillingSize, seed).ok());
      REQUIRE(message_of(writer->commit().status()) == "");
    }
    REQUIRE(reads_noise(*store, "large", kSpillingSize, 2));
    REQUIRE(deep_findings(*store) == "");
    REQUIRE(remove(*store, "large").ok());
  }
  SECTION("leaves nothing when it is abandoned") {
    const std::unique_ptr<ObjectWriter> writer = writer_of(*store, "large");
    REQUIRE(write_noise(*writer, kSpillingSize, 1).ok());
  }
  SECTION("leaves nothing when its transaction fails") {
    const std::unique_ptr<ObjectWriter> writer = writer_of(*store, "large");
    REQUIRE(write_noise(*writer, kSpillingSize, 1).ok());
    Transaction t;
    t.publish(*writer);
    t.expect_exists(kBucket, "large");
    REQUIRE(code_of(store->commit(std::move(t))) == ErrorCode::kConflict);
  }
  SECTION("leaves nothing when the object is removed by the transaction that publishes it") {
    const std::unique_ptr<ObjectWriter> writer = writer_of(*store, "large");
    REQUIRE(write_noise(*writer, kSpillingSize, 1).ok());
    Transaction t;
    t.publish(*writer);
    t.rename(kBucket, "large", kBucket, "moved");
    t.remove(kBucket, "moved");
    REQUIRE(store->commit(std::move(t)).ok());
  }
  REQUIRE(deep_findings(*store) == "");
  REQUIRE(available(*store) == before);
}

TEST_CASE("stream: a crash in the middle of a larger object gives its space back") {
  StoreFixture fixture(spilling_format());
  std::uint64_t before = 0;
  {
    Store store = fixture.open();
    before = available(store);
  }
  std::map<std::string, Bytes> media;
  const std::filesystem::path saved = fixture.directory / "saved";
  {
    Store store = fixture.open();
    const std::unique_ptr<ObjectWriter> writer = writer_of(store, "large");
    REQUIRE(write_noise(*writer, kSpillingSize, 1).ok());
    for (const std::string& path : fixture.pool.devices) {
      media[path] = read_media(*fixture.memory.media(path));
    }
    const std::string log = fixture.pool.fast_directories[0] + "/log";
    media[log] = read_media(*fixture.memory.media(log));
    std::filesystem::copy(fixture.directory / "fast", saved,
                          std::filesystem::copy_options::recursive);
  }
  for (const auto& [path, bytes] : media) fixture.memory.media(path)->write(0, bytes);
  std::filesystem::remove_all(fixture.directory / "fast");
  std::filesystem::rename(saved, fixture.directory / "fast");
  {
    // Read-only nothing is taken back, and nothing is wrong.
    Store store = fixture.open(Access::kReadOnly);
    REQUIRE(deep_findings(store) == "");
    REQUIRE(code_of(store.get(kBucket, "large")) == ErrorCode::kNotFound);
  }
  Store store = fixture.open();
  REQUIRE(counter(store, "writers_abandoned") == 1);
  REQUIRE(available(store) == before);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("stream: a writer that finds no space fails as a whole and gives back what it took") {
  StoreFixture fixture;  // 28 MiB
  Store store = fixture.open();
  REQUIRE(put(store, "other", noise(100'000, 1)).ok());
  const std::uint64_t before = available(store);
  {
    const std::unique_ptr<ObjectWriter> writer = writer_of(store, "large");
    REQUIRE(code_of(write_noise(*writer, 60'000'000, 1)) == ErrorCode::kNoSpace);
    REQUIRE(code_of(writer->append(as_bytes("x"))).has_value());
    REQUIRE(code_of(writer->commit()) == ErrorCode::kNoSpace);
  }
  REQUIRE(available(store) == before);
  REQUIRE((get(store, "other") == noise(100'000, 1)));
  REQUIRE(deep_findings(store) == "");
}

// A reader keeps a copy of the pages of its object. Here it has room for none of them, as with an
// object of more than 40 GiB; the smallest stream_buffer that a user may ask for would need 2.5
// GiB.
TEST_CASE("stream: an object with more pages than fit is read until it changes") {
  StoreFixture fixture(stream_format());
  constexpr std::uint64_t kSize = 5'000'000;
  {
    Store store = fixture.open();
    const std::unique_ptr<ObjectWriter> writer = writer_of(store, "x");
    REQUIRE(message_of(write_noise(*writer, kSize, 3)) == "");
    REQUIRE(writer->commit().ok());
    REQUIRE(store.close().ok());
  }
  Result<core::EngineParts> parts = core::open_parts(fixture.pool, {}, fixture.system);
  REQUIRE(parts.ok());
  parts->options.stream_buffer = 1;
  core::Engine engine(std::move(parts).value());
  REQUIRE(engine.start().ok());
  const std::string whole(as_text(*engine.get(kBucket, "x")));
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

}  // namespace
}  // namespace hexad::testing
