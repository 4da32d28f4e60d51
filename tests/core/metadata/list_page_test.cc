#include "core/metadata/list_page.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "core/record/record.h"
#include "io/rng.h"
#include "kv/lmdb/lmdb_index.h"
#include "tests/core/list_model.h"
#include "tests/io/temporary.h"
#include "tests/kv/forwarding_index.h"

namespace hexad::core {
namespace {

using testing::difference;
using testing::ListedNames;
using testing::naive_page;

constexpr CollectionId kCollection = 7;

// A real index that counts what its cursors do.
struct IndexMoves {
  std::uint64_t seeks = 0;
  std::uint64_t steps = 0;
  std::uint64_t all() const { return seeks + steps; }
};

class CountingCursor final : public kv::IndexCursor {
 public:
  CountingCursor(std::unique_ptr<kv::IndexCursor> inner, IndexMoves& moves)
      : inner_(std::move(inner)), moves_(moves) {}
  Status seek(std::string_view key) override {
    ++moves_.seeks;
    return inner_->seek(key);
  }
  Status seek_before(std::string_view key) override {
    ++moves_.seeks;
    return inner_->seek_before(key);
  }
  Status seek_to_first() override {
    ++moves_.seeks;
    return inner_->seek_to_first();
  }
  Status seek_to_last() override {
    ++moves_.seeks;
    return inner_->seek_to_last();
  }
  Status next() override {
    ++moves_.steps;
    return inner_->next();
  }
  Status prev() override {
    ++moves_.steps;
    return inner_->prev();
  }
  Result<std::size_t> advance(kv::Direction direction, std::span<kv::KeyValue> into) override {
    Result<std::size_t> passed = inner_->advance(direction, into);
    moves_.steps += passed.ok() && *passed > 0 ? *passed : 1;
    return passed;
  }
  bool valid() const override { return inner_->valid(); }
  std::string_view key() const override { return inner_->key(); }
  std::string_view value() const override { return inner_->value(); }

 private:
  std::unique_ptr<kv::IndexCursor> inner_;
  IndexMoves& moves_;
};

class CountingReader final : public kv::IndexReader {
 public:
  CountingReader(std::unique_ptr<kv::IndexReader> inner, IndexMoves& moves)
      : inner_(std::move(inner)), moves_(moves) {}
  Result<std::optional<std::string_view>> get(std::string_view key) override {
    return inner_->get(key);
  }
  Result<std::unique_ptr<kv::IndexCursor>> cursor() override {
    HEXAD_TRY_ASSIGN(std::unique_ptr<kv::IndexCursor> cursor, inner_->cursor());
    return std::unique_ptr<kv::IndexCursor>(
        std::make_unique<CountingCursor>(std::move(cursor), moves_));
  }
  Lsn applied_lsn() const override { return inner_->applied_lsn(); }
  Epoch applied_epoch() const override { return inner_->applied_epoch(); }

 private:
  std::unique_ptr<kv::IndexReader> inner_;
  IndexMoves& moves_;
};

class CountingIndex final : public testing::ForwardingIndex {
 public:
  using ForwardingIndex::ForwardingIndex;

  Result<std::unique_ptr<kv::IndexReader>> snapshot() override {
    HEXAD_TRY_ASSIGN(std::unique_ptr<kv::IndexReader> reader, ForwardingIndex::snapshot());
    return std::unique_ptr<kv::IndexReader>(
        std::make_unique<CountingReader>(std::move(reader), moves));
  }

  IndexMoves moves;
};

// The names of one collection, with others before and behind it, in memtables and an index.
class World {
 public:
  World() {
    kv::LmdbOptions options;
    options.dir = directory_.path("index");
    options.uuid.bytes.fill(7);
    Result<std::unique_ptr<kv::Index>> opened = kv::open_lmdb_index(options, *executor_);
    REQUIRE(opened.ok());
    index = std::make_unique<CountingIndex>(std::move(opened).value());
    metadata = std::make_unique<Metadata>(*executor_, *index);
    for (const CollectionId other : {kCollection - 1, kCollection + 1}) {
      for (const std::string& name :
           {std::string(1, '\0'), std::string("m"), std::string(20, '\xff')}) {
        metadata->apply(++lsn_, object_key(other, name), encoded(0));
      }
    }
  }

