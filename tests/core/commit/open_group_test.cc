#include "core/commit/open_group.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "base/units.h"

namespace hexad::core {
namespace {

Submission submission(Lsn lsn, Durability durability = Durability::kDurable,
                      std::size_t bytes = 100) {
  Submission made;
  made.lsn = lsn;
  made.durability = durability;
  made.encoded.resize(bytes);
  return made;
}

std::vector<Lsn> lsns_of(const std::vector<Submission>& members) {
  std::vector<Lsn> lsns;
  for (const Submission& member : members) lsns.push_back(member.lsn);
  return lsns;
}

TEST_CASE("open_group: a durable commit is due at once, a buffered one when somebody wants it") {
  OpenGroup open(7);
  REQUIRE_FALSE(open.is_due());
  open.add(submission(8, Durability::kBuffered));
  REQUIRE_FALSE(open.is_due());
  SECTION("a durable one behind it") { open.add(submission(9)); }
  SECTION("who waits for it") { open.want(8); }
  SECTION("who is in a hurry") { open.hurry(8); }
  SECTION("who wants all") { open.hurry_all(8); }
  SECTION("as much as makes a group large") {
    open.add(submission(9, Durability::kBuffered, kLargeGroup));
  }
  REQUIRE(open.is_due());
  REQUIRE(open.first_lsn() == 8);
}

TEST_CASE("open_group: one group is sealed at a time, and one that is put back comes first") {
  OpenGroup open(0);
  open.add(submission(1));
  open.add(submission(2));
  const std::uint64_t before = open.bytes();
  std::vector<Submission> taken = open.take();
  REQUIRE(lsns_of(taken) == std::vector<Lsn>{1, 2});
  REQUIRE(open.bytes() == 0);
  open.add(submission(3));
  REQUIRE_FALSE(open.is_due());  // C5
  open.put_back(std::move(taken));
  open.sealed();
  REQUIRE(open.is_due());
  REQUIRE(open.bytes() == before / 2 * 3);
  REQUIRE(lsns_of(open.take()) == std::vector<Lsn>{1, 2, 3});
}

TEST_CASE("open_group: a group takes what fits one log block, and one record at least") {
  OpenGroup open(0);
  open.add(submission(1, Durability::kDurable, kMaxGroupBytes + 1));
  open.add(submission(2, Durability::kDurable, kMaxGroupBytes / 2));
  open.add(submission(3, Durability::kDurable, kMaxGroupBytes / 2));
  for (const Lsn lsn : {1, 2, 3}) {
    REQUIRE(lsns_of(open.take()) == std::vector<Lsn>{lsn});
    open.sealed();
  }
  REQUIRE(open.empty());
  REQUIRE(open.bytes() == 0);
}

// C14.
TEST_CASE("open_group: it waits for those who may come again while others are under way") {
  OpenGroup open(0);
  open.expect(0, 4);  // four are answered
  open.add(submission(1));
  REQUIRE(open.may_wait());
  REQUIRE_FALSE(open.waits_with(0));  // nobody is under way
  REQUIRE(open.waits_with(4));        // one is here, seven of eight are not
  for (const Lsn lsn : {2, 3}) open.add(submission(lsn));
  REQUIRE(open.waits_with(4));
  open.add(submission(4));
  REQUIRE_FALSE(open.may_wait());  // all four have come again
}

TEST_CASE("open_group: nobody waits who is in a hurry, nor does a large group") {
  OpenGroup open(0);
  open.expect(0, 4);
  open.add(submission(1));
  SECTION("who wants it durable") {
    open.want(1);
    REQUIRE(open.may_wait());
  }
  SECTION("who is in a hurry") {
    open.hurry(1);
    REQUIRE_FALSE(open.may_wait());
  }
  SECTION("a large group") {
    open.add(submission(2, Durability::kDurable, kLargeGroup));
    REQUIRE_FALSE(open.may_wait());
  }
}

TEST_CASE("open_group: who stays away is forgotten, and no more are expected than there were") {
  OpenGroup open(0);
  open.expect(0, 4);  // four are answered, and nobody else is under way
  open.expect(1, 1);  // of those, one stays
  open.add(submission(1));
  open.add(submission(2));
  REQUIRE_FALSE(open.may_wait());
}

TEST_CASE("open_group: buffered commits are no company") {
  OpenGroup open(0);
  open.expect(0, 1);
  open.add(submission(1, Durability::kBuffered));
  REQUIRE(open.may_wait());
  open.add(submission(2));
  REQUIRE_FALSE(open.may_wait());
}

}  // namespace
}  // namespace hexad::core
