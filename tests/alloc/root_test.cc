#include "alloc/root.h"

#include <catch2/catch.hpp>

#include "alloc/failure_domains.h"
#include "alloc/sealed_block.h"
#include "io/memory_device.h"
#include "tests/alloc/test_support.h"
#include "tests/base/thinned.h"

using namespace hexad;
using namespace hexad::alloc;
using alloc::testing::HookedDevice;
using alloc::testing::to_hex;
using alloc::testing::uuid_of;

namespace {

constexpr std::uint64_t kSize = 5_MiB;

// A device that was laid out as large as it is.
LaidOutDevice whole(io::Device& device) { return {&device, device.geometry().size}; }

Root example() {
  Root root;
  root.store = uuid_of(0x10);
  root.epoch = 7;
  root.sequence = 41;
  root.promised_epoch = 8;
  root.features = {2, 4, 0};
  for (DeviceId id = 0; id < 3; ++id) {
    RootDevice row;
    row.id = id;
    row.uuid = uuid_of(static_cast<std::uint8_t>(0x40 + 0x10 * id));
    row.confirmed_epoch = 6;
    root.devices.push_back(row);
  }
  root.devices[1].state = MemberState::kLeft;
  root.devices[1].left_lsn = 900;
  root.devices[1].left_epoch = 6;
  root.devices[2].role = DeviceRole::kLog;
  root.log_devices = {2, 0};
  root.log_trim = {0x12345678, 0x12345a00, 0xcafef00d, 6, 940};
  root.checkpoint_lsn = 1000;
  root.recorded_watermark = 1010;
  root.previous_epoch_end = 950;
  root.manifest = {{5, 16, 4}, 12345, 0xdeadbeef, {{0, 1}, {1, 2}}, {}};
  root.clean_close = true;
  root.next_zone = 9;
  root.next_device = 3;
  return root;
}

// With what came with the writers.
Root example_with_writers() {
  Root root = example();
  root.manifest.cell_sums = {0xa0a0a0a0, 0xa1a1a1a1};
  root.writers = {{2, 4, 0x1112131415161718}, {7, 7, 0x2122232425262728}};
  root.devices[0].confirmed_sequence = 40;
  root.devices[0].confirmed_nonce = 0x2122232425262728;
  return root;
}

// Roots that differ in front and behind, so that parts of two are none.
Root numbered(std::uint64_t sequence) {
  Root root = example();
  root.sequence = sequence;
  root.next_zone += static_cast<ZoneId>(sequence);
  root.manifest.length += sequence;
  return root;
}

std::vector<std::uint64_t> sequences(io::Device& device) {
  const auto roots = read_roots(whole(device));
  REQUIRE(roots.ok());
  std::vector<std::uint64_t> found;
  for (const Root& root : *roots) found.push_back(root.sequence);
  return found;
}

// With what devices that come and go have brought.
Root example_with_changes() {
  Root root = example_with_writers();
  root.devices[0].draining = true;
  root.devices[1].slabs = 300;
  return root;
}
// And one that is given what a lost one held.
Root example_with_filling() {
  Root root = example_with_changes();
  root.devices[0].behind = true;
  root.devices[0].filling = true;
  root.lost_in_zone = 2;
  return root;
}

// And in failure domains.
Root example_with_domains() {
  Root root = example_with_filling();
  root.domain_cells = 2;
  root.devices[0].domain = "shelf-1";
  return root;
}

}  // namespace

TEST_CASE("root: golden bytes hold both directions") {
  const std::string bytes = encode_root(example());
  CHECK(to_hex(bytes) == to_hex(alloc::testing::golden("root")));
  const auto decoded = decode_root(as_bytes(bytes));
  REQUIRE(decoded.ok());
  CHECK(*decoded == example());
}

TEST_CASE("root: golden bytes hold both directions, with writers") {
  const std::string bytes = encode_root(example_with_writers());
  CHECK(to_hex(bytes) == to_hex(alloc::testing::golden("root_writers")));
  const auto decoded = decode_root(as_bytes(bytes));
  REQUIRE(decoded.ok());
  CHECK(*decoded == example_with_writers());
}

