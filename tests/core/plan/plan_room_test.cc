#include "core/plan/plan_room.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

using testing::PlannerWorld;
using testing::text;

// Overwrites all that comes back, and gives nothing of it out again: whoever still looks at it sees
// other bytes.
class OverwritingMemory final : public std::pmr::memory_resource {
 public:
  std::size_t taken() const { return blocks_.size(); }
  std::size_t given_back = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t /*alignment*/) override {
    blocks_.push_back(std::make_unique<std::byte[]>(bytes));
    return blocks_.back().get();
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t /*alignment*/) override {
    std::memset(at, 0xdd, bytes);
    ++given_back;
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

using Fill = std::function<void(Transaction&)>;

// Longer than what strings keep in themselves.
std::string long_name(int i) { return "an object with a long name, number " + std::to_string(i); }

std::vector<Fill> all_kinds() {
  return {
      [](Transaction& t) {
        t.create_collection("another collection, with a long name");
        for (int i = 0; i < 70; ++i) t.put("c", long_name(i), text(3000));
        t.put("c", "large", text(3 * kPageSpan));
        t.put("c", "small", text(10));
      },
      // What replaces something, once and twice in one transaction.
      [](Transaction& t) {
        for (int i = 0; i < 40; ++i) t.put("c", long_name(i), text(5000, 'y'));
        t.put("c", long_name(3), text(70, 'z'));
        t.write("c", "large", 5000, as_bytes(text(4096, 'w')));
        t.write("c", "large", kPageSpan + 9000, as_bytes(text(4096, 'w')));
      },
      // Pages that are remembered.
      [](Transaction& t) {
        for (std::uint64_t i = 0; i < 8; ++i) {
          t.write("c", "large", i * 20'000, as_bytes(text(4096, 'v')));
        }
      },
      [](Transaction& t) {
        t.rename("c", long_name(1), "another collection, with a long name", long_name(1));
        t.clone("c", "large", "c", "its clone");
        t.clone_range("c", "large", 100, 9000, "c", long_name(2), 500);
        t.set_attr("c", "small", "an attribute with a long name", "and a value that is long, too");
        t.omap_set("c", "small", "a key of an omap that is long", "a value");
        t.truncate("c", long_name(5), 100);
      },
      [](Transaction& t) {
        t.remove("c", long_name(6));
        t.remove_range("c", long_name(7), long_name(8));
        t.remove("c", "large");
      },
  };
}

void check_same(const Plan& one, const Plan& other) {
  CHECK(one.record == other.record);
  CHECK(one.totals == other.totals);
  CHECK(one.stripes == other.stripes);
  REQUIRE(one.owners.size() == other.owners.size());
  for (std::size_t i = 0; i < one.owners.size(); ++i) {
    CAPTURE(i);
    REQUIRE(one.owners[i].has_value() == other.owners[i].has_value());
    if (!one.owners[i].has_value()) continue;
    CHECK(one.owners[i]->key == other.owners[i]->key);
    CHECK(one.owners[i]->offset == other.owners[i]->offset);
  }
  REQUIRE(one.partly_shown.size() == other.partly_shown.size());
  for (std::size_t i = 0; i < one.partly_shown.size(); ++i) {
    CHECK(one.partly_shown[i].key == other.partly_shown[i].key);
  }
  REQUIRE(one.pages.size() == other.pages.size());
  for (std::size_t i = 0; i < one.pages.size(); ++i) {
    CHECK(one.pages[i].known->extents == other.pages[i].known->extents);
    CHECK(one.pages[i].known->code == other.pages[i].known->code);
  }
}

// RM1
TEST_CASE("plan_room: a plan is what it is without a room, and outlives what it took from it") {
  OverwritingMemory memory;
  PlanRoom room(1, &memory);
  PlannerWorld plain;
  PlannerWorld roomy;
  roomy.context.room = &room;
  int i = 0;
  for (const Fill& fill : all_kinds()) {
    CAPTURE(i++);
    Transaction t;
    fill(t);
    const std::size_t before = memory.given_back;
    const Plan one = plain.plan(t).value();
    const Plan other = roomy.plan(t).value();
    REQUIRE(memory.given_back > before);
    check_same(one, other);
    plain.commit(t, one);
    roomy.commit(t, other);
    CHECK(plain.source.map == roomy.source.map);
  }
  CHECK(memory.given_back == memory.taken());
}

TEST_CASE("plan_room: the first bytes serve every plan, and lists go from one to the next") {
  OverwritingMemory memory;
  PlanRoom room(PlanRoom::kFirstBytes, &memory);
  PlannerWorld w;
  w.context.room = &room;
  for (int i = 0; i < 50; ++i) {
    w.must([&](Transaction& t) { t.put("c", long_name(i % 3), text(3000)); });
  }
  CHECK(memory.taken() == 0);
}

TEST_CASE("plan_room: a list comes back empty, with its memory; a long one does not") {
  PlanRoom room;
  CHECK(room.list().capacity() == 0);
  ExtentList list(1);
  const Extent* const at = list.data();
  room.give(std::move(list));
  ExtentList again = room.list();
  CHECK(again.empty());
  CHECK(again.data() == at);
  CHECK(room.list().capacity() == 0);
  room.give(ExtentList(1000));
  CHECK(room.list().capacity() == 0);
}

}  // namespace
}  // namespace hexad::core
