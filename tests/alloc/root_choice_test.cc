#include "alloc/root_choice.h"

#include <catch2/catch.hpp>

#include "tests/alloc/root_samples.h"

using namespace hexad;
using namespace hexad::alloc;
using namespace hexad::alloc::testing;

TEST_CASE("root_choice: devices that are away are missing, or have left when the table says so") {
  Root root = first_root(6);
  auto devices = all_with(root);
  devices.erase(devices.begin() + 1);
  const auto missing = choose_root(kSampleStore, devices, 2);
  REQUIRE(missing.ok());
  CHECK(missing->readable == 5);
  CHECK(standing_of(*missing, 1) == Standing::kMissing);
  mark_left(root, 1, 77);
  devices = all_with(root);
  devices.erase(devices.begin() + 1);
  CHECK(standing_of(*choose_root(kSampleStore, devices, 2), 1) == Standing::kLeft);
}

TEST_CASE("root_choice: a device more, and a device less, in the table and in what is committed") {
  const Root two = first_root(2);
  Root three = next_epoch_root(promise_root({two, 1, 2, {}}), kOpening);
  add_row(three, 2, device_uuid(2), DeviceRole::kData, 40, "");
  CHECK(three.devices[2].slabs == 40);
  CHECK(check_root(three).ok());
  CHECK(three.data_device_count() == 3);
  CHECK(three.next_device == 3);
  CHECK(three.devices[2].state == MemberState::kLive);
  CHECK_FALSE(three.devices[2].behind);
  const DeviceId all[] = {0, 1, 2};
  CHECK(is_committed(two, three, all, 1));
  CHECK_FALSE(is_committed(two, three, std::span(all, 2), 1));
  // P13: without parity all of the new table count, and one of the old one.
  CHECK(is_committed(two, three, all, 0));
  CHECK_FALSE(is_committed(two, three, std::span(all, 2), 0));
  Root one = next_epoch_root(three, kOpening);
  mark_left(one, 1, 5);
  CHECK_FALSE(is_committed(three, one, std::vector<DeviceId>{0, 2}, 0));  // as left it is needed
  drop_row(one, 1);
  const DeviceId rest[] = {0, 2};
  CHECK(is_committed(three, one, rest, 0));
  CHECK_FALSE(is_committed(three, one, std::span(rest, 1), 0));
  // One that has left is no reason, two are too many of the three.
  mark_left(three, 1, 5);
  const DeviceId without[] = {0, 2};
  CHECK(is_committed(two, three, without, 1));
  mark_left(three, 2, 5);
  CHECK_FALSE(is_committed(two, three, std::span(all, 1), 1));

  Root less = next_epoch_root(three, kOpening);
  drop_row(less, 1);
  CHECK(check_root(less).ok());
  CHECK(less.find(1) == nullptr);
  CHECK(less.data_device_count() == 2);
  CHECK(less.next_device == 3);
  CHECK(is_newer(less, three));
  // What is removed is foreign, and says why.
  const auto choice =
      choose_root(kSampleStore,
                  std::vector<DeviceRoots>{{0, device_uuid(0), kSampleStore, {less}},
                                           {1, device_uuid(1), kSampleStore, {two}},
                                           {3, device_uuid(3), kSampleStore, {less}}},
                  1);
  REQUIRE(choice.ok());
  CHECK(standing_of(*choice, 1) == Standing::kForeign);
  CHECK(choice->devices[1].reason == "device 1 is no device of the store any more: it was removed");
  CHECK(standing_of(*choice, 3) == Standing::kForeign);
  CHECK(choice->devices[2].reason == "device 3 is not in the device table");

  Root drained = first_root(2);
  begin_draining(drained, 1);
  mark_left(drained, 1, 9);
  CHECK(drained.find(1)->draining);
  mark_back(drained, 1, device_uuid(1));
  CHECK(drained.find(1)->draining);
  end_draining(drained, 1);
  CHECK_FALSE(drained.find(1)->draining);
}

