// Copies of devices, and histories of a store that were written apart: P11.
#include <catch2/catch.hpp>

#include "alloc/root_choice.h"
#include "tests/alloc/root_samples.h"

using namespace hexad;
using namespace hexad::alloc;
using namespace hexad::alloc::testing;

TEST_CASE("root_choice: devices that were written apart are named, and chosen by nobody") {
  const Root common = promise_root({first_root(4), 1, 4, {}});
  Root one = next_epoch_root(common, kOpening);
  REQUIRE(fork(one, common).ok());
  mark_left(one, 2, 5);
  mark_left(one, 3, 5);
  auto devices = all_with(one);
  devices[2].roots = devices[3].roots = {common};
  // They wrote nothing.
  const auto choice = choose_root(kSampleStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root == one);
  CHECK(standing_of(*choice, 2) == Standing::kAway);
  // They went on as well, from the same root, in an epoch that is older, or newer.
  for (const bool newer : {false, true}) {
    Root other = next_epoch_root(common, kOpening + 1);
    if (newer) other.epoch = other.promised_epoch = one.epoch + 100;
    mark_left(other, 0, 5);
    mark_left(other, 1, 5);
    devices[2].roots = {common};
    devices[3].roots = {common, other};
    const auto refused = choose_root(kSampleStore, devices, 2);
    REQUIRE(!refused.ok());
    CHECK(refused.error().code == ErrorCode::kInvalidArgument);
    CAPTURE(refused.error().message);
    CHECK(refused.error().message.find("was written apart") != std::string::npos);
    CHECK(refused.error().hint.find("one half alone") != std::string::npos);
  }
  // An attempt with more devices left, of the epoch that the fork went on from, is apart, too.
  Root attempt = common;
  mark_left(attempt, 0, 5);
  devices[3].roots = {attempt};
  CHECK(choose_root(kSampleStore, devices, 2).error().code == ErrorCode::kInvalidArgument);
  for (std::uint32_t i = 1; i < kMaxForks; ++i) REQUIRE(fork(one, one).ok());
  CHECK(fork(one, one).error().code == ErrorCode::kTooBig);
}

// P11. All devices are copied, and each copy is opened on its own: both take the same epoch.
TEST_CASE("root_choice: a device of a copy that was opened on its own is named, and not joined") {
  const Root promise = promise_root({first_root(6), 1, 6, {}});
  Root ours = next_epoch_root(promise, kOpening);
  record_written(ours, std::vector<DeviceId>{0, 1, 2, 3, 4, 5});
  const Root theirs = next_epoch_root(promise, kOpening + 1);
  // Whichever has come further: by openings, or by checkpoints.
  Root our_next = next_root(ours);
  Root their_next = next_root(theirs);
  ++their_next.sequence;
  Root our_reopened = next_epoch_root(promise_root({our_next, 3, 6, {}}), kOpening + 2);
  for (const Root& here : {ours, our_next, our_reopened}) {
    for (const Root& there : {theirs, their_next}) {
      auto devices = all_with(here);
      devices[3].roots = {there};
      const auto refused = choose_root(kSampleStore, devices, 2);
      REQUIRE(!refused.ok());
      CHECK(refused.error().code == ErrorCode::kInvalidArgument);
      CAPTURE(refused.error().message);
      CHECK(refused.error().message.find("was written apart") != std::string::npos);
      CHECK(refused.error().message.find("3") != std::string::npos);
      CHECK(refused.error().hint.find("copy of before") != std::string::npos);
      devices.erase(devices.begin() + 3);
      CHECK(choose_root(kSampleStore, devices, 2)->root == here);
    }
  }
}

