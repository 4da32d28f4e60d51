#include "core/space/saved_images.h"

#include <catch2/catch.hpp>

using namespace hexad;
using namespace hexad::core;

TEST_CASE("saved images: until a root has the next ones those before count (SL8)") {
  SavedImages images;
  images.load(1, {{0, 7}});
  images.load(2, {});
  CHECK(images.last(1) == LackingSlots{{0, 7}});
  CHECK(images.last(2).empty());
  images.want(1);
  images.want(2);
  images.begin();
  images.hand_out(1, {});
  images.hand_out(2, {{3, 8}});
  CHECK(images.is_next(1));
  CHECK(images.next(1).empty());
  CHECK(images.last(1) == LackingSlots{{0, 7}});
  images.written();
  CHECK_FALSE(images.is_next(1));
  CHECK(images.last(1).empty());
  CHECK(images.last(2) == LackingSlots{{3, 8}});
  CHECK(images.wanted().empty());
}

TEST_CASE("saved images: a checkpoint that fails forgets none") {
  SavedImages images;
  images.want(1);
  images.begin();
  images.hand_out(1, {{0, 7}});
  images.want(2);
  images.begin();
  CHECK(images.wanted() == std::set<alloc::ZoneId>{1, 2});
  CHECK_FALSE(images.is_next(1));
  CHECK(images.last(1).empty());
}