TEST_CASE("root: golden bytes hold both directions, with devices that come and go") {
  const std::string bytes = encode_root(example_with_changes());
  CHECK(to_hex(bytes) == to_hex(alloc::testing::golden("root_changes")));
  const auto decoded = decode_root(as_bytes(alloc::testing::golden("root_changes")));
  REQUIRE(decoded.ok());
  CHECK(*decoded == example_with_changes());
}

TEST_CASE("root: golden bytes hold both directions, with a device that is filling") {
  const std::string bytes = encode_root(example_with_filling());
  CHECK(to_hex(bytes) == to_hex(alloc::testing::golden("root_filling")));
  const auto decoded = decode_root(as_bytes(alloc::testing::golden("root_filling")));
  REQUIRE(decoded.ok());
  CHECK(*decoded == example_with_filling());
}

TEST_CASE("root: golden bytes hold both directions, with failure domains") {
  const std::string bytes = encode_root(example_with_domains());
  CHECK(to_hex(bytes) == to_hex(alloc::testing::golden("root_domains")));
  const auto decoded = decode_root(as_bytes(alloc::testing::golden("root_domains")));
  REQUIRE(decoded.ok());
  CHECK(*decoded == example_with_domains());
}

TEST_CASE("root: every truncation and every flipped bit is refused") {
  for (const Root& root : {example(), example_with_writers(), example_with_changes()}) {
    alloc::testing::for_each_damage(encode_root(root), [](const std::string& damaged) {
      REQUIRE(!decode_root(as_bytes(damaged)).ok());
    });
  }
}

TEST_CASE("root: a changed body behind a right checksum is refused or sound") {
  for (const Root& root : {example(), example_with_writers(), example_with_changes()}) {
    alloc::testing::for_each_damage(encode_root(root), [](const std::string& damaged) {
      if (damaged.size() < kSealSize) return;
      const auto decoded = decode_root(as_bytes(alloc::testing::resealed(damaged)));
      if (decoded.ok()) REQUIRE(check_root(*decoded).ok());
    });
  }
}

TEST_CASE("root: the largest table fits its slot") {
  Root root = example();
  root.devices.clear();
  root.log_devices.clear();
  for (DeviceId id = 0; id < kMaxDevices; ++id) {
    RootDevice row;
    row.id = id;
    row.uuid = uuid_of(static_cast<std::uint8_t>(id));
    row.slabs = kMaxSlabs;
    row.draining = true;
    root.devices.push_back(row);
    root.log_devices.push_back(id);
  }
  root.manifest.slots.assign(kMaxZoneSlots, {1, 1});
  root.manifest.cell_sums.assign(kMaxZoneSlots, 7);
  for (Epoch epoch = 1; epoch < kMaxWriters; ++epoch) root.writers.push_back({epoch, epoch, 9});
  root.epoch = kMaxWriters;
  root.promised_epoch = root.epoch + 1;
  root.writers.push_back({root.epoch, root.epoch, 9});
  for (Epoch epoch = 1; epoch < kMaxForks; ++epoch) root.forks.push_back({epoch, 0, 1, epoch + 1});
  root.epoch = root.writers.back().last_epoch = kMaxForks + 1;
  root.promised_epoch = root.epoch + 1;
  root.forks.push_back({kMaxForks, 0, 1, root.epoch});
  const std::string bytes = encode_root(root);
  CHECK(bytes.size() <= kHeaderSlotSize);
  CHECK(*decode_root(as_bytes(bytes)) == root);
}