// P11. The original stays open in its epoch, or takes the next one by a change of membership, while
// a copy is opened: no epoch has two writers.
TEST_CASE("root_choice: a device of a copy that was opened beside the original is not joined") {
  const std::vector<DeviceId> all{0, 1, 2, 3, 4, 5};
  Root copied = next_epoch_root(promise_root({first_root(6), 1, 6, {}}), kOpening);
  record_written(copied, all);
  // Of the copy: the first root of its opening, and the promise before it.
  const Root promise = promise_root({copied, copied.promised_epoch, 6, {}, copied.sequence});
  Root theirs = promise;
  record_written(theirs, all);
  theirs = next_epoch_root(theirs, kOpening + 1);
  Root checkpoint = next_root(copied);
  ++checkpoint.checkpoint_lsn;
  record_written(checkpoint, all);
  Root checkpoints = next_root(next_root(checkpoint));
  record_written(checkpoints, all);
  const Root changed = next_epoch_root(checkpoints, kOpening);
  Root reopened = promise_root({changed, changed.promised_epoch, 6, {}, changed.sequence});
  record_written(reopened, all);
  reopened = next_epoch_root(reopened, kOpening + 2);
  // By sequence: as that of the promise, higher; by epoch, below the copy's and above it.
  for (const Root& here : {checkpoint, checkpoints, changed, reopened}) {
    for (const DeviceId strange : {0u, 3u}) {
      auto devices = all_with(here);
      devices[strange].roots = {theirs, promise};
      CAPTURE(here.epoch, here.sequence, theirs.epoch, promise.sequence);
      const auto refused = choose_root(kSampleStore, devices, 2);
      REQUIRE(!refused.ok());
      CHECK(refused.error().code == ErrorCode::kInvalidArgument);
      CHECK(refused.error().message.find("was written apart") != std::string::npos);
      devices.erase(devices.begin() + strange);
      CHECK(choose_root(kSampleStore, devices, 2)->root == here);
    }
  }
  // One that had left is not taken in again, though its root is newer than what its row confirms;
  // nor does an attempt that was made with it, of an opening that knew of all, keep it out.
  Root without = checkpoints;
  without = next_epoch_root(without, kOpening);
  mark_left(without, 4, 9);
  without = promise_root({without, without.promised_epoch, 6, {}, without.sequence});
  record_written(without, std::vector<DeviceId>{0, 1, 2, 3, 5});
  without = next_epoch_root(without, kOpening + 2);
  auto away = all_with(without);
  away[4].roots = {theirs, promise};
  auto judged = choose_root(kSampleStore, away, 2);
  REQUIRE(judged.ok());
  CHECK(judged->root == without);
  CHECK(standing_of(*judged, 4) == Standing::kStale);
  CHECK(judged->devices[4].reason.find("by another writer") != std::string::npos);
  Root cut = promise_root({changed, changed.promised_epoch, 6, {}, changed.sequence});
  record_written(cut, all);
  cut = next_epoch_root(cut, kOpening + 3);
  for (const Root& own : {changed, cut}) {
    without.writers.back() = {6, 6, kOpening + 2};
    without.epoch = 6;
    without.promised_epoch = 7;
    away = all_with(without);
    away[4].roots = {own};
    judged = choose_root(kSampleStore, away, 2);
    REQUIRE(judged.ok());
    CHECK(standing_of(*judged, 4) == Standing::kAway);
  }

  // What the opening has left itself, and one after it that was cut, is none.
  auto devices = all_with(theirs);
  devices[1].roots = {promise, copied};
  Root later = promise;
  ++later.sequence;
  ++later.promised_epoch;
  devices[2].roots = {later, promise};
  devices[4].roots = {theirs, promise};
  const auto choice = choose_root(kSampleStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root == theirs);
  for (const DeviceId id : all) CHECK(standing_of(*choice, id) == Standing::kHealthy);
}

TEST_CASE("root_choice: who had the epochs is kept for a while, then the row of the device tells") {
  Root ours = next_epoch_root(promise_root({first_root(6), 1, 6, {}}), 100);
  const Root theirs = next_epoch_root(promise_root({first_root(6), 1, 6, {}}), 200);
  record_written(ours, std::vector<DeviceId>{0, 1, 2, 3, 4, 5});
  const Root first = ours;
  mark_left(ours, 4, 9);
  for (std::uint64_t i = 1; i < 3 * kMaxWriters; ++i) {
    ours = next_epoch_root(promise_root({ours, ours.promised_epoch, 6, {}}), 1000 + i);
    record_written(ours, std::vector<DeviceId>{0, 1, 2, 3, 5});
    REQUIRE(check_root(ours).ok());
    REQUIRE(ours.writers.size() == std::min<std::uint64_t>(i + 2, kMaxWriters));
    auto devices = all_with(ours);
    devices[4].roots = {first};
    REQUIRE(standing_of(*choose_root(kSampleStore, devices, 2), 4) == Standing::kAway);
    devices[4].roots = {theirs};
    const auto choice = choose_root(kSampleStore, devices, 2);
    // The copy's epoch is forgotten with its writer.
    const bool known = ours.writers.front().first_epoch <= theirs.epoch;
    REQUIRE(choice.ok() == !known);
    if (known) continue;
    REQUIRE(standing_of(*choice, 4) == Standing::kStale);
    REQUIRE(choice->devices[4].reason.find("by another writer") != std::string::npos);
  }
}

TEST_CASE("root_choice: what an opening that crashed left on a device is no other history") {
  const Root first = first_root(6);
  const Root promise = promise_root({first, 1, 6, {}});
  const Root cut = next_epoch_root(promise, kOpening);  // reached device 5 only
  RootChoice seen = choose_root(kSampleStore, all_with(promise), 2).value();
  Root now = next_epoch_root(promise_root(seen), kOpening + 1);
  CHECK(now.epoch == cut.epoch + 1);
  auto devices = all_with(now);
  devices[5].roots = {promise, cut};
  const auto choice = choose_root(kSampleStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root == now);
  CHECK(standing_of(*choice, 5) == Standing::kHealthy);
  // A change of membership is the same writer's, in its next epoch.
  const Root changed = next_epoch_root(now, kOpening + 1);
  CHECK(changed.writers == std::vector<Writer>{{1, 1, kMaker}, {3, 4, kOpening + 1}});
}
