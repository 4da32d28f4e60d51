#include "core/record/forward_keys.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "io/rng.h"

namespace hexad::core {
namespace {

// Lists by key, each blob a number: stripe number / 4, cell number % 4.
using Lists = std::map<std::string, ExtentList>;

Extent shown(std::uint32_t number, bool forwarded) {
  Extent extent;
  extent.offset = number * 100;
  extent.length = 100;
  extent.blob.placement = Placement::kPacked;
  extent.blob.where = {1, 1 + number / 4, 0};
  extent.blob.cell = number % 4;
  extent.blob.raw = extent.blob.stored = 100;
  extent.blob.forward = forwarded ? Forward::kDue : Forward::kNone;
  return extent;
}

ExtentList random_list(io::Rng& rng) {
  ExtentList list;
  for (std::uint32_t number = 0; number < 12; ++number) {
    if (rng.chance(1, 3)) list.push_back(shown(number, rng.chance(1, 2)));
  }
  return list;
}

std::map<std::string, std::string> keys_of(const Lists& lists) {
  std::map<std::string, std::string> keys;
  for (const auto& [key, list] : lists) {
    for (const Extent& extent : list) {
      if (extent.blob.forward == Forward::kNone) continue;
      REQUIRE(extent.blob.forward == Forward::kWritten);
      keys[forward_key(1, extent.blob.where.unit, key)];
    }
  }
  return keys;
}

// FW2, whatever lists of one record change places with each other.
TEST_CASE("forward_keys: behind every record each list has the keys that its marks say") {
  io::Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    Lists lists;
    std::map<std::string, std::string> keys;
    for (int record = 0; record < 10; ++record) {
      ForwardKeys forwards;
      Lists now;
      // A list goes, stays and is changed, or comes under the key of another one.
      std::vector<std::string> names = {"oa", "ob", "oc", "od"};
      for (std::size_t i = names.size() - 1; i > 0; --i) {
        std::swap(names[i], names[rng.below(i + 1)]);
      }
      std::size_t next = 0;
      for (const auto& [was, before] : lists) {
        ExtentList list = rng.chance(1, 4)   ? ExtentList()
                          : rng.chance(1, 2) ? before
                                             : random_list(rng);
        const std::string is = names[next++];
        if (is != was) {
          for (Extent& extent : list) extent.blob.forward = Forward::kDue;
        }
        forwards.change({was}, before, {is}, list);
        if (!list.empty()) now[is] = list;
      }
      for (; next < names.size(); ++next) {
        ExtentList list = random_list(rng);
        forwards.change({}, {}, {names[next]}, list);
        if (!list.empty()) now[names[next]] = list;
      }
      std::vector<PostImage> images;
      forwards.write(images);
      for (const PostImage& image : images) {
        if (image.value.has_value()) {
          keys[image.key] = *image.value;
        } else {
          keys.erase(image.key);
        }
      }
      lists = std::move(now);
      REQUIRE(keys == keys_of(lists));
    }
  }
}

TEST_CASE("forward_keys: a checkpoint writes what is due, once for each stripe") {
  ExtentList list = {shown(0, true), shown(1, true), shown(2, false), shown(5, true)};
  list[3].blob.forward = Forward::kWritten;
  std::vector<std::string> keys;
  write_due_keys("oa", list, [&](std::string key) { keys.push_back(std::move(key)); });
  CHECK(keys == std::vector<std::string>(2, forward_key(1, 1, "oa")));
  CHECK(list[0].blob.forward == Forward::kWritten);
  CHECK(list[2].blob.forward == Forward::kNone);
}

TEST_CASE("forward_keys: a list is named by its key, or as a page of a body") {
  CHECK(ListName{"oa"}.text() == "oa");
  CHECK((ListName{{}, 7, 2}).text() == page_key(7, 2));
}

}  // namespace
}  // namespace hexad::core