TEST_CASE("root: a store goes on from numbers that leave room, and from no others") {
  constexpr std::uint64_t kHighest = std::uint64_t{1} << 62;
  constexpr std::uint64_t kRoom = std::uint64_t{1} << 58;
  CHECK(check_room_to_go_on(example()).ok());
  const std::function<void(Root&, std::uint64_t)> numbers[] = {
      [](Root& root, std::uint64_t to) { root.promised_epoch = to; },
      [](Root& root, std::uint64_t to) { root.sequence = to; },
      [](Root& root, std::uint64_t to) { root.log_trim.position = to; },
      [](Root& root, std::uint64_t to) { root.log_trim.end = to; },
      [](Root& root, std::uint64_t to) { root.log_trim.epoch = to; },
      [](Root& root, std::uint64_t to) { root.log_trim.lsn = to; },
      [](Root& root, std::uint64_t to) { root.checkpoint_lsn = to; },
      [](Root& root, std::uint64_t to) { root.recorded_watermark = to; },
      [](Root& root, std::uint64_t to) { root.previous_epoch_end = to; }};
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    CAPTURE(i);
    Root root = example();
    numbers[i](root, kHighest - kRoom);
    CHECK(check_room_to_go_on(root).ok());
    numbers[i](root, kHighest - kRoom + 1);
    const Status refused = check_room_to_go_on(root);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::kCorruption);
    CHECK_THAT(refused.error().message, Catch::Contains(std::to_string(kHighest - kRoom + 1)));
  }
}

TEST_CASE("root: what cannot be true is refused") {
  const auto refused = [](const std::function<void(Root&)>& change) {
    Root root = example();
    change(root);
    return !check_root(root).ok();
  };
  CHECK_FALSE(refused([](Root&) {}));
  CHECK(refused([](Root& root) { root.store = {}; }));
  CHECK(refused([](Root& root) { root.epoch = 0; }));
  CHECK(refused([](Root& root) { root.sequence = 0; }));
  CHECK(refused([](Root& root) { root.promised_epoch = 6; }));
  CHECK(refused([](Root& root) { root.promised_epoch = ~Epoch{0}; }));
  CHECK(refused([](Root& root) { root.sequence = ~std::uint64_t{0}; }));
  CHECK(refused([](Root& root) { root.devices.clear(); }));
  // Tables by number are as long as the highest one.
  const auto add_device = [](Root& root, DeviceId id) { root.devices.emplace_back().id = id; };
  CHECK(refused([&](Root& root) { add_device(root, kMaxDeviceId + 1); }));
  CHECK_FALSE(refused([&](Root& root) { add_device(root, kMaxDeviceId); }));
  CHECK(refused([](Root& root) { std::swap(root.devices[0], root.devices[2]); }));
  CHECK(refused([](Root& root) { root.devices[1].id = 0; }));
  CHECK(refused([](Root& root) { root.devices[0].confirmed_epoch = 8; }));
  CHECK(refused([](Root& root) { root.devices[0].confirmed_sequence = 8; }));
  CHECK(refused([](Root& root) { root.devices[0].confirmed_nonce = 8; }));
  CHECK(refused([](Root& root) { root.manifest.cell_sums = {1, 2}; }));
  CHECK(refused([](Root& root) { root.writers = {{6, 6, 1}}; }));
  CHECK(refused([](Root& root) { root.writers = {{7, 7, 0}}; }));
  CHECK(refused([](Root& root) { root.writers = {{0, 7, 1}}; }));
  CHECK(refused([](Root& root) { root.writers = {{3, 2, 1}, {7, 7, 1}}; }));
  CHECK(refused([](Root& root) { root.writers = {{3, 5, 1}, {5, 7, 2}}; }));
  CHECK(refused([](Root& root) { root.writers = {{3, 5, 1}, {6, 8, 2}}; }));
  const auto refused_with_writers = [](const std::function<void(Root&)>& change) {
    Root root = example_with_writers();
    change(root);
    return !check_root(root).ok();
  };
  CHECK_FALSE(refused_with_writers([](Root&) {}));
  CHECK(refused_with_writers([](Root& root) { root.manifest.cell_sums.pop_back(); }));
  CHECK_FALSE(refused_with_writers([](Root& root) { root.manifest.cell_sums.clear(); }));
  CHECK(refused_with_writers([](Root& root) { root.writers.clear(); }));
  CHECK(refused_with_writers([](Root& root) {
    root.writers.clear();
    for (Epoch epoch = 1; epoch <= kMaxWriters + 1; ++epoch) {
      root.writers.push_back({epoch, epoch, 1});
    }
    root.epoch = kMaxWriters + 1;
    root.promised_epoch = root.epoch + 1;
  }));
  CHECK(refused([](Root& root) { root.devices[1].left_epoch = 0; }));
  CHECK(refused([](Root& root) { root.devices[0].left_lsn = 3; }));
  CHECK(refused([](Root& root) { root.log_devices = {0, 0}; }));
  CHECK(refused([](Root& root) { root.log_devices = {17}; }));
  CHECK(refused([](Root& root) { root.manifest.slots.clear(); }));
  CHECK(refused([](Root& root) { root.manifest.extent.units = 0; }));
  CHECK(refused([](Root& root) { root.devices.resize(kMaxDevices + 1); }));
  CHECK_FALSE(refused([](Root& root) { root.manifest = {}; }));
}

