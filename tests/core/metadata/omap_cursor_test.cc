#include "core/metadata/omap_cursor.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/record/keys.h"
#include "io/executor.h"
#include "kv/memory/memory_index.h"

namespace hexad::core {
namespace {

struct World {
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  std::unique_ptr<kv::IndexHome> home = kv::make_memory_index_home(*executor);
  std::unique_ptr<kv::Index> index = home->open("index", {}, io::OpenMode::kReadWrite).value();
  Metadata metadata{*executor, *index};

  void set(OmapId layer, const std::string& key, const std::string& value) {
    metadata.apply(1, omap_key(layer, key), value);
  }
  // "key=layer:value ...", hidden ones with "-".
  std::string walk(const std::vector<OmapId>& layers, std::string_view first = "",
                   std::string_view end = "",
                   OmapCursor::Hidden hidden = OmapCursor::Hidden::kSkipped) {
    const std::unique_ptr<MetaView> view = metadata.view(1).value();
    std::string found;
    OmapCursor cursor = OmapCursor::open(*view, layers, first, end, hidden).value();
    while (cursor.valid()) {
      found += std::string(cursor.key()) + "=" + std::to_string(cursor.layer()) + ":" +
               (is_hidden_entry(cursor.value()) ? "-" : std::string(cursor.value())) + " ";
      REQUIRE(cursor.next().ok());
    }
    return found;
  }
};

TEST_CASE("omap_cursor: the newest layer with an entry says what a key is") {
  World w;
  w.set(1, "a", "old");
  w.set(1, "b", "old");
  w.set(1, "d", "old");
  w.set(2, "b", "new");
  w.set(2, "c", "new");
  w.set(3, "e", "of another");
  CHECK(w.walk({2, 1}) == "a=1:old b=0:new c=0:new d=1:old ");
  CHECK(w.walk({1, 2}) == "a=0:old b=0:old c=1:new d=0:old ");
  CHECK(w.walk({2}) == "b=0:new c=0:new ");
  CHECK(w.walk({7, 2}) == "b=1:new c=1:new ");
  CHECK(w.walk({}).empty());
}

TEST_CASE("omap_cursor: what a layer hides is not shown, or shown as hidden when asked for") {
  World w;
  w.set(1, "a", "old");
  w.set(1, "b", "old");
  w.set(1, "c", "old");
  w.set(2, "a", encode_hidden_entry());
  w.set(2, "c", encode_hidden_entry());
  w.set(3, "c", "again");
  CHECK(w.walk({3, 2, 1}) == "b=2:old c=0:again ");
  CHECK(w.walk({2, 1}) == "b=1:old ");
  CHECK(w.walk({2}).empty());
  CHECK(w.walk({2, 1}, "", "", OmapCursor::Hidden::kShown) == "a=0:- b=1:old c=0:- ");
}

TEST_CASE("omap_cursor: bounds hold for every layer, and the header has the empty key") {
  World w;
  w.set(1, "", "header");
  w.set(1, "a", "1");
  w.set(2, "b", "2");
  w.set(1, "c", "1");
  CHECK(w.walk({2, 1}) == "=1:header a=1:1 b=0:2 c=1:1 ");
  CHECK(w.walk({2, 1}, "b") == "b=0:2 c=1:1 ");
  CHECK(w.walk({2, 1}, "aa", "c") == "b=0:2 ");
  CHECK(w.walk({2, 1}, "c", "b").empty());
  ObjectRecord object;
  CHECK(omap_layers(object).empty());
  object.layers = {4, 3};
  CHECK(omap_layers(object) == std::vector<OmapId>{4, 3});
  object.omap = 5;
  CHECK(omap_layers(object) == std::vector<OmapId>{5, 4, 3});
}

}  // namespace
}  // namespace hexad::core