  void put(const std::string& name, std::uint64_t size = 0) {
    ++lsn_;
    names[name] = {size, lsn_};
    metadata->apply(lsn_, collection.key_of(name), encoded(size));
  }
  void remove(const std::string& name) {
    names.erase(name);
    metadata->apply(++lsn_, collection.key_of(name), std::nullopt);
  }
  void begin_checkpoint() {
    const auto frozen = metadata->freeze(lsn_);
    std::vector<kv::IndexChange> changes;
    kv::Memtable::Iterator it = frozen->iterate();
    for (it.seek_to_first(); it.valid(); it.next()) changes.push_back({it.key(), it.value()});
    REQUIRE(index->apply(lsn_, 1, changes).ok());
  }
  void checkpoint() {
    begin_checkpoint();
    metadata->drop_frozen();
  }
  ListPage page(const ListOptions& options) {
    const auto view = metadata->view(lsn_);
    REQUIRE(view.ok());
    index->moves = {};
    Result<ListPage> page = list_page(**view, collection, options, &moves);
    if (!page.ok()) FAIL(page.error().to_string());
    return std::move(page).value();
  }
  // Entries of as many pages as there are.
  std::uint64_t count_all(ListOptions options) {
    std::uint64_t count = 0;
    for (;;) {
      const ListPage found = page(options);
      count += found.entries.size();
      if (!found.next.has_value()) return count;
      options.start_after = *found.next;
    }
  }

  CollectionRecord collection{kCollection, {}};
  ListedNames names;  // what there is
  CursorMoves moves;  // of the last page
  std::unique_ptr<CountingIndex> index;
  std::unique_ptr<Metadata> metadata;

 private:
  std::string encoded(std::uint64_t size) const {
    ObjectRecord record;
    record.version = lsn_;
    record.size = size;
    return encode_object(record, {});
  }