// Found by fuzzing: the fence that an opening writes has the LSN behind the log's last one, and
// that was 0 where the trim point named the last LSN there can be.
TEST_CASE("root: LSNs, epochs and places in the log that have no successor are refused") {
  using Number = std::function<void(Root&, std::uint64_t)>;
  const Number numbers[] = {[](Root& root, std::uint64_t to) { root.log_trim.position = to; },
                            [](Root& root, std::uint64_t to) { root.log_trim.end = to; },
                            [](Root& root, std::uint64_t to) { root.log_trim.epoch = to; },
                            [](Root& root, std::uint64_t to) { root.log_trim.lsn = to; },
                            [](Root& root, std::uint64_t to) { root.checkpoint_lsn = to; },
                            [](Root& root, std::uint64_t to) { root.recorded_watermark = to; },
                            [](Root& root, std::uint64_t to) { root.previous_epoch_end = to; }};
  for (const Number& number : numbers) {
    Root root = example();
    number(root, std::uint64_t{1} << 62);
    CHECK(check_root(root).ok());
    number(root, (std::uint64_t{1} << 62) + 1);
    CHECK_FALSE(check_root(root).ok());
    number(root, ~std::uint64_t{0} - 1);
    CHECK_FALSE(check_root(root).ok());
  }
  Root fresh = example();
  fresh.log_trim = {};  // its position is the one number beyond: there is no block yet
  CHECK(check_root(fresh).ok());
}

TEST_CASE("root: forks are there when there are any, and older programs refuse them") {
  const std::string plain = encode_root(example());
  Root root = example();
  root.forks = {{2, 1, 30, 5}, {6, 0, 40, 7}};
  const std::string forked = encode_root(root);
  REQUIRE(forked.size() == plain.size() + 4 + 2 * 32);
  REQUIRE(decode_root(as_bytes(forked)).value() == root);
  REQUIRE(decode_root(as_bytes(plain)).value().forks.empty());
  // Of the feature bits, behind magic, length and checksum.
  CHECK(plain[16 + 16] == 0);
  CHECK(forked[16 + 16] == 1);
  const auto refused = [&](const std::vector<Fork>& forks) {
    root.forks = forks;
    return !check_root(root).ok();
  };
  CHECK_FALSE(refused({{1, 0, 1, 2}, {2, 0, 1, 7}}));
  CHECK(refused({{0, 0, 1, 2}}));
  CHECK(refused({{2, 0, 1, 2}}));
  CHECK(refused({{2, 0, 1, 8}}));
  CHECK(refused({{3, 0, 1, 4}, {3, 0, 1, 5}}));
  CHECK(refused(std::vector<Fork>(kMaxForks + 1, {1, 0, 1, 2})));
}

TEST_CASE("root: a device is draining, whatever its state, and older programs refuse the root") {
  const std::string plain = encode_root(example_with_writers());
  for (const DeviceId id : {DeviceId{0}, DeviceId{1}}) {
    for (const bool behind : {false, true}) {
      Root root = example_with_writers();
      root.devices[id].role = DeviceRole::kData;
      root.devices[id].behind = behind && root.devices[id].state == MemberState::kLive;
      root.devices[id].draining = true;
      const std::string bytes = encode_root(root);
      REQUIRE(bytes.size() == plain.size());
      REQUIRE(decode_root(as_bytes(bytes)).value() == root);
      // Of the feature bits, behind magic, length and checksum.
      CHECK((bytes[16 + 16] & 16) == 16);
      root.devices[id].draining = false;
      CHECK((encode_root(root)[16 + 16] & 16) == 0);
      root.devices[id].role = DeviceRole::kLog;
      root.devices[id].draining = true;
      CHECK_FALSE(check_root(root).ok());
    }
  }
  CHECK((plain[16 + 16] & 16) == 0);
}