TEST_CASE("root_choice: a device that left is away when it returns, unless it has lost roots") {
  const Root old = first_root(6);
  Root now = next_epoch_root(promise_root({old, 1, 6, {}}), kOpening);
  mark_left(now, 4, 77);
  auto devices = all_with(now);
  devices[4].roots = {old};
  const auto choice = choose_root(kSampleStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root == now);
  CHECK(standing_of(*choice, 4) == Standing::kAway);
  CHECK(choice->devices[4].reason == "device 4 left in epoch 2 after LSN 77");
  devices[4].roots = {now};
  CHECK(standing_of(*choose_root(kSampleStore, devices, 2), 4) == Standing::kAway);
  // An older image of it has not what counted on it.
  Root later = next_epoch_root(promise_root({now, 3, 6, {}}), kOpening);
  later.find(4)->confirmed_epoch = 2;
  devices = all_with(later);
  devices[4].roots = {old};
  CHECK(standing_of(*choose_root(kSampleStore, devices, 2), 4) == Standing::kStale);
  devices[4].roots = {};
  CHECK(standing_of(*choose_root(kSampleStore, devices, 2), 4) == Standing::kStale);
}

TEST_CASE(
    "root_choice: who is taken in again is live and behind, and another device under its id") {
  Root root = first_root(6);
  mark_left(root, 4, 77);
  const Uuid before = root.find(4)->uuid;
  root.find(4)->confirmed_epoch = 1;
  mark_back(root, 4, before);
  CHECK(root.find(4)->state == MemberState::kLive);
  CHECK(root.find(4)->behind);
  CHECK(root.find(4)->left_lsn == 0);
  CHECK(root.find(4)->left_epoch == 0);
  CHECK(root.find(4)->confirmed_epoch == 1);
  CHECK(check_root(root).ok());
  CHECK(decode_root(as_bytes(encode_root(root))).value() == root);
  mark_left(root, 4, 80);
  CHECK_FALSE(root.find(4)->behind);
  CHECK(check_root(root).ok());
  Uuid other = before;
  other.bytes[3] ^= 1;
  mark_back(root, 4, other);
  CHECK(root.find(4)->uuid == other);
  CHECK(root.find(4)->confirmed_epoch == 0);
  mark_whole(root, 4);
  CHECK_FALSE(root.find(4)->behind);
  CHECK(root.features == Features{});
  CHECK(decode_root(as_bytes(encode_root(root))).value() == root);
}

TEST_CASE("root_choice: an old image put back is stale, a device one epoch behind is not") {
  const Root old = first_root(6);
  Root now = next_epoch_root(promise_root({old, 1, 6, {}}), kOpening);
  auto devices = all_with(now);
  devices[2].roots = {old};
  const auto behind = choose_root(kSampleStore, devices, 2);
  REQUIRE(behind.ok());
  CHECK(standing_of(*behind, 2) == Standing::kHealthy);
  CHECK(behind->devices[2].behind);
  CHECK(!behind->devices[1].behind);
  record_written(now, std::vector<DeviceId>{2});
  devices = all_with(now);
  devices[2].roots = {old};
  const auto stale = choose_root(kSampleStore, devices, 2);
  REQUIRE(stale.ok());
  CHECK(standing_of(*stale, 2) == Standing::kStale);
  CHECK(stale->devices[2].reason.find("epoch 2 sequence 4 had been written") != std::string::npos);
}

TEST_CASE("root_choice: a device without a readable root is not trusted and not counted") {
  auto devices = all_with(first_root(6));
  devices[0].roots.clear();
  const auto choice = choose_root(kSampleStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->readable == 5);
  CHECK(standing_of(*choice, 0) == Standing::kStale);
}

TEST_CASE("root_choice: the highest promise counts, also one that the newest root does not carry") {
  auto devices = all_with(next_epoch_root(promise_root({first_root(6), 4, 6, {}}), kOpening));
  devices[3].roots = {first_root(6)};
  devices[3].roots[0].promised_epoch = 99;
  const auto choice = choose_root(kSampleStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root.promised_epoch == 6);
  CHECK(choice->promised_epoch == 99);
  CHECK(promise_root(*choice).promised_epoch == 100);
}

