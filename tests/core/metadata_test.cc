#include "core/metadata.h"

#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "kv/lmdb_index.h"
#include "tests/core/forwarding_index.h"
#include "tests/io/temporary.h"

namespace hexad::core {
namespace {

// A real index; `before_snapshot` runs first whenever somebody asks for a snapshot, once.
class HookedIndex final : public hexad::testing::ForwardingIndex {
 public:
  using ForwardingIndex::ForwardingIndex;

  Result<std::unique_ptr<kv::IndexReader>> snapshot() override {
    if (before_snapshot) std::exchange(before_snapshot, nullptr)();
    return ForwardingIndex::snapshot();
  }

  std::function<void()> before_snapshot;
};

struct Fixture {
  io::testing::TemporaryDirectory directory;
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  std::unique_ptr<HookedIndex> index;
  std::unique_ptr<Metadata> metadata;

  Fixture() {
    kv::LmdbOptions options;
    options.dir = directory.path("index");
    options.uuid.bytes.fill(7);
    Result<std::unique_ptr<kv::Index>> opened = kv::open_lmdb_index(options, *executor);
    REQUIRE(opened.ok());
    index = std::make_unique<HookedIndex>(std::move(opened).value());
    metadata = std::make_unique<Metadata>(*executor, *index);
  }