TEST_CASE("root: a device is filling, and what zones have lost stands at the end") {
  const std::string plain = encode_root(example_with_writers());
  Root root = example_with_writers();
  RootDevice& row = root.devices[1];
  row.role = DeviceRole::kData;
  row.state = MemberState::kLive;
  row.left_lsn = 0;
  row.left_epoch = 0;
  row.behind = row.filling = true;
  for (const std::uint32_t lost : {0U, 2U, kMaxZoneSlots}) {
    root.lost_in_zone = lost;
    const std::string bytes = encode_root(root);
    REQUIRE(bytes.size() == plain.size() + 4);
    REQUIRE(decode_root(as_bytes(bytes)).value() == root);
    CHECK((bytes[16 + 16] & 64) == 64);
  }
  root.lost_in_zone = kMaxZoneSlots + 1;
  CHECK_FALSE(check_root(root).ok());
  root.lost_in_zone = 2;
  row.behind = false;
  CHECK_FALSE(check_root(root).ok());
  row.filling = false;
  CHECK_FALSE(check_root(root).ok());
  root.lost_in_zone = 0;
  CHECK(check_root(root).ok());
  CHECK((encode_root(root)[16 + 16] & 64) == 0);
}

TEST_CASE("root: failure domains stand at the end, of data devices alone, under a name each") {
  const std::string plain = encode_root(example_with_writers());
  Root root = example_with_writers();
  root.domain_cells = 1;  // those that were named have been removed
  REQUIRE(decode_root(as_bytes(encode_root(root))).value() == root);
  CHECK(encode_root(root).size() == plain.size() + 8);
  CHECK((encode_root(root)[16 + 16] & 128) == 128);
  RootDevice& data = *std::find_if(root.devices.begin(), root.devices.end(),
                                   [](const auto& row) { return row.role == DeviceRole::kData; });
  data.domain = std::string(kMaxDomainName, 'n');
  REQUIRE(decode_root(as_bytes(encode_root(root))).value() == root);
  CHECK(encode_root(root).size() == plain.size() + 8 + 5 + kMaxDomainName);
  for (const char* const name : {"a b", "\n"}) {
    data.domain = name;
    CHECK_FALSE(check_root(root).ok());
  }
  data.domain = "a";
  root.domain_cells = 0;
  CHECK_FALSE(check_root(root).ok());
  root.domain_cells = kMaxZoneSlots + 1;
  CHECK_FALSE(check_root(root).ok());
  root.domain_cells = 1;
  CHECK(check_root(root).ok());
  data.role = DeviceRole::kLog;
  CHECK_FALSE(check_root(root).ok());
}

TEST_CASE("root: the largest there is, with a failure domain for each device, has room") {
  Root root = example_with_writers();
  root.devices.clear();
  root.log_devices.clear();
  root.domain_cells = 1;
  for (DeviceId id = 0; id < kMaxDevices; ++id) {
    RootDevice& row = root.devices.emplace_back();
    row.id = id;
    row.uuid = Uuid{{9, static_cast<std::uint8_t>(id)}};
    row.slabs = 1000;
    row.domain = std::string(kMaxDomainName - 3, 'n') + std::to_string(100 + id);
    root.log_devices.push_back(id);
  }
  root.next_device = kMaxDevices;
  root.manifest.slots.resize(kMaxZoneSlots);
  root.manifest.cell_sums.resize(kMaxZoneSlots);
  root.epoch = root.promised_epoch = 100;
  root.writers.back().last_epoch = 100;
  for (Epoch epoch = 1; root.forks.size() < kMaxForks; ++epoch) {
    root.forks.push_back({epoch, 0, 1, epoch + 1});
  }
  REQUIRE(encode_root(root).size() < kHeaderSlotSize);
}

