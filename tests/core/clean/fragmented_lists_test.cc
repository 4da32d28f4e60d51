#include "core/clean/fragmented_lists.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "io/rng.h"
#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

void in_simulation(const std::function<void(io::Executor&)>& test) {
  io::SimSystem system;
  system.run([&] { test(system.executor()); });
}

TEST_CASE("fragmented lists: the worst come first, down to a bound") {
  in_simulation([](io::Executor& executor) {
    FragmentedLists lists(executor);
    lists.note("a", {1000, 500}, 1);
    lists.note("b", {1000, 900}, 2);
    lists.note("c", {1000, 100}, 3);
    CHECK(lists.hidden() == 1500);
    const auto all = lists.best(10, 1024, 0).lists;
    REQUIRE(all.size() == 3);
    CHECK(all[0].key == "b");
    CHECK(all[1].key == "a");
    CHECK(all[2].key == "c");
    CHECK(lists.best(10, 512, 0).lists.size() == 2);
    CHECK(lists.best(1, 1024, 0).lists.size() == 1);
  });
}

TEST_CASE("fragmented lists: of what is said of one the newest counts") {
  in_simulation([](io::Executor& executor) {
    FragmentedLists lists(executor);
    lists.note("a", {1000, 500}, 5);
    lists.note("a", {1000, 100}, 4);
    CHECK(lists.hidden() == 500);
    lists.forget("a", 4);
    CHECK(lists.hidden() == 500);
    lists.note("a", {0, 0}, 6);
    CHECK(lists.empty());
    CHECK(lists.hidden() == 0);
    CHECK(lists.grown() == 500);
  });
}

TEST_CASE("fragmented lists: what is noted may have to wait for a checkpoint") {
  in_simulation([](io::Executor& executor) {
    FragmentedLists lists(executor);
    lists.note("a", {1000, 500}, 5, 5);
    lists.note("b", {1000, 400}, 3);
    FragmentedLists::Choice choice = lists.best(10, 1024, 4);
    REQUIRE(choice.lists.size() == 1);
    CHECK(choice.lists[0].key == "b");
    CHECK(choice.waiting);
    choice = lists.best(10, 1024, 5);
    CHECK(choice.lists.size() == 2);
    CHECK_FALSE(choice.waiting);
  });
}

TEST_CASE("fragmented lists: one that waits for a checkpoint is passed over until then") {
  in_simulation([](io::Executor& executor) {
    FragmentedLists lists(executor);
    lists.note("a", {1000, 500}, 5);
    lists.set_aside("a", 5, 9);
    CHECK(lists.best(10, 1024, 8).lists.empty());
    CHECK(lists.best(10, 1024, 8).waiting);
    CHECK(lists.best(10, 1024, 9).lists.size() == 1);
    lists.note("a", {1000, 600}, 7);  // it has changed
    CHECK(lists.best(10, 1024, 0).lists.size() == 1);
  });
}

TEST_CASE(
    "fragmented lists: what could not be read waits until it changes, or is asked for (KQ4)") {
  in_simulation([](io::Executor& executor) {
    FragmentedLists lists(executor);
    lists.note("a", {1000, 500}, 5);
    lists.note("b", {1000, 400}, 5);
    lists.note("c", {1000, 300}, 5);
    lists.note_unreadable("a", 4);  // it has changed since
    CHECK(lists.hidden() == 1200);
    for (const char* key : {"a", "b", "c"}) lists.note_unreadable(key, 5);
    CHECK(lists.best(10, 1024, 9).lists.empty());
    CHECK_FALSE(lists.best(10, 1024, 9).waiting);
    CHECK(lists.hidden() == 0);
    lists.note("b", {1000, 600}, 7);
    REQUIRE(lists.best(10, 1024, 9).lists.size() == 1);
    lists.forget("c", 6);
    lists.try_again();
    const auto all = lists.best(10, 1024, 9).lists;
    REQUIRE(all.size() == 2);
    CHECK(all[0].key == "b");
    CHECK(all[0].bytes.hidden == 600);
    CHECK(all[1].key == "a");
    CHECK(lists.grown() == 1200 + 600);
    lists.try_again();
    CHECK(lists.hidden() == 1100);
  });
}

TEST_CASE("fragmented lists: what is to be had is less than what they hide") {
  in_simulation([](io::Executor& executor) {
    FragmentedLists lists(executor);
    CHECK(lists.to_gain() == 0);
    lists.note("a", {1600, 800}, 5);
    CHECK(lists.to_gain() == 750);
    lists.note("a", {1600, 10}, 6);
    CHECK(lists.to_gain() == 0);
    lists.forget("a", 6);
    CHECK(lists.to_gain() == 0);
  });
}

TEST_CASE("fragmented lists: a model, and no more than there may be") {
  in_simulation([](io::Executor& executor) {
    io::Rng rng(9);
    constexpr std::size_t kMost = 20;
    FragmentedLists lists(executor, kMost);
    std::map<std::string, HiddenBytes> model;  // of those that fit
    bool lost = false;
    for (Lsn lsn = 1; lsn < 5000; ++lsn) {
      const std::string key = std::to_string(rng.below(40));
      const HiddenBytes bytes = {1024, rng.below(5) == 0 ? 0 : 1 + rng.below(1024)};
      lists.note(key, bytes, lsn);
      model.erase(key);
      if (bytes.hidden > 0) {
        const auto worst =
            std::min_element(model.begin(), model.end(), [](const auto& a, const auto& b) {
              return std::pair(a.second.hidden, b.first) < std::pair(b.second.hidden, a.first);
            });
        if (model.size() < kMost) {
          model[key] = bytes;
        } else {
          lost = true;
          if (worst->second.hidden < bytes.hidden) {
            model.erase(worst);
            model[key] = bytes;
          }
        }
      }
      std::uint64_t hidden = 0;
      for (const auto& [name, each] : model) hidden += each.hidden;
      REQUIRE(lists.hidden() == hidden);
      const auto all = lists.best(100, 1024, 0).lists;
      REQUIRE(all.size() == model.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        REQUIRE((model.at(all[i].key) == all[i].bytes));
        if (i > 0) REQUIRE(all[i - 1].bytes.hidden >= all[i].bytes.hidden);
      }
    }
    REQUIRE(lost);
    CHECK(lists.take_lost());
    CHECK_FALSE(lists.take_lost());
  });
}

}  // namespace
}  // namespace hexad::core