TEST_CASE(
    "root_choice: of two attempts of one sequence the one that leaves more devices behind wins") {
  Root given_up = next_epoch_root(promise_root({first_root(6), 1, 6, {}}), kOpening);
  mark_left(given_up, 0, 5);
  Root last = given_up;
  mark_left(last, 1, 5);
  given_up.checkpoint_lsn = 9;  // whatever else they say
  auto devices = all_with(last);
  for (DeviceRoots& device : devices) device.roots = {given_up, last};
  CHECK(choose_root(kSampleStore, devices, 2)->root == last);
  for (DeviceRoots& device : devices) std::swap(device.roots[0], device.roots[1]);
  CHECK(choose_root(kSampleStore, devices, 2)->root == last);
  // An opening that did not see the last one has promised on top of the other, twice.
  Root promise = promise_root({given_up, given_up.promised_epoch, 6, {}});
  promise = promise_root({promise, promise.promised_epoch, 6, {}});
  CHECK(promise.sequence > last.sequence);
  devices[4].roots = {promise};
  const auto choice = choose_root(kSampleStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root == last);
  CHECK(choice->sequence == promise.sequence);
  const Root next = promise_root(*choice);
  CHECK(next.sequence == promise.sequence + 1);
  CHECK(next.promised_epoch == promise.promised_epoch + 1);
}

TEST_CASE("root_choice: two roots of one epoch that no writer makes are refused by name") {
  Root one = next_epoch_root(promise_root({first_root(6), 1, 6, {}}), kOpening);
  Root other = one;
  mark_left(one, 2, 5);
  mark_left(other, 3, 5);
  ++other.sequence;
  auto devices = all_with(one);
  devices[5].roots = {other};
  const auto refused = choose_root(kSampleStore, devices, 2);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kCorruption);
  CHECK(refused.error().message ==
        "two roots of epoch 2 contradict each other: on device 0 sequence 4 says that device 2 has "
        "left, elsewhere sequence 5 has it live and 1 others as left");
  CHECK(refused.error().hint ==
        "Nothing was changed. Open the store without device 0, or without those that say "
        "otherwise.");
  // Of different epochs they say when each device left and came back.
  devices[5].roots = {next_epoch_root(other, kOpening)};
  CHECK(choose_root(kSampleStore, devices, 2).ok());
}

TEST_CASE("root_choice: a store that was not made to the end opens with all its devices only") {
  Root root = first_root(6);
  root.sequence = kMaking;
  auto devices = all_with(root);
  CHECK(choose_root(kSampleStore, devices, 2).ok());
  devices.pop_back();
  const auto refused = choose_root(kSampleStore, devices, 2);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnavailable);
  CHECK(refused.error().message ==
        "the pool was never opened for writing, and perhaps it was never made to the end: device 5 "
        "is missing");
  CHECK_THAT(refused.error().hint, Catch::Contains("holds nothing yet"));
  // Where k <= m, a version without P8 may have gone on with the devices that are not here.
  Root half = first_root(4);
  half.sequence = kMaking;
  auto here = all_with(half);
  here.resize(2);
  const auto unsure = choose_root(kSampleStore, here, 2);
  REQUIRE(!unsure.ok());
  CHECK_THAT(unsure.error().message, Catch::Contains("others may have"));
  CHECK(unsure.error().hint == "Attach all its devices.");
  // One device says that all had that root.
  devices[2].roots[0].sequence = kMade;
  CHECK(choose_root(kSampleStore, devices, 2).ok());
  // Versions that made stores in one round left this root; an opening for writing went on from it.
  root.sequence = kMaking;
  devices = all_with(next_epoch_root(promise_root({root, 1, 6, {}}), kOpening));
  devices.pop_back();
  CHECK(choose_root(kSampleStore, devices, 2).ok());
}

TEST_CASE("root_choice: strangers, replaced devices and clones are told apart") {
  const Root root = first_root(6);
  auto devices = all_with(root);
  const Uuid other{{7}};
  devices.push_back({1, device_uuid(1), other, {}});             // another store
  devices.push_back({9, device_uuid(9), kSampleStore, {root}});  // never a member
  devices.push_back(
      {3, Uuid{{8, 8}}, kSampleStore, {first_root(6)}});  // the device that 3 replaced
  devices.push_back(devices[5]);                          // a copy of 5
  const auto choice = choose_root(kSampleStore, devices, 2);
  REQUIRE(choice.ok());
  REQUIRE(choice->devices.size() == 10);
  CHECK(choice->devices[1].standing == Standing::kHealthy);
  CHECK(choice->devices[3].standing == Standing::kHealthy);
  CHECK(choice->devices[5].standing == Standing::kDuplicate);
  CHECK(choice->devices[6].standing == Standing::kForeign);
  CHECK(choice->devices[7].standing == Standing::kForeign);
  CHECK(choice->devices[8].standing == Standing::kForeign);
  CHECK(choice->devices[9].standing == Standing::kDuplicate);
  CHECK(choice->readable == 6);
  for (const Standing standing :
       {Standing::kHealthy, Standing::kStale, Standing::kAway, Standing::kLeft, Standing::kMissing,
        Standing::kForeign, Standing::kDuplicate}) {
    CHECK(to_string(standing) != "unknown");
  }
}

