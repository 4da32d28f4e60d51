#include "core/membership/root_writer.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "alloc/root_choice.h"
#include "tests/core/membership/membership_world.h"

namespace hexad::core {
namespace {

using testing::MembershipWorld;

TEST_CASE("root writer: what is sent is on all devices, and current when it is committed") {
  MembershipWorld w;
  RootWriter writer(*w.members, MembershipWorld::kParities, w.first_root(),
                    MembershipWorld::kNonce);
  alloc::Root next = alloc::next_root(writer.current());
  next.checkpoint_lsn = 9;
  const RootAttempt attempt = writer.send(next);
  CHECK(attempt.committed);
  CHECK(attempt.written == std::vector<DeviceId>{0, 1, 2, 3});
  CHECK(attempt.failed.empty());
  CHECK(attempt.refused.ok());
  CHECK(writer.current().checkpoint_lsn == 9);
  for (DeviceId id = 0; id < MembershipWorld::kDevices; ++id) {
    CHECK(w.newest_root(id).checkpoint_lsn == 9);
  }
}

// RW1, whatever becomes of the attempts: else two roots of one sequence would differ.
TEST_CASE("root writer: each attempt has a sequence of its own") {
  MembershipWorld w;
  RootWriter writer(*w.members, MembershipWorld::kParities, w.first_root(),
                    MembershipWorld::kNonce);
  std::uint64_t last = writer.current().sequence;
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    const ErrorCode failure = i % 2 == 0 ? ErrorCode::kIo : ErrorCode::kExhausted;
    w.fail(3, failure);
    const alloc::Root before = writer.current();
    const RootAttempt attempt = writer.send(alloc::next_root(before));
    CHECK_FALSE(attempt.committed);
    CHECK(writer.current() == before);
    CHECK(attempt.written.size() == 3);
    CHECK(attempt.failed.count(3) == (i % 2 == 0 ? 1 : 0));
    CHECK(attempt.refused.ok() == (i % 2 == 0));
    CHECK(w.newest_root(0).sequence > last);
    last = w.newest_root(0).sequence;
  }
  w.heal(3);
  REQUIRE(writer.send(alloc::next_root(writer.current())).committed);
  CHECK(writer.current().sequence > last);
}

TEST_CASE("root writer: after a promise that not all have, roots go on from it") {
  MembershipWorld w;
  RootWriter writer(*w.members, MembershipWorld::kParities, w.first_root(),
                    MembershipWorld::kNonce);
  alloc::Root promise = writer.current();
  promise.sequence += 5;
  promise.promised_epoch += 1;
  w.fail(2, ErrorCode::kIo);
  const RootAttempt attempt = writer.send_promise(promise);
  CHECK_FALSE(attempt.committed);
  CHECK(attempt.written == std::vector<DeviceId>{0, 1, 3});
  CHECK(writer.current().promised_epoch == promise.promised_epoch);
  w.heal(2);
  REQUIRE(writer.send(alloc::next_epoch_root(writer.current(), writer.nonce())).committed);
  CHECK(writer.current().sequence > promise.sequence);
}

// P5. Roots are sent to a new device as soon as it is used, and the first that lists it comes
// later.
TEST_CASE("root writer: what a new device has got is not confirmed of the one that it replaces") {
  MembershipWorld w;
  alloc::Root first = w.first_root();
  alloc::RootDevice& row = *first.find(2);
  alloc::mark_left(first, 2, 5);
  row.uuid.bytes[1] = 1;  // of the one before
  const alloc::RootDevice before = row;
  RootWriter writer(*w.members, MembershipWorld::kParities, first, MembershipWorld::kNonce);
  for (int i = 0; i < 2; ++i) {
    const RootAttempt attempt = writer.send(alloc::next_root(writer.current()));
    REQUIRE(attempt.committed);
    CHECK(attempt.written == std::vector<DeviceId>{0, 1, 3});
    CHECK(w.newest_root(2).sequence == writer.current().sequence);
    CHECK(*writer.current().find(2) == before);
    CHECK(writer.current().find(1)->confirmed_sequence == writer.current().sequence);
  }
  alloc::Root next = alloc::next_epoch_root(writer.current(), writer.nonce());
  alloc::mark_back(next, 2, w.members->find(2)->uuid);
  const RootAttempt attempt = writer.send(next);
  REQUIRE(attempt.committed);
  CHECK(attempt.written == std::vector<DeviceId>{0, 1, 2, 3});
  CHECK(writer.current().find(2)->confirmed_sequence == writer.current().sequence);
}

}  // namespace
}  // namespace hexad::core
