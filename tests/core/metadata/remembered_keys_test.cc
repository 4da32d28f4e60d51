// What metadata remembers in front of the index, and what a look-up gives without a copy: C13 of
// core/metadata/metadata.h.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/metadata/metadata.h"
#include "core/record/keys.h"
#include "tests/core/metadata/metadata_fixture.h"

namespace hexad::core {
namespace {

using Fixture = testing::MetadataFixture;

TEST_CASE("metadata: the index is asked for a collection once between two checkpoints") {
  Fixture f;
  const std::string key = collection_key("c");
  const std::string absent = collection_key("none");
  const auto asked = [&](const std::string& what) {
    const int before = f.index->snapshots;
    REQUIRE(f.metadata->get_latest(what).ok());
    return f.index->snapshots - before;
  };
  f.metadata->apply(1, key, "1");
  f.metadata->apply(1, "other", "1");
  REQUIRE(asked(key) == 0);  // the memtable has it
  f.checkpoint(1);
  REQUIRE(asked(key) == 1);
  REQUIRE(asked(key) == 0);
  REQUIRE(*f.metadata->get_latest(key) == "1");
  REQUIRE(asked(absent) == 1);
  REQUIRE(asked(absent) == 0);
  REQUIRE_FALSE(f.metadata->get_latest(absent)->has_value());
  REQUIRE(asked("other") == 1);
  REQUIRE(asked("other") == 1);

  // What changes is seen at every step of the checkpoint that brings it into the index.
  f.metadata->apply(2, key, "2");
  f.metadata->apply(2, absent, "2");
  const auto latest = [&] {
    return *f.metadata->get_latest(key).value() + *f.metadata->get_latest(absent).value();
  };
  REQUIRE(latest() == "22");
  const auto frozen = f.metadata->freeze(2);
  REQUIRE(latest() == "22");
  f.to_index(*frozen, 2);
  REQUIRE(latest() == "22");
  f.metadata->drop_frozen();
  REQUIRE(latest() == "22");
  // What a checkpoint does not change is remembered beyond it.
  f.metadata->apply(3, absent, "3");
  f.checkpoint(3);
  REQUIRE(asked(key) == 0);
  REQUIRE(asked(absent) == 1);
  REQUIRE(latest() == "23");
}

TEST_CASE("metadata: views ask the index for a collection once, too, and are told of their state") {
  Fixture f;
  const std::string key = collection_key("c");
  const auto view = [&](Lsn at) { return std::move(f.metadata->view(at)).value(); };
  const auto asked = [&](MetaView& of) {
    const int before = f.index->gets;
    REQUIRE(of.get(key).ok());
    return f.index->gets - before;
  };
  f.metadata->apply(1, key, "1");
  f.checkpoint(1);
  const auto first = view(1);
  REQUIRE(asked(*first) == 1);
  REQUIRE(asked(*first) == 0);
  REQUIRE(asked(*view(1)) == 0);
  // A newer version hides what is remembered from those who see it, and from nobody else.
  f.metadata->apply(2, key, "2");
  REQUIRE(*first->get(key) == "1");
  REQUIRE(*view(1)->get(key) == "1");
  REQUIRE(*view(2)->get(key) == "2");
  f.checkpoint(2);
  // What the index has now is noted, and not for a view from before; what that one reads is not.
  REQUIRE(*f.metadata->get_latest(key) == "2");
  REQUIRE(*first->get(key) == "1");
  REQUIRE(*view(2)->get(key) == "2");
  REQUIRE(*f.metadata->get_latest(key) == "2");
  f.metadata->apply(3, "other", "3");
  f.checkpoint(3);
  REQUIRE(*first->get(key) == "1");
  const auto third = view(3);
  REQUIRE(asked(*third) == 0);
  REQUIRE(*third->get(key) == "2");
}

CollectionRecord collection_of(CollectionId id) {
  CollectionRecord record;
  record.id = id;
  return record;
}

TEST_CASE("metadata: the record of a collection is what the view says, remembered or not") {
  Fixture f;
  const std::string key = collection_key("c");
  const auto view = [&](Lsn at) { return std::move(f.metadata->view(at)).value(); };
  const auto id_in = [](MetaView& of) {
    bool newest = false;
    const auto record = of.collection("c", &newest).value();
    const std::string id = record == nullptr ? "none" : std::to_string(record->id);
    return id + (newest ? "" : ", not the newest");
  };
  const auto zeroth = view(0);
  REQUIRE(id_in(*zeroth) == "none");
  REQUIRE(id_in(*zeroth) == "none");  // that there is none is remembered, too
  f.metadata->apply(1, key, encode_collection(collection_of(1)));
  REQUIRE(id_in(*zeroth) == "none, not the newest");
  const auto first = view(1);
  REQUIRE(id_in(*first) == "1");  // of the memtable
  f.checkpoint(1);
  const auto second = view(1);
  const int before = f.index->gets;
  REQUIRE(id_in(*second) == "1");
  const std::shared_ptr<const CollectionRecord> read = second->collection("c").value();
  REQUIRE(read->id == 1);
  REQUIRE(second->collection("c").value() == read);  // the same one, not decoded again
  REQUIRE(view(1)->collection("c").value() == read);
  REQUIRE(f.index->gets == before + 1);
  // A newer version hides what is remembered from those who see it, and from nobody else.
  f.metadata->apply(2, key, encode_collection(collection_of(2)));
  REQUIRE(id_in(*second) == "1, not the newest");
  REQUIRE(id_in(*view(2)) == "2");
  // Views from before a checkpoint are told nothing that is remembered since.
  f.checkpoint(2);
  REQUIRE(id_in(*view(2)) == "2");
  REQUIRE(id_in(*second) == "1, not the newest");
  REQUIRE(id_in(*view(2)) == "2");
  f.metadata->apply(3, key, std::nullopt);
  REQUIRE(id_in(*view(3)) == "none");
  f.checkpoint(3);
  REQUIRE(id_in(*view(3)) == "none");
  REQUIRE(id_in(*view(3)) == "none");
}

TEST_CASE("metadata: a record of a collection that cannot be decoded is an error each time") {
  Fixture f;
  f.metadata->apply(1, collection_key("c"), "?");
  f.checkpoint(1);
  const auto view = std::move(f.metadata->view(1)).value();
  for (int i = 0; i < 3; ++i) {
    const auto record = view->collection("c");
    REQUIRE_FALSE(record.ok());
    REQUIRE(record.error().code == ErrorCode::kCorruption);
  }
  REQUIRE(*view->get(collection_key("c")) == "?");
}

TEST_CASE("metadata: looking up without a copy says what a copy does, for as long as the view") {
  Fixture f;
  f.metadata->apply(1, "index", "1");
  f.metadata->apply(1, "gone", "1");
  f.checkpoint(1);
  f.metadata->apply(2, "frozen", "2");
  f.metadata->apply(3, "gone", std::nullopt);
  const auto frozen = f.metadata->freeze(3);
  f.metadata->apply(4, "active", "4");
  f.metadata->apply(5, "pending", "5");
  f.metadata->apply(6, "active", "6");
  const auto view = std::move(f.metadata->view(4)).value();
  std::map<std::string, std::optional<std::string_view>> seen;
  for (const char* key : {"index", "gone", "frozen", "active", "pending", "none"}) {
    CAPTURE(key);
    bool newest = false;
    bool newest_copied = false;
    const auto found = view->look_up(key, &newest).value();
    const auto copied = view->get(key, &newest_copied).value();
    REQUIRE(found.has_value() == copied.has_value());
    if (found.has_value()) REQUIRE(*found == *copied);
    REQUIRE(newest == newest_copied);
    seen[key] = found;
  }
  REQUIRE(seen["active"] == "4");
  // Groups that are cut, new versions and checkpoints: the bytes stay.
  f.metadata->erase_after(4);
  f.to_index(*frozen, 3);
  f.metadata->drop_frozen();
  f.metadata->apply(5, "active", "five");
  f.checkpoint(5);
  REQUIRE(seen["index"] == "1");
  REQUIRE(seen["frozen"] == "2");
  REQUIRE(seen["active"] == "4");
  REQUIRE_FALSE(seen["gone"].has_value());
  REQUIRE_FALSE(seen["pending"].has_value());
}

TEST_CASE("metadata: a state of the index is held for look-ups until a checkpoint has ended") {
  Fixture f;
  f.metadata->apply(1, "a", "1");
  f.metadata->apply(1, "b", "1");
  f.checkpoint(1);
  const WarmKeys warm;
  IndexHold hold;
  std::string room;
  const auto peek = [&](const std::string& key) {
    const Metadata::PeekedBytes found = f.metadata->peek_latest(key, warm, hold, room).value();
    REQUIRE(found.known);
    return std::string(found.value.value_or("nothing"));
  };
  int snapshots = f.index->snapshots;
  REQUIRE(peek("a") == "1");
  REQUIRE(peek("b") == "1");
  REQUIRE(peek("none") == "nothing");
  REQUIRE(f.index->snapshots == snapshots + 1);
  // What is newer stands in the memtables, and then in another state of the index (C13).
  f.metadata->apply(2, "a", "2");
  REQUIRE(peek("a") == "2");
  f.checkpoint(2);
  REQUIRE(peek("a") == "2");
  // Not for ever: it pins pages.
  snapshots = f.index->snapshots;
  for (int i = 0; i < Metadata::kMostLooks; ++i) REQUIRE(peek("b") == "1");
  REQUIRE(f.index->snapshots == snapshots + 1);
  hold.let_go();
  REQUIRE(peek("b") == "1");
  REQUIRE(f.index->snapshots == snapshots + 2);
}

TEST_CASE("metadata: what was read ahead is told until a checkpoint brings something newer") {
  Fixture f;
  const std::vector<std::string> keys{"a", "b", "none"};
  f.index->knows_nothing = true;
  f.metadata->apply(1, "a", "1");
  f.metadata->apply(1, "b", "1");
  f.checkpoint(1);
  WarmKeys warm;
  const auto peek = [&](const std::string& key) {
    Metadata::Peeked peeked = f.metadata->peek_latest(key, warm).value();
    return !peeked.known ? "unknown" : peeked.value.value_or("nothing");
  };
  REQUIRE(peek("a") == "unknown");
  REQUIRE(f.metadata->warm(keys, warm).ok());
  REQUIRE(peek("a") == "1");
  REQUIRE(peek("none") == "nothing");
  REQUIRE(peek("c") == "unknown");
  const int gets = f.index->gets;
  REQUIRE(f.metadata->warm(keys, warm).ok());
  REQUIRE(f.index->gets == gets);  // it is there
  // A newer version goes first, in the memtables and while they are on their way into the index.
  f.metadata->apply(2, "a", "2");
  REQUIRE(peek("a") == "2");
  const auto frozen = f.metadata->freeze(2);
  REQUIRE(peek("a") == "2");
  f.to_index(*frozen, 2);
  REQUIRE(peek("a") == "2");
  REQUIRE(peek("b") == "1");
  f.metadata->drop_frozen();
  REQUIRE(peek("a") == "unknown");
  REQUIRE(peek("b") == "unknown");
  REQUIRE(f.metadata->warm(keys, warm).ok());
  REQUIRE(peek("a") == "2");
  // A checkpoint that ends while keys are read: what was read is of no use, and not told.
  f.index->before_snapshot = [&] {
    f.metadata->apply(3, "a", "3");
    f.checkpoint(3);
  };
  WarmKeys late;
  REQUIRE(f.metadata->warm(keys, late).ok());
  REQUIRE_FALSE(f.metadata->peek_latest("a", late)->known);
  f.metadata->apply(4, "a", "4");
  f.checkpoint(4);
  REQUIRE_FALSE(f.metadata->peek_latest("a", late)->known);
}

TEST_CASE("metadata: a collection is what the view says while the memtables come and go") {
  Fixture f;
  const auto id_in = [&](Lsn at) {
    const auto view = std::move(f.metadata->view(at)).value();
    bool newest = false;
    const auto record = view->collection("c", &newest).value();
    REQUIRE(newest);
    return record == nullptr ? CollectionId(0) : record->id;
  };
  const std::string key = collection_key("c");
  const auto put = [&](Lsn lsn, CollectionId id) {
    f.metadata->apply(lsn, key, encode_collection(collection_of(id)));
  };
  put(1, 1);
  REQUIRE(id_in(1) == 1);
  f.checkpoint(1);
  REQUIRE(id_in(1) == 1);  // of the index, and remembered from here on
  f.metadata->apply(2, "other", "2");
  REQUIRE(id_in(2) == 1);
  put(3, 3);
  REQUIRE(id_in(3) == 3);
  const auto old = std::move(f.metadata->view(2)).value();
  REQUIRE(old->collection("c").value()->id == 1);
  const auto frozen = f.metadata->freeze(3);
  REQUIRE(id_in(3) == 3);  // the frozen one has it
  f.metadata->apply(4, "other", "4");
  REQUIRE(id_in(4) == 3);
  f.metadata->unfreeze();
  REQUIRE(id_in(4) == 3);  // the active one has it again
  f.checkpoint(4);
  REQUIRE(id_in(4) == 3);
  REQUIRE(id_in(4) == 3);
  // While it is thawed there are changes of its own.
  f.metadata->freeze(4);
  put(5, 5);
  f.metadata->unfreeze();
  REQUIRE(id_in(5) == 5);
  f.metadata->apply(6, key, std::nullopt);
  REQUIRE(id_in(6) == 0);
  f.checkpoint(6);
  REQUIRE(id_in(6) == 0);
  REQUIRE(id_in(6) == 0);
  REQUIRE(old->collection("c").value()->id == 1);
}

TEST_CASE("metadata: what was read of a collection before a checkpoint ended is not kept") {
  Fixture f;
  const std::string key = collection_key("c");
  f.metadata->apply(1, key, "1");
  f.checkpoint(1);
  // The reader has its snapshot of the index when the checkpoint comes.
  f.index->after_snapshot = [&] {
    f.metadata->apply(2, key, "2");
    f.checkpoint(2);
  };
  REQUIRE(*f.metadata->get_latest(key) == "1");
  REQUIRE(*f.metadata->get_latest(key) == "2");
  // A checkpoint that fails has put some of it into the index already.
  f.metadata->apply(3, key, "3");
  f.to_index(*f.metadata->freeze(3), 3);
  f.metadata->unfreeze();
  REQUIRE(*f.metadata->get_latest(key) == "3");
  f.metadata->apply(4, key, std::nullopt);
  f.checkpoint(4);
  REQUIRE_FALSE(f.metadata->get_latest(key)->has_value());
}

TEST_CASE("metadata: what a checkpoint has brought into the index is not told to earlier views") {
  Fixture f;
  const std::string key = collection_key("c");
  f.metadata->apply(1, key, "1");
  f.checkpoint(1);
  const auto before = std::move(f.metadata->view(1)).value();
  // Between looking at the memtables and at the index, the key changes and gets into the index.
  f.index->before_snapshot = [&] {
    f.metadata->apply(2, key, "2");
    f.to_index(*f.metadata->freeze(2), 2);
  };
  REQUIRE(*f.metadata->get_latest(key) == "2");
  REQUIRE(*before->get(key) == "1");
  REQUIRE(*std::move(f.metadata->view(2)).value()->get(key) == "2");
  f.metadata->drop_frozen();
  REQUIRE(*before->get(key) == "1");
  REQUIRE(*f.metadata->get_latest(key) == "2");
}

}  // namespace
}  // namespace hexad::core