TEST_CASE("root_choice: too few roots are refused by name, none at all differently") {
  auto devices = all_with(first_root(6));
  devices.resize(4);
  CHECK(choose_root(kSampleStore, devices, 2).ok());
  devices.resize(3);
  const auto few = choose_root(kSampleStore, devices, 2);
  REQUIRE(!few.ok());
  CHECK(few.error().code == ErrorCode::kUnavailable);
  CHECK(few.error().message ==
        "roots are readable on 3 of 6 data devices, 4 are needed: device 3 is missing; device 4 is "
        "missing; device 5 is missing");
  CHECK(choose_root(Uuid{{5}}, devices, 2).error().code == ErrorCode::kNotFound);
  CHECK(choose_root(kSampleStore, {}, 2).error().code == ErrorCode::kNotFound);
}

TEST_CASE("root_choice: log devices give their root but do not count for a quorum") {
  Root root = first_root(6);
  RootDevice log;
  log.id = 6;
  log.uuid = device_uuid(6);
  log.role = DeviceRole::kLog;
  root.devices.push_back(log);
  Root newer = next_root(root);
  auto devices = all_with(root);
  devices[6].roots = {newer};
  devices.erase(devices.begin() + 1, devices.begin() + 3);
  const auto choice = choose_root(kSampleStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root == newer);
  CHECK(choice->readable == 4);
  devices.erase(devices.begin());
  CHECK(choose_root(kSampleStore, devices, 2).error().code == ErrorCode::kUnavailable);
}

TEST_CASE("root_choice: any readable set meets any written set") {
  for (std::uint32_t m = 0; m <= 8; ++m) {
    for (std::uint32_t k = 1; k <= 32; ++k) {
      for (std::uint32_t n = k + m; n < k + m + 6; ++n) {
        // All that are left out of the two together, at their smallest.
        const Root root = first_root(n);
        std::vector<DeviceId> some;
        std::uint32_t reads = 0;
        std::uint32_t writes = 0;
        for (DeviceId id = 0; id < n; ++id) {
          some.push_back(id);
          if (reads == 0 && is_read_quorum(root, some, m)) reads = id + 1;
          if (writes == 0 && is_write_quorum(root, some, m)) writes = id + 1;
        }
        REQUIRE(reads == n - m);
        REQUIRE(writes == std::min(n, std::max(n - m, m + 1)));
        REQUIRE(reads + writes > n);
      }
    }
  }
}

TEST_CASE("root_choice: a root is committed on every live device and on a quorum of both tables") {
  const Root before = first_root(6);
  Root next = next_root(before);
  const std::vector<DeviceId> all = {0, 1, 2, 3, 4, 5};
  const std::vector<DeviceId> five = {0, 1, 2, 3, 4};
  const std::vector<DeviceId> three = {0, 1, 2};
  CHECK(is_committed(before, next, all, 2));
  CHECK_FALSE(is_committed(before, next, five, 2));
  mark_left(next, 5, 3);
  CHECK(is_committed(before, next, five, 2));
  mark_left(next, 4, 3);
  mark_left(next, 3, 3);
  CHECK_FALSE(is_committed(before, next, three, 2));
  CHECK_FALSE(may_go_on(Ground::kWitness, next, three, {}, 2));
  // Four devices of a table of seven would do, had the table before not been smaller.
  Root grown = next_root(before);
  for (DeviceId id = 6; id < 9; ++id) {
    RootDevice row;
    row.id = id;
    row.uuid = device_uuid(id);
    grown.devices.push_back(row);
  }
  for (const DeviceId id : {3u, 4u, 5u}) mark_left(grown, id, 3);
  CHECK_FALSE(is_committed(before, grown, std::vector<DeviceId>{0, 1, 2, 6, 7, 8}, 2));
}

