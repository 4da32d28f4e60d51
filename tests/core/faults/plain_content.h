// What a test has put into a store, to be compared with what is there: objects whose names are
// numbers, some with attributes.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <string_view>

#include "tests/core/store_fixture.h"

namespace hexad::testing {

class PlainContent {
 public:
  // Makes object `number`, or makes it anew: inline, unplaced or large, as the number has it.
  void put(Store& store, int number) {
    Object object;
    object.value = noise(100 + 700 * (number % 40), ++seed_);
    commit(store, number, object);
  }
  // The same with `bytes` of attributes, which are metadata; at most kMaxAttributeBytes.
  void put_with_attributes(Store& store, int number, std::size_t bytes) {
    Object object;
    object.value = noise(1000, ++seed_);
    object.attributes["large"] = noise(bytes, seed_);
    commit(store, number, object);
  }
  void remove(Store& store, int number) {
    REQUIRE(message_of(::hexad::testing::remove(store, std::to_string(number)).status()) == "");
    objects_.erase(std::to_string(number));
  }
  // The first thing that is otherwise than it was written, or nothing.
  std::string difference(Store& store) const {
    ListOptions options;
    options.limit = kMaxListPage;
    const Result<ListPage> page = store.list(kBucket, options);
    if (!page.ok()) return "list: " + page.error().to_string();
    auto listed = page->entries.begin();
    for (const auto& [name, object] : objects_) {
      if (listed == page->entries.end() || listed->name != name) return name + " is not listed";
      if (listed->size != object.value.size()) return name + " is listed with another size";
      ++listed;
      if (const std::string found = get(store, name); found != object.value) {
        return "object " + name + ": " + found.substr(0, 99);
      }
      const Result<Attributes> attributes = store.attributes(kBucket, name);
      if (!attributes.ok()) return "attributes of " + name + ": " + attributes.error().to_string();
      if (*attributes != object.attributes) return "other attributes of " + name;
    }
    return listed == page->entries.end() ? "" : std::string(listed->name) + " is listed";
  }

 private:
  struct Object {
    std::string value;
    Attributes attributes;
  };

  void commit(Store& store, int number, const Object& object) {
    const std::string name = std::to_string(number);
    Transaction t;
    t.put(kBucket, name, object.value);
    t.remove_attrs(kBucket, name);
    t.set_attrs(kBucket, name, object.attributes);
    REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
    objects_[name] = object;
  }

  std::map<std::string, Object> objects_;
  std::uint64_t seed_ = 0;
};

// Whether one of the notes of status() has the text.
inline bool says(Store& store, std::string_view text) {
  for (const std::string& note : store.status().notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace hexad::testing
