#include "tools/import_export/import_target.h"

#include <catch2/catch.hpp>

#include "tests/core/store_fixture.h"

namespace hexad::tools {
namespace {

using hexad::testing::get;
using hexad::testing::noise;
using hexad::testing::StoreFixture;

constexpr const char* kC = kDefaultCollection;

Bytes bytes_of(const std::string& text) {
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

// An import into a store of its own.
struct Target {
  Target() : store(fixture.open()) { begin(); }
  void begin(const std::string& prefix = "") {
    target.emplace(store, fixture.memory.executor(), kC);
    REQUIRE(target->look(prefix).ok());
  }
  void put(const std::string& name, const std::string& data, PosixAttributes posix = {}) {
    const std::optional<ImportTarget::Present> present = target->find(name).value();
    REQUIRE(
        target->put({name, posix, present}, data.size(), {{0, data.size()}}, bytes_of(data)).ok());
  }
  void put_directory(const std::string& name) {
    const std::optional<ImportTarget::Present> present = target->find(name).value();
    REQUIRE(target->put_directory({name, {FileType::kDirectory, 0755, FileTime{}}, present}).ok());
  }
  std::string names() {
    REQUIRE(target->finish().ok());
    const ListPage page = store.list(kC).value();
    std::string all;
    for (const ListEntry& entry : page.entries) all += std::string(entry.name) + " ";
    return all;
  }

  StoreFixture fixture;
  Store store;
  std::optional<ImportTarget> target;
};

TEST_CASE("import_target: a file takes the place of a directory with all below it, and back") {
  Target t;
  CHECK(t.target->is_fresh());
  t.put_directory("x/");
  t.put("x/a", "1");
  t.put("x/b/c", "2");
  t.put("x-", "3");
  t.put("x.d", "4");
  REQUIRE(t.names() == "x- x.d x/ x/a x/b/c ");
  t.begin();
  CHECK_FALSE(t.target->is_fresh());
  CHECK(t.target->count_in_the_way("x").value() == 3);
  t.put("x", "now a file");
  REQUIRE(t.names() == "x x- x.d ");
  CHECK(t.target->displaced() == 3);
  t.begin();
  CHECK(t.target->count_in_the_way("x/").value() == 1);
  t.put_directory("x/");
  t.put("x/a", "again");
  REQUIRE(t.names() == "x- x.d x/ x/a ");
  CHECK(t.target->displaced() == 1);
}

TEST_CASE("import_target: more than one transaction takes away goes as well") {
  Target t;
  for (int i = 0; i < 2500; ++i) t.put("x/" + std::to_string(i), "");
  t.put("y", "");
  t.names();
  t.begin();
  t.put("x", "file");
  REQUIRE(t.names() == "x y ");
  CHECK(t.target->displaced() == 2500);
}

TEST_CASE("import_target: attributes of the file are replaced, those of others stay") {
  Target t;
  PosixAttributes posix{FileType::kFile, 0644, FileTime{1, 2}};
  posix.xattrs = {{"user.old", "1"}};
  posix.link = "group";
  t.put("a", "old", posix);
  t.names();
  Transaction other;
  other.set_attr(kC, "a", "author", "Mary");
  REQUIRE(t.store.commit(std::move(other)).ok());
  t.begin();
  const PosixAttributes now{FileType::kFile, 0600, FileTime{3, 4}};
  t.put("a", "new", now);
  t.names();
  CHECK(t.store.attributes(kC, "a").value() == Attributes{{"author", "Mary"},
                                                          {"posix.mode", "0600"},
                                                          {"posix.mtime_ns", "3000000004"},
                                                          {"posix.type", "file"}});
  const ImportTarget::Present present = t.target->find("a").value().value();
  CHECK(present.size == 3);
  CHECK(remembers(present, now));
  CHECK_FALSE(remembers(present, posix));
  // Bring only the attributes up.
  REQUIRE(t.target->set_attributes({"a", posix, present}).ok());
  t.names();
  CHECK(remembers(t.target->find("a").value().value(), posix));
  CHECK(get(t.store, "a") == "new");
}

TEST_CASE("import_target: an object that is full of other attributes takes xattrs in its omap") {
  Target t;
  Transaction other;
  other.put(kC, "a", "x");
  other.set_attr(kC, "a", "long", std::string(60'000, 'x'));
  REQUIRE(t.store.commit(std::move(other)).ok());
  t.begin();
  PosixAttributes posix{FileType::kFile, 0600, FileTime{1, 2}};
  posix.xattrs = {{"user.note", std::string(10'000, 'n')}};
  t.put("a", "new", posix);
  t.names();
  const Attributes attributes = t.store.attributes(kC, "a").value();
  CHECK(attributes.at("long").size() == 60'000);
  CHECK(load_posix_attributes(t.store, kC, "a", attributes).value() == posix);
}

TEST_CASE("import_target: holes of a small file stay holes") {
  Target t;
  const PosixAttributes posix;
  REQUIRE(
      t.target->put({"a", posix, {}}, 100'000, {{5000, 3}, {90'000, 2}}, bytes_of("abcde")).ok());
  REQUIRE(t.target->put({"hole", posix, {}}, 1 << 20, {}, {}).ok());
  t.names();
  CHECK(t.store.extents(kC, "a").value() == std::vector<ByteRange>{{5000, 3}, {90'000, 2}});
  CHECK(get(t.store, "a").substr(5000, 3) == "abc");
  CHECK(get(t.store, "a").size() == 100'000);
  CHECK(t.store.extents(kC, "hole")->empty());
  CHECK(t.store.stat(kC, "hole")->size == 1 << 20);
}

TEST_CASE("import_target: a further name shows the same bytes, with attributes of its own") {
  Target t;
  PosixAttributes posix{FileType::kFile, 0644, FileTime{1, 2}};
  posix.link = "g";
  t.put("b", "what was there before", posix);
  t.names();
  Transaction other;
  other.set_attr(kC, "b", "author", "Mary");
  REQUIRE(t.store.commit(std::move(other)).ok());
  t.begin();
  t.put("a", noise(50'000, 1), posix);
  Transaction first;
  REQUIRE(t.target->finish().ok());
  first.set_attr(kC, "a", "of a", "1");
  REQUIRE(t.store.commit(std::move(first)).ok());
  const std::optional<ImportTarget::Present> present = t.target->find("b").value();
  REQUIRE(t.target->clone({"b", posix, present}, "a", 50'000).value());
  t.names();
  CHECK((get(t.store, "b") == noise(50'000, 1)));
  const Attributes attributes = t.store.attributes(kC, "b").value();
  CHECK(attributes.at("author") == "Mary");
  CHECK(attributes.at("posix.link") == "g");
  CHECK_FALSE(attributes.contains("of a"));
}

TEST_CASE(
    "import_target: with nothing under the prefix nothing is looked up, with something it is") {
  Target t;
  t.put("p/a", "1");
  t.names();
  t.begin("q/");
  CHECK(t.target->is_fresh());
  t.begin("p/");
  CHECK_FALSE(t.target->is_fresh());
  CHECK_FALSE(t.target->find("p/none").value().has_value());
  ImportTarget missing(t.store, t.fixture.memory.executor(), "no such collection");
  CHECK(hexad::testing::code_of(missing.look("")) == ErrorCode::kNotFound);
}

}  // namespace
}  // namespace hexad::tools
