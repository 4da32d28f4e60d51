#include "core/metadata/metadata.h"

#include <catch2/catch.hpp>
#include <functional>
#include <list>
#include <map>
#include <thread>

#include "core/record/keys.h"
#include "io/rng.h"
#include "tests/core/metadata/metadata_fixture.h"

namespace hexad::core {
namespace {

using Fixture = testing::MetadataFixture;
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

// The newer changes are brought on top of the older ones slice by slice, and commits go on.
TEST_CASE("metadata: what is applied while a failed checkpoint is taken back is there afterwards") {
  Fixture f;
  constexpr int kKeys = 5000;
  const auto key_of = [](int i) { return "k" + std::to_string(10'000 + i); };
  State expected;
  for (int i = 0; i < kKeys; ++i) f.metadata->apply(1, key_of(i), "old");
  f.metadata->freeze(1);
  for (int i = 0; i < kKeys; i += 2) f.metadata->apply(2, key_of(i), "newer");
  const std::unique_ptr<MetaView> before = f.metadata->view(2).value();
  std::thread writer([&] {
    Lsn lsn = 2;
    for (int i = 0; i < kKeys; i += 3) f.metadata->apply(++lsn, key_of(i), "newest");
    for (int i = 0; i < kKeys; i += 5) f.metadata->apply(++lsn, key_of(i), std::nullopt);
  });
  f.metadata->unfreeze();
  writer.join();
  for (int i = 0; i < kKeys; ++i) {
    if (i % 5 == 0) continue;
    expected[key_of(i)] = i % 3 == 0 ? "newest" : i % 2 == 0 ? "newer" : "old";
  }
  REQUIRE((f.all(100'000) == expected));
  MetaView::Cursor cursor = before->cursor().value();
  REQUIRE(cursor.seek("").ok());
  for (int i = 0; i < kKeys; ++i) {
    REQUIRE(cursor.key() == key_of(i));
    REQUIRE(cursor.value() == (i % 2 == 0 ? "newer" : "old"));
    REQUIRE(cursor.next().ok());
  }
  f.checkpoint(100'000);
  REQUIRE((f.all(100'000) == expected));
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

// A cursor and where it should stand.
class CheckedCursor {
 public:
  CheckedCursor(MetaView& view, State state, KeyRange range)
      : cursor_(std::move(view.cursor(range)).value()), state_(std::move(state)) {
    std::erase_if(state_, [&](const auto& entry) {
      return entry.first < range.first || (range.end.has_value() && entry.first >= *range.end);
    });
    at_ = state_.end();
  }

  void random_step(io::Rng& rng, const std::string& probe) {
    const std::uint64_t choice = rng.below(at_ == state_.end() ? 2 : 10);
    if (choice == 0) {
      at_ = state_.lower_bound(probe);
      REQUIRE(cursor_.seek(probe).ok());
    } else if (choice == 1) {
      at_ = state_.lower_bound(probe);
      at_ = at_ == state_.begin() ? state_.end() : std::prev(at_);
      REQUIRE(cursor_.seek_before(probe).ok());
    } else {
      // Some walks are long enough to read far ahead.
      const std::uint64_t steps = rng.chance(1, 10) ? 1 + rng.below(80) : 1;
      for (std::uint64_t i = 0; i < steps && at_ != state_.end(); ++i) step(choice < 6);
    }
    check();
  }

 private:
  void step(bool forward) {
    check();
    if (forward) {
      ++at_;
      REQUIRE(cursor_.next().ok());
    } else {
      at_ = at_ == state_.begin() ? state_.end() : std::prev(at_);
      REQUIRE(cursor_.prev().ok());
    }
  }
  void check() {
    REQUIRE(cursor_.valid() == (at_ != state_.end()));
    if (!cursor_.valid()) return;
    REQUIRE(cursor_.key() == at_->first);
    REQUIRE(cursor_.value() == at_->second);
  }

  MetaView::Cursor cursor_;
  State state_;
  State::const_iterator at_;
};

TEST_CASE("metadata: cursors go both ways in their state and range, whatever happens meanwhile") {
  static const std::string kKeys[] = {"a", "a1",    std::string("a\0", 2), "a\xff", "b", "ba", "c",
                                      "d", "d\xff", "d\xff\xff",           "e",     "f"};
  const auto key_of = [&](io::Rng& rng) {
    return kKeys[rng.below(std::size(kKeys))] +
           (rng.chance(1, 2) ? std::to_string(rng.below(9)) : "");
  };
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    Fixture fixture;
    Metadata& metadata = *fixture.metadata;
    State state;
    Lsn lsn = 0;
    bool frozen = false;
    struct Reader {
      std::unique_ptr<MetaView> view;
      std::unique_ptr<CheckedCursor> cursor;
    };
    std::list<Reader> readers;  // in its place each: a cursor ends before its view
    for (int step = 0; step < 1000; ++step) {
      const std::string key = key_of(rng);
      switch (rng.below(40)) {
        case 0:
          if (frozen) {
            metadata.drop_frozen();
          } else {
            fixture.to_index(*metadata.freeze(lsn), lsn);
          }
          frozen = !frozen;
          break;
        case 1:  // commits that are cut, under the cursors
          for (Lsn above = lsn + 1; above <= lsn + 5; ++above) {
            metadata.apply(above, key_of(rng),
                           rng.chance(1, 2) ? std::optional("cut") : std::nullopt);
          }
          for (Reader& reader : readers) reader.cursor->random_step(rng, key);
          metadata.erase_after(lsn);
          break;
        case 2:
        case 3:
          if (readers.size() < 4) {
            KeyRange range;
            if (rng.chance(1, 2)) range.first = key_of(rng);
            if (rng.chance(1, 2)) range.end = key_of(rng);
            Reader reader;
            reader.view = std::move(metadata.view(lsn)).value();
            reader.cursor = std::make_unique<CheckedCursor>(*reader.view, state, range);
            readers.push_back(std::move(reader));
          } else {
            readers.pop_front();
          }
          break;
        default:
          ++lsn;
          if (rng.chance(1, 2)) {
            metadata.apply(lsn, key, std::nullopt);
            state.erase(key);
          } else {
            metadata.apply(lsn, key, "value " + std::to_string(lsn));
            state[key] = "value " + std::to_string(lsn);
          }
      }
      for (Reader& reader : readers) reader.cursor->random_step(rng, key_of(rng));
    }
  }
}

TEST_CASE("metadata: a cursor above what is cut goes on without it, what it has read ahead too") {
  for (const bool reverse : {false, true}) {
    CAPTURE(reverse);
    Fixture fixture;
    Metadata& metadata = *fixture.metadata;
    for (const char* key : {"a", "c", "e"}) metadata.apply(1, key, "1");
    fixture.checkpoint(1);
    metadata.apply(2, "b", "2");
    metadata.apply(3, "c", "3");
    metadata.apply(3, "d", "3");
    metadata.apply(3, reverse ? "dd" : "bb", "3");
    const auto view = std::move(metadata.view(kMaxLsn)).value();
    MetaView::Cursor cursor = std::move(view->cursor()).value();
    const auto step = [&]() -> std::string {
      REQUIRE((reverse ? cursor.prev() : cursor.next()).ok());
      return cursor.valid() ? std::string(cursor.key()) + std::string(cursor.value()) : "end";
    };
    REQUIRE((reverse ? cursor.seek_before("z") : cursor.seek("")).ok());
    REQUIRE(cursor.key() == (reverse ? "e" : "a"));  // of the index; the memtable's next is known
    metadata.erase_after(2);
    const std::vector<std::string> expected = reverse ? std::vector<std::string>{"c1", "b2", "a1"}
                                                      : std::vector<std::string>{"b2", "c1", "e1"};
    for (const std::string& entry : expected) REQUIRE(step() == entry);
    REQUIRE(step() == "end");
  }
}

TEST_CASE("metadata: a cursor steps over tombstones of its range only, and counts them") {
  Fixture fixture;
  Metadata& metadata = *fixture.metadata;
  const auto key_of = [](char group, int i) { return group + std::to_string(1000 + i); };
  Lsn lsn = 0;
  for (const char group : {'a', 'c', 'e'}) {
    for (int i = 0; i < 900; ++i) metadata.apply(++lsn, key_of(group, i), "v");
  }
  metadata.apply(++lsn, "b", "v");
  metadata.apply(++lsn, "d", "v");
  fixture.checkpoint(lsn);
  for (const char group : {'a', 'c', 'e'}) {
    for (int i = 0; i < 900; ++i) metadata.apply(++lsn, key_of(group, i), std::nullopt);
  }
  const auto view = std::move(metadata.view(lsn)).value();
  MetaView::Cursor all = std::move(view->cursor()).value();
  REQUIRE(all.seek("").ok());
  REQUIRE(all.key() == "b");
  REQUIRE(all.moves().deleted == 900);
  REQUIRE(all.next().ok());
  REQUIRE(all.key() == "d");
  REQUIRE(all.prev().ok());
  REQUIRE(all.key() == "b");
  REQUIRE(all.prev().ok());
  REQUIRE_FALSE(all.valid());
  REQUIRE(all.moves().deleted == 3600);
  REQUIRE(all.moves().seeks == 2);

  MetaView::Cursor some = std::move(view->cursor({"b", "c5"})).value();
  REQUIRE(some.seek("").ok());
  REQUIRE(some.key() == "b");
  REQUIRE(some.next().ok());
  REQUIRE_FALSE(some.valid());
  REQUIRE(some.seek_before("z").ok());
  REQUIRE(some.key() == "b");
  REQUIRE(some.prev().ok());
  REQUIRE_FALSE(some.valid());
  REQUIRE(some.moves().deleted == 1800);
  REQUIRE(some.seek("c5").ok());
  REQUIRE(some.seek_before("b").ok());
  REQUIRE_FALSE(some.valid());
  REQUIRE(some.moves().deleted == 1800);
}

TEST_CASE("metadata: a cursor gives up after as many deleted keys as it was told, and says so") {
  Fixture fixture;
  Metadata& metadata = *fixture.metadata;
  for (int i = 0; i < 300; ++i) {
    const std::string key = "a" + std::to_string(1000 + i);
    metadata.apply(1, key, "x");
    if (i < 290) metadata.apply(2, key, std::nullopt);
  }
  const auto first = [&](std::uint64_t most) {
    const std::unique_ptr<MetaView> view = metadata.view(2).value();
    MetaView::Cursor cursor = view->cursor({"a", "b"}).value();
    cursor.give_up_after(most);
    const Status sought = cursor.seek("a");
    CHECK(sought.ok() == cursor.valid());
    if (!sought.ok()) CHECK(sought.error().code == ErrorCode::kUnavailable);
    CHECK(cursor.gave_up() == !sought.ok());
    return sought.ok() ? std::string(cursor.key()) : "";
  };
  CHECK(first(100).empty());
  CHECK(first(0).empty());
  CHECK(first(291) == "a1290");
  CHECK(first(1000) == "a1290");
}

TEST_CASE("metadata: a cursor over a prefix stands on its first key and ends with its last") {
  Fixture f;
  for (const char* key : {"a", "b", "ba", "b\xff", "c"}) f.metadata->apply(1, key, key);
  const auto view = std::move(f.metadata->view(1)).value();
  std::vector<std::string> found;
  MetaView::Cursor cursor = std::move(view->cursor_over("b")).value();
  while (cursor.valid()) {
    found.emplace_back(cursor.key());
    REQUIRE(cursor.next().ok());
  }
  REQUIRE(found == std::vector<std::string>{"b", "ba", "b\xff"});
  REQUIRE_FALSE(std::move(view->cursor_over("d")).value().valid());
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
    cache.insert_collection(found.ticket, "c", {7, {}}, 0);
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