TEST_CASE("root: the slabs of devices that were added stand at the end, where there are any") {
  for (const Root& plain : {example(), example_with_writers()}) {
    Root root = plain;
    root.devices[1].slabs = 77;
    const std::string bytes = encode_root(root);
    REQUIRE(bytes.size() == encode_root(plain).size() + 4 + 8);
    REQUIRE(decode_root(as_bytes(bytes)).value() == root);
    CHECK((bytes[16 + 16] & 32) == 32);
    CHECK((encode_root(plain)[16 + 16] & 32) == 0);
    root.devices[1].slabs = kMaxSlabs + 1;
    CHECK_FALSE(check_root(root).ok());
    root.devices[1].slabs = 0;
    root.devices[2].slabs = 1;  // on no data device
    CHECK_FALSE(check_root(root).ok());
  }
}

TEST_CASE("root: the largest one fits into its slot") {
  Root root = example();
  root.epoch = root.promised_epoch = 1000;
  root.devices.clear();
  root.log_devices.clear();
  root.manifest.slots.clear();
  for (DeviceId id = 0; id < kMaxDevices; ++id) {
    RootDevice row;
    row.id = id;
    root.devices.push_back(row);
    root.log_devices.push_back(id);
    if (id < kMaxZoneSlots) root.manifest.slots.push_back({id, 1});
  }
  for (Epoch epoch = 1; epoch <= kMaxForks; ++epoch) root.forks.push_back({epoch, 0, 1, epoch + 1});
  const std::string bytes = encode_root(root);  // asserts that it does
  REQUIRE(bytes.size() <= kHeaderSlotSize);
  REQUIRE(decode_root(as_bytes(bytes)).value() == root);
}

TEST_CASE("root: an incompatible feature bit refuses the device") {
  Root root = example();
  root.features.incompatible = 256;
  CHECK(decode_root(as_bytes(encode_root(root))).error().code == ErrorCode::kUnsupported);
  HookedDevice device(kSize);
  REQUIRE(write_root(whole(device), root).ok());
  CHECK(read_roots(whole(device)).error().code == ErrorCode::kUnsupported);
}

TEST_CASE("root: the two slots hold the two newest roots, also when a root was left out") {
  HookedDevice device(kSize);
  CHECK(sequences(device).empty());
  std::vector<std::uint64_t> expected;
  // 44 follows 42: this device was not reached by 43. The slot of 42 must not be written.
  for (const std::uint64_t sequence : {40, 41, 42, 44, 46, 47}) {
    REQUIRE(write_root(whole(device), numbered(sequence)).ok());
    expected.insert(expected.begin(), sequence);
    if (expected.size() > 2) expected.resize(2);
    CHECK(sequences(device) == expected);
  }
}

TEST_CASE("root: a write that is torn anywhere leaves the newest root before it") {
  for (std::size_t tear = 0; tear < encode_root(numbered(3)).size(); tear += 7) {
    HookedDevice device(kSize);
    REQUIRE(write_root(whole(device), numbered(1)).ok());
    REQUIRE(write_root(whole(device), numbered(2)).ok());
    device.hook = [&](const io::IoRequest& request) -> Status {
      if (request.op != io::IoOp::kWrite) return {};
      std::copy_n(request.data, tear,
                  device.bytes.begin() + static_cast<std::ptrdiff_t>(request.offset));
      return Error{ErrorCode::kIo, "power lost", ""};
    };
    REQUIRE(!write_root(whole(device), numbered(3)).ok());
    device.hook = nullptr;
    const auto found = sequences(device);
    REQUIRE(!found.empty());
    REQUIRE((found.front() == 2 || found.front() == 3));
  }
}

