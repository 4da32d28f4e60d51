#include "core/engine/stream_writer.h"

#include <catch2/catch.hpp>
#include <thread>

#include "core/opening/opening.h"
#include "core/plan/staged_object.h"
#include "core/record/keys.h"
#include "tests/core/stream_support.h"

namespace hexad::testing {
namespace {

// A log of 1 MiB takes records of some 200 KiB: beyond a few hundred pages a writer has to put the
// extents it holds aside.
constexpr std::uint64_t kSpillingSize = 130_MiB;

FormatOptions spilling_format() {
  FormatOptions options = small_format();
  options.device_size = 128_MiB;
  options.slab_size = 16_MiB;
  return options;
}

TEST_CASE("stream_writer: what an abandoned writer took comes back at once") {
  StoreFixture fixture(stream_format());
  Store store = fixture.open();
  REQUIRE(put(store, "other", noise(100'000, 1)).ok());
  const std::uint64_t before = unused(store);
  for (int i = 0; i < 10; ++i) {
    const std::unique_ptr<ObjectWriter> writer = writer_of(store, "abandoned");
    REQUIRE(write_noise(*writer, 20'000'000, 1).ok());
    if (i % 2 == 1) REQUIRE(writer->finish().ok());
  }
  REQUIRE(unused(store) == before);
  REQUIRE(code_of(store.get(kBucket, "abandoned")) == ErrorCode::kNotFound);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("stream_writer: what a writer took before a crash comes back at the next opening") {
  StoreFixture fixture(stream_format());
  std::uint64_t before = 0;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "other", noise(100'000, 1)).ok());
    before = unused(store);
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
  REQUIRE(unused(store) == before);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("stream_writer: published together with other changes, or not at all") {
  StoreFixture fixture(stream_format());
  Store store = fixture.open();
  REQUIRE(put(store, "marker", "old").ok());
  const std::uint64_t before = unused(store);
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
  REQUIRE(unused(store) == before);
  {
    // Not even committed.
    const std::unique_ptr<ObjectWriter> writer = writer_of(store, "streamed");
    REQUIRE(write_noise(*writer, 5'000'000, 1).ok());
    Transaction t;
    t.publish(*writer);
  }
  REQUIRE(unused(store) == before);
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
  REQUIRE(unused(store) == before);
}

TEST_CASE("stream_writer: a writer of a larger object than the log can describe at once") {
  StoreFixture fixture(spilling_format());
  std::optional<Store> store = fixture.open();
  const std::uint64_t before = unused(*store);
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
  while (unused(*store) != before) std::this_thread::yield();  // dropped in the background
  REQUIRE(deep_findings(*store) == "");
}

TEST_CASE("stream_writer: a crash in the middle of a larger object gives its space back") {
  StoreFixture fixture(spilling_format());
  std::uint64_t before = 0;
  {
    Store store = fixture.open();
    before = unused(store);
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
  while (unused(store) != before) std::this_thread::yield();  // dropped in the background
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE(
    "stream_writer: a writer that finds no space fails as a whole and gives back what it took") {
  StoreFixture fixture;  // 28 MiB
  Store store = fixture.open();
  REQUIRE(put(store, "other", noise(100'000, 1)).ok());
  const std::uint64_t before = unused(store);
  {
    const std::unique_ptr<ObjectWriter> writer = writer_of(store, "large");
    REQUIRE(code_of(write_noise(*writer, 60'000'000, 1)) == ErrorCode::kNoSpace);
    REQUIRE(code_of(writer->append(as_bytes("x"))) == ErrorCode::kNoSpace);
    REQUIRE(code_of(writer->skip(1)) == ErrorCode::kNoSpace);
    REQUIRE(code_of(writer->set_attr("k", "v")) == ErrorCode::kNoSpace);
    REQUIRE(code_of(writer->set_attr("", "v")) == ErrorCode::kNoSpace);
    REQUIRE(code_of(writer->commit()) == ErrorCode::kNoSpace);
    REQUIRE(code_of(writer->set_attr("k", "v")) == ErrorCode::kClosed);
  }
  REQUIRE(unused(store) == before);
  REQUIRE((get(store, "other") == noise(100'000, 1)));
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("stream_writer: opening one needs a collection, a legal name and a store to write to") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    const auto refused = [&](std::string_view collection, std::string_view name) {
      return code_of(store.open_writer(collection, name));
    };
    REQUIRE(refused("none", "a") == ErrorCode::kNotFound);
    REQUIRE(refused(kBucket, "") == ErrorCode::kInvalidArgument);
    REQUIRE(refused(kBucket, std::string(kMaxNameSize + 1, 'x')) == ErrorCode::kInvalidArgument);
    REQUIRE_FALSE(refused(kBucket, std::string(kMaxNameSize, 'x')).has_value());
    REQUIRE(store.close().ok());
    REQUIRE(refused(kBucket, "a") == ErrorCode::kClosed);
  }
  Store store = fixture.open(Access::kReadOnly);
  REQUIRE(code_of(store.open_writer(kBucket, "a")) == ErrorCode::kReadOnly);
}

TEST_CASE("stream_writer: a bad attribute is told at once, and the writer goes on") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::unique_ptr<ObjectWriter> writer = writer_of(store, "a");
  REQUIRE(code_of(writer->set_attr("", "v")) == ErrorCode::kInvalidArgument);
  REQUIRE(writer->set_attr("k", "1").ok());
  REQUIRE(writer->set_attr("k", "2").ok());
  REQUIRE(writer->append(as_bytes("data")).ok());
  REQUIRE(writer->commit().ok());
  REQUIRE(store.attributes(kBucket, "a").value() == Attributes{{"k", "2"}});
  REQUIRE(code_of(writer->set_attr("k", "3")) == ErrorCode::kClosed);
}

TEST_CASE("stream_writer: a byte behind the largest object spends the writer") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::unique_ptr<ObjectWriter> writer = writer_of(store, "a");
  REQUIRE(writer->append(as_bytes("x")).ok());
  // Nobody looks at these bytes: their number is refused.
  const std::byte first{};
  REQUIRE(code_of(writer->append({&first, kMaxObjectSize})) == ErrorCode::kTooBig);
  REQUIRE(writer->size() == 1);
  REQUIRE(code_of(writer->append(as_bytes("x"))) == ErrorCode::kTooBig);
  REQUIRE(code_of(writer->commit()) == ErrorCode::kTooBig);
  REQUIRE(code_of(store.get(kBucket, "a")) == ErrorCode::kNotFound);
}

// What a writer is told, and what the object should show: bytes, and which of them are data.
class HoleModel {
 public:
  void append(ObjectWriter& writer, std::uint64_t length, std::uint64_t seed) {
    const std::string bytes = noise(length, seed);
    REQUIRE(message_of(writer.append(as_bytes(bytes))) == "");
    if (length == 0) return;
    if (!data.empty() && data.back().offset + data.back().length == text.size()) {
      data.back().length += length;
    } else {
      data.push_back({text.size(), length});
    }
    text += bytes;
  }
  void skip(ObjectWriter& writer, std::uint64_t length) {
    REQUIRE(message_of(writer.skip(length)) == "");
    text.append(length, '\0');
  }

  std::string text;
  std::vector<ByteRange> data;
};

TEST_CASE("stream_writer: what is skipped is a hole, inside a page, over pages and at the end") {
  StoreFixture fixture(stream_format());
  std::optional<Store> store = fixture.open();
  const std::uint64_t before = unused(*store);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    HoleModel model;
    const std::unique_ptr<ObjectWriter> writer = writer_of(*store, "sparse");
    for (std::uint64_t steps = rng.below(40); steps > 0; --steps) {
      const std::uint64_t most = std::uint64_t{1} << rng.below(22);  // up to two pages
      if (rng.below(2) == 0) {
        model.append(*writer, rng.below(most), seed * 100 + steps);
      } else {
        model.skip(*writer, rng.below(most));
      }
    }
    REQUIRE(writer->size() == model.text.size());
    REQUIRE(message_of(writer->commit().status()) == "");
    REQUIRE((get(*store, "sparse") == model.text));
    REQUIRE(store->extents(kBucket, "sparse").value() == model.data);
  }
  REQUIRE(deep_findings(*store) == "");
  store.reset();
  store = fixture.open();
  REQUIRE(remove(*store, "sparse").ok());
  REQUIRE(unused(*store) == before);
}

TEST_CASE("stream_writer: a page with more runs than it may have extents is filled with zeros") {
  StoreFixture fixture(stream_format());
  Store store = fixture.open();
  const std::unique_ptr<ObjectWriter> writer = writer_of(store, "comb");
  HoleModel model;
  for (int i = 0; i < 1024; ++i) {
    model.append(*writer, 1024, i);
    model.skip(*writer, 1024);
  }
  REQUIRE(message_of(writer->commit().status()) == "");
  REQUIRE((get(store, "comb") == model.text));
  const std::vector<ByteRange> shown = store.extents(kBucket, "comb").value();
  REQUIRE(shown.size() == 2 * 256);  // of two pages with 512 runs each
  for (std::size_t i = 0; i < 255; ++i) REQUIRE(shown[i] == model.data[i]);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("stream_writer: the largest object there is may be one hole, and costs nothing") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::uint64_t before = unused(store);
  const std::unique_ptr<ObjectWriter> writer = writer_of(store, "hole");
  REQUIRE(writer->skip(kMaxObjectSize - 1).ok());
  REQUIRE(writer->append(as_bytes("x")).ok());
  REQUIRE(code_of(writer->skip(1)) == ErrorCode::kTooBig);
  REQUIRE(code_of(writer->commit()) == ErrorCode::kTooBig);

  const std::unique_ptr<ObjectWriter> second = writer_of(store, "hole");
  REQUIRE(second->skip(kMaxObjectSize).ok());
  REQUIRE(message_of(second->commit().status()) == "");
  REQUIRE(store.stat(kBucket, "hole")->size == kMaxObjectSize);
  REQUIRE(store.stat(kBucket, "hole")->stored == 0);
  REQUIRE(store.extents(kBucket, "hole").value().empty());
  REQUIRE(code_of(second->skip(1)) == ErrorCode::kClosed);
  REQUIRE(unused(store) == before);
  REQUIRE(deep_findings(store) == "");
}

// An engine without its store.
struct Opened {
  explicit Opened(StoreFixture& fixture, const RuntimeOptions& options = {})
      : engine(core::open_parts(fixture.pool, options, fixture.system).value()) {
    REQUIRE(engine.start().ok());
  }
  ~Opened() { engine.close().ignore(); }
  std::unique_ptr<core::StreamWriter> writer() {
    return core::StreamWriter::open(engine, kBucket, "a", Hint::kNone).value();
  }
  // Stripes that are allocated and that no record names.
  std::uint64_t units_in_flight() { return engine.space().counters().in_flight; }

  core::Engine engine;
};

// Of a page's stripe: a cell of 256 KiB.
constexpr std::uint64_t kPageUnits = 64;

TEST_CASE("stream_writer: the stripe of a page is written when the page is full") {
  StoreFixture fixture(stream_format());
  Opened opened(fixture);
  std::unique_ptr<core::StreamWriter> writer = opened.writer();
  const std::string bytes = noise(3 * core::kPageSpan + 300, 1);
  REQUIRE(writer->append(as_bytes(bytes).first(core::kPageSpan - 1)).ok());
  REQUIRE(opened.units_in_flight() == 0);
  REQUIRE(writer->append(as_bytes(bytes).subspan(core::kPageSpan - 1)).ok());
  REQUIRE(writer->size() == bytes.size());
  REQUIRE(opened.units_in_flight() == 3 * kPageUnits);

  SECTION("dropped, it gives all of them back") {
    writer.reset();
    REQUIRE(opened.units_in_flight() == 0);
  }
  SECTION("taken, it has a stripe for every page, the last one too") {
    std::shared_ptr<core::StagedObject> staged = writer->take_staged();
    REQUIRE(staged->problem.ok());
    REQUIRE(staged->size == bytes.size());
    REQUIRE(staged->stripes.size() == 4);
    REQUIRE(staged->pages.size() == 4);
    REQUIRE(staged->unplaced.pieces.empty());
    REQUIRE(staged->spilled == 0);
    REQUIRE_FALSE(staged->published);
    for (std::uint32_t page = 0; page < 4; ++page) {
      const core::Extent& extent = staged->pages.at(page).at(0);
      REQUIRE(extent.offset == page * core::kPageSpan);
      REQUIRE(extent.length == (page < 3 ? core::kPageSpan : 300));
      REQUIRE(staged->stripes[page].where == extent.blob.where);
      REQUIRE(staged->stripes[page].durable_before);  // recovery need not prove them
      // The bytes are there already.
      Bytes read(extent.length);
      REQUIRE(opened.engine.blob_reader().read(extent.blob, 0, read).ok());
      REQUIRE((as_text(read) == std::string_view(bytes).substr(extent.offset, extent.length)));
    }
    // The writer is spent.
    REQUIRE(code_of(writer->take_staged()->problem) == ErrorCode::kClosed);
    REQUIRE(code_of(writer->append(as_bytes("x"))) == ErrorCode::kClosed);
    writer.reset();
    REQUIRE(opened.units_in_flight() == 3 * kPageUnits + 1);
    SECTION("what nobody publishes is given back") {
      staged.reset();
      REQUIRE(opened.units_in_flight() == 0);
    }
    SECTION("what a commit has taken over is not") {
      staged->published = true;
      staged.reset();
      REQUIRE(opened.units_in_flight() == 3 * kPageUnits + 1);
    }
  }
}

TEST_CASE(
    "stream_writer: a small object is staged inline, unplaced or with a stripe, by its size") {
  StoreFixture fixture(stream_format());
  Opened opened(fixture);
  const std::uint64_t threshold = core::kAlwaysOwnStripe;
  for (const std::uint64_t size : {std::uint64_t{0}, core::kInlineLimit, core::kInlineLimit + 1,
                                   threshold - 1, threshold, core::kPageSpan}) {
    CAPTURE(size);
    const auto writer = opened.writer();
    REQUIRE(writer->append(as_bytes(noise(size, 1))).ok());
    const std::shared_ptr<core::StagedObject> staged = writer->take_staged();
    REQUIRE(staged->problem.ok());
    REQUIRE(staged->size == size);
    const bool is_inline = size > 0 && size <= core::kInlineLimit;
    const bool unplaced = size > core::kInlineLimit && size < threshold;
    const bool striped = size >= threshold;
    REQUIRE(staged->unplaced.pieces.size() == (unplaced ? 1 : 0));
    REQUIRE(staged->stripes.size() == (striped ? 1 : 0));
    REQUIRE(staged->pages.size() == (is_inline || striped ? 1 : 0));
    if (is_inline) REQUIRE(staged->pages.at(0).at(0).bytes.size() == size);
  }
  REQUIRE(opened.units_in_flight() == 0);
}

TEST_CASE("stream_writer: extents that would fill a record are put aside under the writer's key") {
  StoreFixture fixture(spilling_format());
  Opened opened(fixture);
  const auto writer = opened.writer();
  const auto put_aside = [&] {
    bool found = false;
    const auto visit = [&](std::string_view, std::string_view) -> Result<bool> {
      found = true;
      return false;
    };
    REQUIRE(opened.engine.own_commits().scan(core::writer_key(0).substr(0, 1), visit).ok());
    return found;
  };
  std::uint64_t pages = 0;
  const std::string page = noise(core::kPageSpan, 1);
  while (!put_aside()) {
    REQUIRE(writer->append(as_bytes(page)).ok());
    REQUIRE(++pages < 130);
  }
  std::shared_ptr<core::StagedObject> staged = writer->take_staged();
  REQUIRE(staged->problem.ok());
  REQUIRE(staged->spilled > 0);
  REQUIRE(staged->spilled <= pages);
  // The rest is still to be published, and only that.
  REQUIRE(staged->pages.size() == pages - staged->spilled);
  REQUIRE(staged->stripes.size() == pages - staged->spilled);
  const auto found = opened.engine.own_commits().get(core::writer_key(staged->body));
  REQUIRE(found.value().has_value());
  // Dropped, the pages in the metadata go as well: in the background.
  const core::BodyId body = staged->body;
  staged.reset();
  while (opened.engine.own_commits().get(core::writer_key(body)).value().has_value())
    std::this_thread::yield();
  REQUIRE_FALSE(opened.engine.own_commits().get(core::page_key(body, 0)).value().has_value());
  REQUIRE(opened.units_in_flight() == 0);
}

TEST_CASE("stream_writer: finish() ends the data, and what comes behind it publishes") {
  StoreFixture fixture(stream_format());
  Store store = fixture.open();
  // Inline, packed, a stripe of its own, several pages, full pages alone.
  const std::size_t size = GENERATE(0, 100, 3000, 300'000, 2'500'000, 2 << 20);
  const bool within_others = GENERATE(false, true);
  CAPTURE(size, within_others);
  const std::unique_ptr<ObjectWriter> writer = writer_of(store, "finished");
  REQUIRE(writer->append(as_bytes(noise(size, 7))).ok());
  REQUIRE(writer->finish().ok());
  REQUIRE(writer->finish().ok());
  REQUIRE(writer->append(as_bytes(std::string_view("x"))).error().code == ErrorCode::kClosed);
  REQUIRE(writer->skip(1).error().code == ErrorCode::kClosed);
  REQUIRE(writer->set_attr("a", "b").ok());
  REQUIRE(writer->size() == size);
  REQUIRE(code_of(store.get(kBucket, "finished")) == ErrorCode::kNotFound);
  if (within_others) {
    Transaction t;
    t.publish(*writer);
    t.put(kBucket, "beside", "y");
    REQUIRE(store.commit(std::move(t)).ok());
  } else {
    REQUIRE(writer->commit().ok());
  }
  REQUIRE(writer->finish().error().code == ErrorCode::kClosed);
  REQUIRE(as_text(store.get(kBucket, "finished").value()) == noise(size, 7));
  REQUIRE(store.attribute(kBucket, "finished", "a").value() == "b");
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