  io::testing::TemporaryDirectory directory_;
  std::unique_ptr<io::Executor> executor_ = io::make_thread_executor(1);
  Lsn lsn_ = 0;
};

std::string number(int value) {
  std::string digits = std::to_string(value);
  return std::string(7 - digits.size(), '0') + digits;
}

void compare(World& world, const ListOptions& options) {
  CAPTURE(printable(options.prefix), printable(options.start_after), printable(options.delimiter),
          options.limit, options.reverse);
  REQUIRE(difference(world.page(options), naive_page(world.names, options)) == "");
}

// Names in several ranges of keys, as in a collection that was split and merged; some ranges are
// empty, and some begin with a name that there may be.
NameParts random_parts(io::Rng& rng) {
  std::map<std::string, CollectionId> parts{{"", kCollection}};
  for (std::uint64_t i = rng.below(6); i > 0; --i) {
    parts[testing::random_listed_name(rng)] = static_cast<CollectionId>(100 + rng.below(20));
  }
  std::vector<NameRange> ranges;
  for (auto it = parts.begin(); it != parts.end(); ++it) {
    const auto next = std::next(it);
    ranges.push_back({it->second, it->first, next == parts.end() ? "" : next->first});
  }
  return joined(ranges);
}

TEST_CASE("list_page: random names, options and checkpoints agree with a sorted map") {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    World world;
    if (seed > 8) world.collection.set_parts(random_parts(rng));
    bool frozen = false;
    for (int step = 0; step < 600; ++step) {
      const std::string name = testing::random_listed_name(rng);
      if (rng.chance(2, 5)) {
        world.remove(name);
      } else {
        world.put(name, rng.below(1000));
      }
      if (rng.chance(1, 60)) {
        if (frozen) {
          world.metadata->drop_frozen();
        } else {
          world.begin_checkpoint();
        }
        frozen = !frozen;
      }
      if (step % 3 == 0) compare(world, testing::random_list_options(rng, world.names));
      if (step % 50 != 49) continue;
      // Page by page to the end.
      ListOptions options = testing::random_list_options(rng, world.names);
      options.limit = 1 + rng.below(4);
      for (;;) {
        compare(world, options);
        const ListPage page = world.page(options);
        if (!page.next.has_value()) break;
        options.start_after = *page.next;
      }
    }
  }
}

TEST_CASE("list_page: a common prefix counts as one entry and continues the listing either way") {
  World world;
  for (const char* name : {"a", "a/", "a/1", "a/2/x", "b", "c//", "c/d", "d"}) world.put(name);
  const auto names = [&](ListOptions options) {
    std::vector<std::string> found;
    for (;;) {
      const ListPage page = world.page(options);
      for (const ListEntry& entry : page.entries) found.emplace_back(entry.name);
      if (!page.next.has_value()) return found;
      options.start_after = *page.next;
    }
  };
  using Names = std::vector<std::string>;
  for (const std::uint64_t limit : {1, 2, 3, 100}) {
    REQUIRE(names({"", "", "/", limit}) == Names{"a", "a/", "b", "c/", "d"});
    REQUIRE(names({"", "", "/", limit, true}) == Names{"d", "c/", "b", "a/", "a"});
    REQUIRE(names({"a/", "", "/", limit}) == Names{"a/", "a/1", "a/2/"});
    REQUIRE(names({"a/", "", "/", limit, true}) == Names{"a/2/", "a/1", "a/"});
    REQUIRE(names({"", "", "//", limit, true}) ==
            Names{"d", "c/d", "c//", "b", "a/2/x", "a/1", "a/", "a"});
    // From inside of a common prefix: what is left of it is rolled up.
    REQUIRE(names({"", "a/1", "/", limit}) == Names{"a/", "b", "c/", "d"});
    REQUIRE(names({"", "a/1", "/", limit, true}) == Names{"a/", "a"});
    // A start outside of the prefix.
    REQUIRE(names({"b", "a", "", limit}) == Names{"b"});
    REQUIRE(names({"b", "c", "", limit}) == Names{});
    REQUIRE(names({"b", "c", "", limit, true}) == Names{"b"});
    REQUIRE(names({"b", "a", "", limit, true}) == Names{});
  }
}

TEST_CASE("list_page: what a page costs does not depend on what lies below its common prefixes") {
  for (const bool checkpointed : {false, true}) {
    for (const int below : {1, 10, 3000}) {
      World world;
      for (int directory = 0; directory < 30; ++directory) {
        for (int i = 0; i < below; ++i) {
          world.put("directory" + number(directory) + "/" + number(i));
        }
      }
      if (checkpointed) world.checkpoint();
      for (const bool reverse : {false, true}) {
        const ListPage page = world.page({"", "", "/", 20, reverse});
        REQUIRE(page.entries.size() == 20);
        REQUIRE(page.next.has_value());
        REQUIRE(world.moves.seeks == 21);  // the start, and behind each
        REQUIRE(world.moves.steps == 21);  // what each seek finds
        REQUIRE(world.index->moves.seeks == 21);
        REQUIRE(world.index->moves.steps == 0);
      }
    }
  }
}

TEST_CASE("list_page: names deleted before a checkpoint cost nothing") {
  for (const int deleted : {0, 10, 20000}) {
    World world;
    for (int i = 0; i < deleted; ++i) world.put("a" + number(i));
    for (int i = 0; i < 50; ++i) world.put("b" + number(i));
    for (int i = 0; i < deleted; ++i) world.put("c" + number(i));
    world.checkpoint();
    for (int i = 0; i < deleted; ++i) {
      world.remove("a" + number(i));
      world.remove("c" + number(i));
    }
    world.checkpoint();
    for (const bool reverse : {false, true}) {
      const ListPage page = world.page({"", "", "", 10, reverse});
      REQUIRE(page.entries.size() == 10);
      REQUIRE(world.moves.deleted == 0);
      REQUIRE(world.moves.steps == 11);
      REQUIRE(world.index->moves.all() <= 2 * 11);  // it reads ahead
      REQUIRE(world.page({"b", "", "", 100, reverse}).entries.size() == 50);
      REQUIRE(world.index->moves.all() <= 2 * 51);
    }
  }
}

TEST_CASE("list_page: tombstones cost a step each where the page passes, and nothing elsewhere") {
  constexpr int kDeleted = 1000;
  World world;
  for (int i = 0; i < kDeleted; ++i) world.put("gone" + number(i));
  for (const char* name : {"early", "late", "zero"}) world.put(name);
  world.checkpoint();
  for (int i = 0; i < kDeleted; ++i) world.remove("gone" + number(i));
  for (int i = 0; i < kDeleted; ++i) world.remove("never in the index" + number(i));
  for (const bool reverse : {false, true}) {
    REQUIRE(world.page({"", "", "", 10, reverse}).entries.size() == 3);
    REQUIRE(world.moves.deleted == 2 * kDeleted);
    REQUIRE(world.moves.steps == 2 * kDeleted + 3);
    // The index has half of them, and names of other collections, which are read ahead.
    REQUIRE(world.index->moves.all() <= kDeleted + 4 + 3);

    // Behind the end of what is asked for nothing is looked at.
    for (const char* name : {"early", "late", "zero"}) {
      REQUIRE(world.page({name, "", "", 10, reverse}).entries.size() == 1);
      REQUIRE(world.moves.deleted == 0);
      REQUIRE(world.index->moves.all() <= 2);
    }
    REQUIRE(world.page({"", reverse ? "early" : "zero", "", 10, reverse}).entries.empty());
    REQUIRE(world.moves.steps == 0);
    REQUIRE(world.page({"", reverse ? "zero" : "never inz", "", 1, reverse}).entries.size() == 1);
  }
  // A common prefix with nothing alive below it is none.
  world.put("never in the index" + number(17));
  REQUIRE(world.page({"", "", " ", 10}).entries.size() == 4);
  world.checkpoint();
  REQUIRE(world.page({"", "", "", 10}).entries.size() == 4);
  REQUIRE(world.moves.deleted == 0);
}

TEST_CASE("list_page: copies of a page keep its names, whichever of them goes first") {
  World world;
  // More than the first pieces of memory hold, among them one longer than such a piece.
  for (int i = 0; i < 400; ++i) world.put(number(i) + std::string(i % 7 * 100, 'n'));
  world.put("z" + std::string(kMaxNameSize - 1, 'z'));
  const ListOptions options{"", "", "", 1000};
  const ListPage expected = naive_page(world.names, options);
  std::optional<ListPage> page = world.page(options);
  ListPage copy = *page;
  REQUIRE(difference(copy, expected) == "");
  page.reset();
  REQUIRE(difference(copy, expected) == "");
  ListPage moved = std::move(copy);
  REQUIRE(difference(moved, expected) == "");
  copy = world.page({"", "", "", 1});
  REQUIRE(copy.entries.size() == 1);
  REQUIRE(difference(moved, expected) == "");
  copy = moved;
  moved = ListPage();
  REQUIRE(difference(copy, expected) == "");
}

TEST_CASE("list_page: limits at either end of what there is") {
  World world;
  for (int i = 0; i < 5; ++i) world.put("n" + number(i));
  for (const bool reverse : {false, true}) {
    for (const std::uint64_t limit :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{5}, std::uint64_t{6},
          kMaxListPage, kMaxListPage + 1, ~std::uint64_t{0}}) {
      compare(world, {"", "", "", limit, reverse});
    }
    const ListPage none = world.page({"", "", "", 0, reverse});
    REQUIRE(none.entries.empty());
    REQUIRE_FALSE(none.next.has_value());
  }
}

