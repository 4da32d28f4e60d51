#include "core/metadata/page_cursor.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

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

  World() {
    for (const BodyId body : {4, 5, 6}) {
      for (const std::uint32_t page : {0, 1, 2, 5, 9, 10, 11}) {
        metadata.apply(1, page_key(body, page), std::to_string(body) + "/" + std::to_string(page));
      }
    }
  }
  // Of body 5: "value ...".
  std::string walk(const PageCuts& cuts, const PageRange& range) {
    ObjectRecord object;
    object.body = 5;
    object.cuts = cuts;
    const std::unique_ptr<MetaView> view = metadata.view(1).value();
    std::string found;
    PageCursor pages = PageCursor::open(*view, object, range).value();
    while (pages.valid()) {
      CHECK(std::string(pages.value()) == "5/" + std::to_string(pages.page()));
      found += std::to_string(pages.page()) + " ";
      REQUIRE(pages.next().ok());
    }
    return found;
  }
};

TEST_CASE("page_cursor: shows the pages of one object that are in the range and not cut off") {
  World w;
  CHECK(w.walk({}, {0, kEndOfPages}) == "0 1 2 5 9 10 11 ");
  CHECK(w.walk({}, {1, 10}) == "1 2 5 9 ");
  CHECK(w.walk({{0, 1}, {5, 10}}, {0, kEndOfPages}) == "1 2 10 11 ");
  CHECK(w.walk({{0, 1}, {5, 10}}, {0, 6}) == "1 2 ");
  CHECK(w.walk({{2, kEndOfPages}}, {0, kEndOfPages}) == "0 1 ");
  CHECK(w.walk({{0, kEndOfPages}}, {0, kEndOfPages}).empty());
  CHECK(w.walk({}, {3, 3}).empty());
}

}  // namespace
}  // namespace hexad::core
