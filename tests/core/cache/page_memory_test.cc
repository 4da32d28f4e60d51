#include "core/cache/page_memory.h"

#include <catch2/catch.hpp>
#include <memory>
#include <utility>

namespace hexad::core {
namespace {

ExtentList inline_extents(std::size_t count, char byte) {
  ExtentList extents(count);
  for (std::size_t i = 0; i < count; ++i) {
    extents[i].offset = i;
    extents[i].length = 1;
    extents[i].bytes = std::string(1, byte);
  }
  return extents;
}

std::unique_ptr<KnownPage> inline_page(std::size_t count, char byte) {
  auto known = std::make_unique<KnownPage>();
  known->extents = inline_extents(count, byte);
  known->code = code_page(known->extents, {});
  return known;
}

TEST_CASE("page_memory: gives back what was put last, page by page") {
  PageMemory memory(100);
  REQUIRE(memory.find(1, 0) == nullptr);
  memory.put(1, 0, inline_page(2, 'a'));
  memory.put(1, 1, inline_page(3, 'b'));
  memory.put(2, 0, inline_page(4, 'c'));
  memory.put(1, 0, inline_page(5, 'd'));
  REQUIRE(memory.find(1, 0)->extents == inline_extents(5, 'd'));
  REQUIRE(memory.find(1, 1)->extents == inline_extents(3, 'b'));
  REQUIRE(memory.find(2, 0)->extents == inline_extents(4, 'c'));
  REQUIRE(memory.extents() == 12);
  memory.forget(1, 1);
  memory.forget(7, 7);
  REQUIRE(memory.find(1, 1) == nullptr);
  REQUIRE(memory.extents() == 9);
  memory.clear();
  REQUIRE(memory.find(1, 0) == nullptr);
  REQUIRE(memory.extents() == 0);
}

TEST_CASE("page_memory: lets go of what was not put for longest") {
  PageMemory memory(10);
  memory.put(1, 0, inline_page(4, 'a'));
  memory.put(1, 1, inline_page(4, 'b'));
  memory.put(1, 0, memory.take(1, 0));
  memory.put(1, 2, inline_page(4, 'c'));
  REQUIRE(memory.find(1, 1) == nullptr);
  REQUIRE(memory.find(1, 0) != nullptr);
  REQUIRE(memory.find(1, 2) != nullptr);
  REQUIRE(memory.extents() == 8);
}

TEST_CASE("page_memory: a page longer than all may be stays until the next") {
  PageMemory memory(10);
  memory.put(1, 0, inline_page(4, 'a'));
  memory.put(1, 1, inline_page(40, 'b'));
  REQUIRE(memory.find(1, 0) == nullptr);
  REQUIRE(memory.find(1, 1) != nullptr);
  memory.put(1, 2, inline_page(1, 'c'));
  REQUIRE(memory.find(1, 1) == nullptr);
  REQUIRE(memory.extents() == 1);
}

TEST_CASE("page_memory: who takes a page has it alone") {
  PageMemory memory(10);
  memory.put(1, 0, inline_page(4, 'a'));
  memory.put(1, 1, inline_page(3, 'b'));
  std::unique_ptr<KnownPage> taken = memory.take(1, 0);
  REQUIRE(taken->extents == inline_extents(4, 'a'));
  REQUIRE(memory.take(1, 0) == nullptr);
  REQUIRE(memory.find(1, 0) == nullptr);
  REQUIRE(memory.extents() == 3);
  memory.put(1, 0, std::move(taken));
  REQUIRE(memory.find(1, 0)->extents == inline_extents(4, 'a'));
  REQUIRE(memory.extents() == 7);
}

}  // namespace
}  // namespace hexad::core