TEST_CASE("root_choice: what an opening stands on, and how far it has to come") {
  // 2+2: three usable devices, or all that are live, or nothing.
  Root root = next_epoch_root(promise_root({first_root(4), 1, 4, {}}), kOpening);
  const auto ground = [&](const std::vector<DeviceId>& here) {
    std::vector<DeviceRoots> devices;
    for (const DeviceId id : here) devices.push_back({id, device_uuid(id), kSampleStore, {root}});
    return ground_of(choose_root(kSampleStore, devices, 2).value(), 2);
  };
  CHECK(ground({0, 1, 2, 3}) == Ground::kWitness);
  CHECK(ground({0, 1, 3}) == Ground::kQuorum);
  CHECK(ground({2, 3}) == Ground::kNone);
  mark_left(root, 0, 5);
  CHECK(ground({1, 2, 3}) == Ground::kWitness);
  CHECK(ground({1, 2}) == Ground::kNone);
  mark_left(root, 1, 5);
  CHECK(ground({2, 3}) == Ground::kWitness);
  CHECK(ground({0, 2, 3}) == Ground::kWitness);
  CHECK(ground({0, 2}) == Ground::kNone);
  // A profile with k > m has a quorum whenever it can be read.
  CHECK(ground_of(choose_root(kSampleStore, all_with(first_root(6)), 2).value(), 2) ==
        Ground::kWitness);
  auto four = all_with(first_root(6));
  four.resize(4);
  CHECK(ground_of(choose_root(kSampleStore, four, 2).value(), 2) == Ground::kQuorum);

  using Ids = std::vector<DeviceId>;
  const Root whole = first_root(4);
  const auto goes_on = [&](Ground stands_on, const Ids& written, const Ids& informed) {
    return may_go_on(stands_on, whole, written, informed, 2);
  };
  for (const Ground any : {Ground::kQuorum, Ground::kWitness, Ground::kWord}) {
    CHECK(goes_on(any, {0, 1, 3}, {}));
    CHECK_FALSE(goes_on(any, {3}, {0, 1, 2, 3}));
  }
  CHECK(goes_on(Ground::kWord, {0, 1}, {}));
  // Device 2 was away: it may have a root of an attempt that device 3 had left behind as well.
  CHECK_FALSE(goes_on(Ground::kQuorum, {0, 1}, {0, 1, 3}));
  CHECK(goes_on(Ground::kWitness, {0, 1}, {0, 1, 2, 3}));
  CHECK(goes_on(Ground::kWitness, {0, 1}, {2, 3}));
  CHECK_FALSE(goes_on(Ground::kWitness, {0, 1}, {0, 1, 3}));
}

TEST_CASE("root_choice: successors keep the rules of epochs, sequences and marks") {
  Root root = first_root(3);
  root.clean_close = true;
  const Root next = next_root(root);
  CHECK(next.sequence == kMade + 1);
  CHECK(next.epoch == 1);
  CHECK(!next.clean_close);
  RootChoice choice;
  choice.root = root;
  choice.promised_epoch = 9;
  const Root promise = promise_root(choice);
  CHECK(promise.epoch == 1);
  CHECK(promise.promised_epoch == 10);
  Root bumped = next_epoch_root(promise, kOpening);
  CHECK(bumped.epoch == 10);
  CHECK(bumped.sequence == kMade + 2);
  CHECK(bumped.promised_epoch == 11);
  mark_left(bumped, 1, 44);
  const RootDevice left = bumped.devices[1];
  CHECK(left.left_epoch == 10);
  CHECK(left.left_lsn == 44);
  mark_left(bumped, 1, 55);
  CHECK(bumped.devices[1] == left);
  record_written(bumped, std::vector<DeviceId>{0, 77});
  CHECK(bumped.devices[0].confirmed_epoch == 10);
  CHECK(bumped.devices[0].confirmed_sequence == bumped.sequence);
  CHECK(bumped.devices[0].confirmed_nonce == kOpening);
  CHECK(bumped.devices[2].confirmed_epoch == 0);
  CHECK(check_root(bumped).ok());
  // P6: whatever else was written since.
  std::uint64_t sent = 3;
  CHECK(next_attempt(bumped, sent).sequence == 4);
  CHECK(next_attempt(bumped, sent).sequence == 5);
  CHECK(next_attempt(next_root(root), sent).sequence == 6);
  CHECK(sent == 6);
}