TEST_CASE("list_page: a page has at most kMaxListPage entries, and says that there are more") {
  World world;
  const int count = static_cast<int>(kMaxListPage) + 2;
  for (int i = 0; i < count; ++i) world.put("n" + number(i));
  const ListPage page = world.page({"", "", "", ~std::uint64_t{0}});
  REQUIRE(page.entries.size() == kMaxListPage);
  REQUIRE(page.next == page.entries.back().name);
  REQUIRE(world.count_all({"", "", "", ~std::uint64_t{0}, true}) == world.names.size());
}

TEST_CASE("list_page: texts that no name can match are refused by their length alone") {
  const std::string longest(kMaxNameSize, '\xff');
  World world;
  world.put(longest);
  world.put(longest.substr(1));
  ListOptions options;
  for (std::string* text : {&options.prefix, &options.start_after, &options.delimiter}) {
    *text = longest;
    REQUIRE(check_list_options(options).ok());
    compare(world, options);
    *text += 'x';
    const Status refused = check_list_options(options);
    REQUIRE(refused.error().code == ErrorCode::kInvalidArgument);
    REQUIRE(refused.error().message.find("1025 bytes") != std::string::npos);
    text->clear();
  }
}

TEST_CASE("list_page: a record that cannot be read is an error, below a common prefix it is not") {
  World world;
  world.put("a");
  world.metadata->apply(1000, object_key(kCollection, "b/c"), "x");
  const auto view = world.metadata->view(1000);
  REQUIRE(list_page(**view, {kCollection, {}}, {}).error().code == ErrorCode::kCorruption);
  REQUIRE(list_page(**view, {kCollection, {}}, {"", "", "/", 10})->entries.size() == 2);
}

}  // namespace
}  // namespace hexad::core