TEST_CASE("root: of two roots of one sequence the one that counts is never written over") {
  // As versions left them that tried a change of membership again with the same sequence.
  Root given_up = numbered(2);
  Root last = numbered(2);
  last.devices[2].state = MemberState::kLeft;
  last.devices[2].left_epoch = last.epoch;
  REQUIRE(is_newer(last, given_up));
  REQUIRE_FALSE(is_newer(given_up, last));
  for (const bool swapped : {false, true}) {
    CAPTURE(swapped);
    HookedDevice device(kSize);
    const auto put = [&](unsigned slot, const Root& root) {
      const std::string bytes = encode_root(root);
      const ByteView view = as_bytes(bytes);
      for (const DeviceEnd end : kDeviceEnds) {
        copy_bytes(MutByteView(device.bytes).subspan(root_offset(end, slot, kSize)), view);
      }
    };
    put(swapped ? 1 : 0, given_up);
    put(swapped ? 0 : 1, last);
    REQUIRE(read_roots(whole(device))->front() == last);
    Root next = last;
    ++next.sequence;
    REQUIRE(write_root(whole(device), next).ok());
    REQUIRE(*read_roots(whole(device)) == std::vector<Root>{next, last});
  }
}

TEST_CASE("root: an unreadable slot is written over, two unreadable ones are an error to read") {
  HookedDevice device(kSize);
  REQUIRE(write_root(whole(device), numbered(1)).ok());
  REQUIRE(write_root(whole(device), numbered(2)).ok());
  device.hook = [](const io::IoRequest& request) -> Status {
    const bool second = request.offset == root_offset(DeviceEnd::kHead, 1, kSize) ||
                        request.offset == root_offset(DeviceEnd::kTail, 1, kSize);
    if (request.op == io::IoOp::kRead && second) {
      return Error{ErrorCode::kIo, "bad sector", ""};
    }
    return {};
  };
  CHECK(sequences(device) == std::vector<std::uint64_t>{2});
  REQUIRE(write_root(whole(device), numbered(3)).ok());
  device.hook = nullptr;
  CHECK(sequences(device) == std::vector<std::uint64_t>{3, 2});
  device.hook = [](const io::IoRequest&) { return Error{ErrorCode::kIo, "gone", ""}; };
  CHECK(read_roots(whole(device)).error().code == ErrorCode::kIo);
  CHECK(write_root(whole(device), numbered(4)).error().code == ErrorCode::kIo);
}

TEST_CASE("root: a slot that could not be read just now is neither passed over nor written over") {
  HookedDevice device(kSize);
  REQUIRE(write_root(whole(device), numbered(1)).ok());
  REQUIRE(write_root(whole(device), numbered(2)).ok());
  for (const unsigned which : {0u, 1u, 2u, 3u}) {
    CAPTURE(which);
    const std::uint64_t unread = root_offset(kDeviceEnds[which / 2], which % 2, kSize);
    device.hook = [&](const io::IoRequest& request) -> Status {
      if (request.op == io::IoOp::kRead && request.offset == unread) {
        return Error{ErrorCode::kExhausted, "no memory", ""};
      }
      return {};
    };
    // The other slot has a root, which may be an old one.
    CHECK(read_roots(whole(device)).error().code == ErrorCode::kExhausted);
    const auto before = device.bytes;
    CHECK(write_root(whole(device), numbered(3)).error().code == ErrorCode::kExhausted);
    CHECK((device.bytes == before));
  }
  device.hook = nullptr;
  CHECK(sequences(device) == std::vector<std::uint64_t>{2, 1});
}

TEST_CASE("root: several devices get the same root in one call, each with its own outcome") {
  const auto queue = io::make_memory_queue();
  std::vector<std::unique_ptr<io::Device>> devices;
  std::vector<LaidOutDevice> pointers;
  for (int i = 0; i < 3; ++i) {
    auto made = io::make_memory_device("memory", i == 1 ? 32_KiB : kSize, *queue);
    REQUIRE(made.ok());
    devices.push_back(std::move(*made));
    pointers.push_back({devices.back().get(), kSize});
  }
  const auto results = write_root(pointers, numbered(5));
  REQUIRE(results.size() == 3);
  CHECK(results[0].ok());
  CHECK(!results[1].ok());  // too short for a root slot
  CHECK(results[2].ok());
  CHECK(sequences(*devices[2]) == std::vector<std::uint64_t>{5});
  CHECK(write_root(std::vector<LaidOutDevice>{}, numbered(5)).empty());
}