  void to_index(const kv::Memtable& frozen, Lsn lsn) {
    std::vector<kv::IndexChange> changes;
    kv::Memtable::Iterator it = frozen.iterate();
    for (it.seek_to_first(); it.valid(); it.next()) changes.push_back({it.key(), it.value()});
    REQUIRE(index->apply(lsn, 1, changes).ok());
  }
  void checkpoint(Lsn lsn) {
    to_index(*metadata->freeze(lsn), lsn);
    metadata->drop_frozen();
  }
  // All keys and values, by cursor, each also looked up.
  std::map<std::string, std::string> all(Lsn at) {
    Result<std::unique_ptr<MetaView>> view = metadata->view(at);
    REQUIRE(view.ok());
    std::map<std::string, std::string> found;
    Result<MetaView::Cursor> cursor = (*view)->cursor();
    REQUIRE(cursor.ok());
    REQUIRE(cursor->seek("").ok());
    while (cursor->valid()) {
      found[cursor->key()] = cursor->value();
      const auto value = (*view)->get(cursor->key());
      REQUIRE(value.ok());
      REQUIRE(*value == cursor->value());
      REQUIRE(cursor->next().ok());
    }
    return found;
  }
};

using State = std::map<std::string, std::string>;

TEST_CASE("metadata: a view sees what was there at its LSN") {
  Fixture f;
  f.metadata->apply(1, "a", "1");
  f.metadata->apply(2, "b", "2");
  f.metadata->apply(3, "a", std::nullopt);
  REQUIRE(f.all(0).empty());
  REQUIRE(f.all(1) == State{{"a", "1"}});
  REQUIRE(f.all(2) == State{{"a", "1"}, {"b", "2"}});
  REQUIRE(f.all(3) == State{{"b", "2"}});
  f.checkpoint(3);
  f.metadata->apply(4, "c", "4");
  REQUIRE(f.all(3) == State{{"b", "2"}});
  REQUIRE(f.all(4) == State{{"b", "2"}, {"c", "4"}});
}

TEST_CASE("metadata: a view made between a checkpoint's commit and its end is one state") {
  Fixture f;
  f.metadata->apply(1, "a", "1");
  // A reader has chosen LSN 1 when the next transaction and a checkpoint of both come.
  f.metadata->apply(2, "a", "2");
  f.metadata->apply(2, "b", "2");
  const auto frozen = f.metadata->freeze(2);
  f.to_index(*frozen, 2);
  REQUIRE(f.all(1) == State{{"a", "2"}, {"b", "2"}});
  f.metadata->drop_frozen();
  REQUIRE(f.all(1) == State{{"a", "2"}, {"b", "2"}});
}

TEST_CASE("metadata: checkpoints that come while a view is being made do not disturb it") {
  Fixture f;
  f.metadata->apply(1, "a", "1");
  f.metadata->apply(1, "b", "1");
  f.index->before_snapshot = [&] {
    f.metadata->apply(2, "a", "2");
    f.checkpoint(2);
    f.metadata->apply(3, "b", "3");
    f.checkpoint(3);
  };
  REQUIRE(f.all(1) == State{{"a", "2"}, {"b", "3"}});

  f.index->before_snapshot = [&] {
    f.metadata->apply(4, "a", "4");
    f.checkpoint(4);
  };
  REQUIRE(*f.metadata->get_latest("a") == "4");
}

TEST_CASE(
    "metadata: a checkpoint that failed leaves everything readable, and the next one writes it") {
  Fixture f;
  f.metadata->apply(1, "a", "1");
  f.metadata->apply(2, "b", "2");
  f.metadata->freeze(2);
  f.metadata->apply(3, "a", "3");
  f.metadata->apply(3, "b", std::nullopt);
  REQUIRE(f.all(2) == State{{"a", "1"}, {"b", "2"}});
  f.metadata->unfreeze();
  REQUIRE(f.all(2) == State{{"a", "1"}, {"b", "2"}});
  REQUIRE(f.all(3) == State{{"a", "3"}});
  f.checkpoint(3);
  REQUIRE(f.all(3) == State{{"a", "3"}});
}

TEST_CASE("metadata: changes that are cut are gone, those before them stay") {
  Fixture f;
  f.metadata->apply(1, "a", "1");
  f.metadata->apply(2, "a", "2");
  f.metadata->apply(2, "b", "2");
  f.metadata->erase_after(1);
  REQUIRE(f.all(2) == State{{"a", "1"}});
  REQUIRE(*f.metadata->get_latest("b") == std::nullopt);
}

TEST_CASE("metadata: a view tells whether what it shows of a key is the newest there is") {
  Fixture f;
  const auto newest_of = [](MetaView& view, std::string_view key) {
    bool newest = false;
    REQUIRE(view.get(key, &newest).ok());
    return newest;
  };
  f.metadata->apply(1, "a", "1");
  const auto view = std::move(f.metadata->view(1)).value();
  REQUIRE(newest_of(*view, "a"));
  REQUIRE(newest_of(*view, "b"));  // that it does not exist is an answer, too
  // Pending, as far as the view can tell.
  f.metadata->apply(2, "a", "2");
  f.metadata->apply(3, "b", "3");
  f.metadata->apply(4, "b", std::nullopt);
  REQUIRE_FALSE(newest_of(*view, "a"));
  REQUIRE_FALSE(newest_of(*view, "b"));
  REQUIRE(newest_of(*view, "c"));
  // From here on there may be newer versions where the view does not look.
  f.metadata->freeze(4);
  f.metadata->apply(5, "c", "5");
  REQUIRE_FALSE(newest_of(*view, "c"));
  REQUIRE_FALSE(newest_of(*view, "d"));
  const auto later = std::move(f.metadata->view(5)).value();
  for (const char* key : {"a", "b", "c", "d"}) REQUIRE(newest_of(*later, key));
}

TEST_CASE("metadata: every key that is applied is told to the cache, after it can be found") {
  Fixture f;
  ReadCache cache(*f.executor, 1 << 20);
  f.metadata->set_cache(&cache);
  const auto learn = [&](Lsn version) {
    const ReadCache::Found found = cache.find_object("c", "a", kMaxLsn, ReadCache::Count::kNothing);
    auto record = std::make_shared<CachedRecord>();
    record->serial = cache.new_serial();
    record->object.version = version;
    cache.insert_collection(found.ticket, "c", 7, 0);
    cache.insert_object(found.ticket, 7, "a", record);
  };
  const auto known = [&] {
    return cache.find_object("c", "a", kMaxLsn, ReadCache::Count::kNothing).record != nullptr;
  };
  learn(1);
  REQUIRE(known());
  f.metadata->apply(2, object_key(7, "b"), "2");
  f.checkpoint(2);
  REQUIRE(known());
  f.metadata->apply(3, object_key(7, "a"), "3");
  REQUIRE_FALSE(known());
  learn(3);
  f.metadata->apply(4, object_key(7, "a"), std::nullopt);
  REQUIRE_FALSE(known());
}

}  // namespace
}  // namespace hexad::core
