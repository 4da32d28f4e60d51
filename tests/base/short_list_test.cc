#include "base/short_list.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hexad {
namespace {

// Longer than what a string keeps in itself.
std::string text(int i) { return "element number " + std::to_string(i) + " of the list"; }

template <std::size_t N>
ShortList<std::string, N> list_of(int count) {
  ShortList<std::string, N> list;
  for (int i = 0; i < count; ++i) list.push_back(text(i));
  return list;
}

template <std::size_t N>
std::vector<std::string> texts(const ShortList<std::string, N>& list) {
  return {list.begin(), list.end()};
}

std::vector<std::string> first_texts(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(text(i));
  return all;
}

template <std::size_t N>
bool lies_inside(const ShortList<std::string, N>& list) {
  const auto* const at = reinterpret_cast<const char*>(list.data());
  const auto* const from = reinterpret_cast<const char*>(&list);
  return at >= from && at < from + sizeof(list);
}

TEST_CASE("short_list: few elements lie in the list, more do not, and none changes") {
  for (const int count : {0, 1, 2, 3, 4, 5, 17}) {
    CAPTURE(count);
    const ShortList<std::string, 2> list = list_of<2>(count);
    CHECK(list.size() == static_cast<std::size_t>(count));
    CHECK(list.empty() == (count == 0));
    CHECK(texts(list) == first_texts(count));
    CHECK(lies_inside(list) == (count <= 2));
    if (count == 0) continue;
    CHECK(list.front() == text(0));
    CHECK(list.back() == text(count - 1));
    CHECK(list[static_cast<std::size_t>(count) - 1] == text(count - 1));
  }
}

TEST_CASE("short_list: whoever moves a list leaves an empty one, which can be used") {
  for (const int count : {0, 1, 2, 3, 17}) {
    for (const int before : {0, 2, 5}) {
      CAPTURE(count, before);
      ShortList<std::string, 2> from = list_of<2>(count);
      ShortList<std::string, 2> to(std::move(from));
      CHECK(texts(to) == first_texts(count));
      CHECK(from.empty());  // NOLINT(bugprone-use-after-move)
      from.push_back("new");
      CHECK(texts(from) == std::vector<std::string>{"new"});
      ShortList<std::string, 2> assigned = list_of<2>(before);
      assigned = std::move(to);
      CHECK(texts(assigned) == first_texts(count));
      CHECK(to.empty());  // NOLINT(bugprone-use-after-move)
      to.push_back("new");
      CHECK(texts(to) == std::vector<std::string>{"new"});
    }
  }
}

TEST_CASE("short_list: one of its own elements may be put into it once more") {
  ShortList<std::string, 1> list = list_of<1>(1);
  for (int i = 0; i < 9; ++i) list.push_back(list.front());
  CHECK(texts(list) == std::vector<std::string>(10, text(0)));
}

TEST_CASE("short_list: elements that go are destroyed, and no others") {
  const auto shared = std::make_shared<int>(1);
  {
    ShortList<std::shared_ptr<int>, 2> list;
    for (int i = 0; i < 6; ++i) list.push_back(shared);
    CHECK(shared.use_count() == 7);
    list.truncate(5);
    CHECK(shared.use_count() == 6);
    list.clear();
    CHECK(shared.use_count() == 1);
    list.push_back(shared);
    ShortList<std::shared_ptr<int>, 2> other;
    other.push_back(shared);
    other = std::move(list);
    CHECK(shared.use_count() == 2);
  }
  CHECK(shared.use_count() == 1);
}

}  // namespace
}  // namespace hexad