TEST_CASE("root: each end alone shows what counted as written, whatever was cut since (P10)") {
  // Roots 1 to 4 one after the other; at each the power may fail with either end written, torn or
  // not reached. Then one end is lost.
  enum class Fate { kWritten, kTorn, kUntouched };
  constexpr Fate kFates[] = {Fate::kWritten, Fate::kTorn, Fate::kUntouched};
  constexpr int kRounds = 4;
  for (int code = 0; code < 9 * 9 * 9 * 9; code += static_cast<int>(hexad::testing::kThinned)) {
    HookedDevice device(kEndsSize);
    const std::uint64_t size = kEndsSize;
    std::uint64_t counted = 0;
    for (int round = 0, rest = code; round < kRounds; ++round, rest /= 9) {
      const Fate fates[] = {kFates[rest % 3], kFates[rest / 3 % 3]};
      device.hook = [&](const io::IoRequest& request) -> Status {
        if (request.op != io::IoOp::kWrite) return {};
        const bool tail = request.offset >= header_offset(DeviceEnd::kTail, size);
        const Fate fate = fates[tail ? 1 : 0];
        if (fate == Fate::kWritten) return {};
        if (fate == Fate::kTorn) {
          std::copy_n(request.data, 100,
                      device.bytes.begin() + static_cast<std::ptrdiff_t>(request.offset));
        }
        return Error{ErrorCode::kIo, "power lost", ""};
      };
      const auto sequence = static_cast<std::uint64_t>(round) + 1;
      if (write_root(whole(device), numbered(sequence)).ok()) counted = sequence;
      device.hook = nullptr;
    }
    for (const DeviceEnd lost : kDeviceEnds) {
      const std::uint64_t at = header_offset(lost, size);
      Bytes saved(device.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  device.bytes.begin() + static_cast<std::ptrdiff_t>(at + kHeaderSize));
      for (const unsigned slot : {0u, 1u}) {
        device.bytes[root_offset(lost, slot, size) + 40] ^= std::byte{0x5a};
      }
      const auto roots = read_roots(whole(device)).value();
      const std::uint64_t shown = roots.empty() ? 0 : roots.front().sequence;
      CAPTURE(code, shown, counted);
      REQUIRE(shown >= counted);
      copy_bytes(MutByteView(device.bytes).subspan(at), saved);
    }
  }
}

TEST_CASE("root: two roots written fill all four slots, and those that are bad are told") {
  HookedDevice device(kSize);
  std::vector<std::string> bad;
  CHECK(read_roots(whole(device), &bad)->empty());
  CHECK(bad.size() == 4);
  for (const std::uint64_t sequence : {1, 2}) {
    REQUIRE(write_root(whole(device), numbered(sequence)).ok());
  }
  for (const unsigned which : {0u, 1u, 2u, 3u}) {
    const DeviceEnd end = kDeviceEnds[which / 2];
    device.bytes[root_offset(end, which % 2, kSize) + 77] ^= std::byte{1};
    bad.clear();
    REQUIRE(read_roots(whole(device), &bad)->front().sequence == 2);
    REQUIRE(bad.size() == 1);
    CHECK_THAT(bad[0], Catch::StartsWith("the root in slot " + std::to_string(which % 2) +
                                         " at the " + std::string(to_string(end))));
    device.bytes[root_offset(end, which % 2, kSize) + 77] ^= std::byte{1};
  }
  std::fill(device.bytes.begin(), device.bytes.begin() + 2_MiB, std::byte{});
  for (const std::uint64_t sequence : {3, 4}) {
    REQUIRE(write_root(whole(device), numbered(sequence)).ok());
  }
  bad.clear();
  CHECK(sequences(device) == std::vector<std::uint64_t>{4, 3});
  REQUIRE(read_roots(whole(device), &bad).ok());
  CHECK(bad.empty());
}