// An image of the same epoch, restored while the store had not been opened anew.
TEST_CASE("root_choice: a device that shows an older sequence than its row confirms is stale") {
  Root root = next_epoch_root(promise_root({first_root(6), 1, 6, {}}), kOpening);
  record_written(root, std::vector<DeviceId>{0, 1, 2, 3, 4, 5});
  const Root image = root;
  const Root between = next_root(root);
  root = next_root(between);
  auto devices = all_with(root);
  devices[2].roots = {image};
  // It is several roots behind, and nothing says that it had more.
  CHECK(standing_of(*choose_root(kSampleStore, devices, 2), 2) == Standing::kHealthy);
  record_written(root, std::vector<DeviceId>{0, 1, 2, 3, 4, 5});
  root = next_root(root);
  devices = all_with(root);
  devices[2].roots = {between, image};
  const auto stale = choose_root(kSampleStore, devices, 2);
  REQUIRE(stale.ok());
  CHECK(standing_of(*stale, 2) == Standing::kStale);
  CHECK(stale->devices[2].reason ==
        "device 2 shows epoch 2 sequence 5 although epoch 2 sequence 6 had been written to it");
  // A root of the older form confirms the epoch alone.
  root.find(2)->confirmed_sequence = 0;
  devices = all_with(root);
  devices[2].roots = {between, image};
  CHECK(standing_of(*choose_root(kSampleStore, devices, 2), 2) == Standing::kHealthy);
}

TEST_CASE("root_choice: a domain that is filling in part, and is lost, counts once") {
  // 2 left, 3 gets what they held; two cells of a zone are in A.
  Root root = first_root(8, "AAAABBCC", 2);
  root.epoch = root.promised_epoch = 3;
  root.writers.back().last_epoch = 3;
  for (const DeviceId id : {0, 1}) mark_left(root, id, 10);
  mark_filling(root, 2);
  set_lost_in_zone(root, 2, {0, 1});
  CHECK(lost_cells(root, {2, 3, 4, 5, 6, 7}) == 2);
  CHECK(lost_cells(root, {4, 5, 6, 7}) == 2);
  CHECK(lost_cells(root, {2, 3, 5, 6, 7}) == 3);
  CHECK(lost_cells(root, {5, 6, 7}) == 3);
}

TEST_CASE("root_choice: what counts as lost, with devices that are filling") {
  Root root = alloc::testing::first_root(6);
  const std::set<DeviceId> all = {0, 1, 2, 3, 4, 5};
  CHECK(lost_cells(root, all) == 0);
  CHECK(lost_cells(root, {0, 1, 2, 3}) == 2);
  root.devices[1].behind = true;
  CHECK(lost_cells(root, all) == 1);
  CHECK(lost_cells(root, {0, 2, 3, 4, 5}) == 1);
  root.devices[1].behind = false;
  // 5 has left, and what it held is built again on 0, 1 and 2.
  root.epoch = root.promised_epoch = 3;
  if (!root.writers.empty()) root.writers.back().last_epoch = 3;
  mark_left(root, 5, 10);
  CHECK(root.lost_in_zone == 0);
  for (const DeviceId id : {0, 1, 2}) mark_filling(root, id);
  mark_filling(root, 5);
  CHECK_FALSE(root.devices[5].filling);
  set_lost_in_zone(root, 1, {5});
  CHECK(root.lost_in_zone == 1);
  CHECK(lost_cells(root, {0, 1, 2, 3, 4}) == 1);
  CHECK(lost_cells(root, {0, 1, 2, 3}) == 2);
  CHECK(lost_cells(root, {1, 2, 3, 4}) == 2);
  CHECK(lost_cells(root, {2, 3, 4}) == 3);
  // Those that had left when it was counted are in it, others are not.
  set_lost_in_zone(root, 1, {});
  CHECK(root.lost_in_zone == 2);
  set_lost_in_zone(root, 1, {5});
  // One more leaves; then one that is filling; what has left already is no more.
  mark_left(root, 4, 11);
  CHECK(root.lost_in_zone == 2);
  mark_left(root, 4, 11);
  CHECK(root.lost_in_zone == 2);
  mark_left(root, 0, 12);
  CHECK(root.lost_in_zone == 3);
  CHECK_FALSE(root.devices[0].filling);
  mark_whole(root, 1);
  CHECK(root.lost_in_zone == 3);
  // Then the rows alone say it.
  mark_whole(root, 2);
  CHECK(root.lost_in_zone == 0);
  CHECK(lost_cells(root, {1, 2, 3}) == 3);
  CHECK(check_root(root).ok());
}
