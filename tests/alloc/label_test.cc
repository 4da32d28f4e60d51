#include "alloc/label.h"

#include <catch2/catch.hpp>

#include "alloc/sealed_block.h"
#include "tests/alloc/test_support.h"

using namespace hexad;
using namespace hexad::alloc;
using alloc::testing::to_hex;
using alloc::testing::uuid_of;
using namespace std::string_view_literals;
using alloc::testing::HookedDevice;

namespace {

constexpr std::uint64_t kSize = 5_MiB;

Label example() {
  Label label;
  label.generation = 3;
  label.features = {5, 6, 0};
  label.store = uuid_of(0x10);
  label.device = 2;
  label.device_uuid = uuid_of(0x80);
  LayoutRequest request;
  request.device_size = kSize;
  request.log_size = 256_KiB;
  request.slab_units = 16;
  label.layout = *plan_layout(request);
  label.k = 4;
  label.m = 2;
  label.codec = 4;
  label.packet_bytes = 2048;
  label.checksum_granularity = 16384;
  label.created = 1'700'000'000'000'000'000;
  label.device_count = 6;
  label.pool_options = "opt=1";
  return label;
}

void spoil(HookedDevice& device, std::uint64_t at) { device.bytes[at] ^= std::byte{0x40}; }

}  // namespace

TEST_CASE("label: golden bytes hold both directions") {
  const std::string bytes = encode_label(example());
  CHECK(to_hex(bytes) == to_hex(alloc::testing::golden("label")));
  const auto decoded = decode_label(as_bytes(bytes));
  REQUIRE(decoded.ok());
  CHECK(*decoded == example());
}

TEST_CASE("label: every truncation and every flipped bit is refused") {
  alloc::testing::for_each_damage(encode_label(example()), [](const std::string& damaged) {
    REQUIRE(!decode_label(as_bytes(damaged)).ok());
  });
}

TEST_CASE("label: a changed body behind a right checksum is refused or decoded, never believed") {
  alloc::testing::for_each_damage(encode_label(example()), [](const std::string& damaged) {
    if (damaged.size() < kSealSize) return;
    const auto decoded = decode_label(as_bytes(alloc::testing::resealed(damaged)));
    if (decoded.ok()) REQUIRE(check_layout(decoded->layout, decoded->role).ok());
  });
}

TEST_CASE("label: it fits its slot with the longest options") {
  Label label = example();
  label.pool_options = std::string(kMaxPoolOptions, 'x');
  CHECK(encode_label(label).size() <= kHeaderSlotSize);
}

TEST_CASE("label: a later version and an unknown feature bit are named") {
  std::string later = encode_label(example());
  later[16] = 3;
  const auto version = decode_label(as_bytes(alloc::testing::resealed(later)));
  REQUIRE(!version.ok());
  CHECK(version.error().code == ErrorCode::kUnsupported);
  CHECK(version.error().message.find("version 3") != std::string::npos);
  CHECK(version.error().hint.find("or a later one") != std::string::npos);
  Label featured = example();
  featured.features.incompatible = 1 << 9 | 1 << 3;
  const auto bits = decode_label(as_bytes(encode_label(featured)));
  REQUIRE(!bits.ok());
  CHECK(bits.error().code == ErrorCode::kUnsupported);
  CHECK(bits.error().message.find("features 3, 9") != std::string::npos);
}

TEST_CASE("label: log blocks that are larger than the physical block make it unknown to others") {
  Label label = example();
  LayoutRequest request;
  request.device_size = kSize;
  request.physical_block = 512;
  request.log_block = 4096;
  request.unit = 18_KiB;
  request.log_size = 250_KiB;
  request.slab_units = 16;
  label.layout = *plan_layout(request);
  REQUIRE(label.layout.log_block == 4096);
  const std::string bytes = encode_label(label);
  const auto decoded = decode_label(as_bytes(bytes));
  REQUIRE(decoded.ok());
  CHECK(*decoded == label);
  alloc::testing::for_each_damage(
      bytes, [](const std::string& damaged) { REQUIRE(!decode_label(as_bytes(damaged)).ok()); });
  // Neither the bit without the field nor the field without the bit.
  Label bit = example();
  bit.features.incompatible = kLogBlockFeature;
  CHECK(decode_label(as_bytes(encode_label(bit))).error().code == ErrorCode::kCorruption);
  std::string field = encode_label(example());
  field[16 + 142] = 12;
  CHECK(decode_label(as_bytes(alloc::testing::resealed(field))).error().code ==
        ErrorCode::kCorruption);
}

TEST_CASE("label: a device keeps its label through damage to either copy, not to both") {
  HookedDevice device(kSize);
  REQUIRE(write_label(device, example()).ok());
  CHECK(!read_label(device)->other_copy.has_value());
  for (const DeviceEnd end : kDeviceEnds) {
    spoil(device, label_offset(end, kSize) + 40);
    const auto found = read_label(device);
    REQUIRE(found.ok());
    CHECK(found->label == example());
    REQUIRE(found->other_copy.has_value());
    CHECK_THAT(found->other_copy->message,
               Catch::Contains("at the " + std::string(to_string(end))));
    spoil(device, label_offset(end, kSize) + 40);
  }
  for (const DeviceEnd end : kDeviceEnds) spoil(device, label_offset(end, kSize) + 40);
  const auto lost = read_label(device);
  REQUIRE(!lost.ok());
  CHECK(lost.error().code == ErrorCode::kCorruption);
  CHECK(lost.error().message.find("both label copies") != std::string::npos);
}

TEST_CASE("label: at every failing request of a rewrite, the old or the new label is read") {
  Label next = example();
  next.generation = 4;
  next.pool_options = "opt=2";
  for (int fail_at = 0; fail_at < 5; ++fail_at) {
    HookedDevice device(kSize);
    REQUIRE(write_label(device, example()).ok());
    int request_number = 0;
    device.hook = [&](const io::IoRequest& request) -> Status {
      if (request_number++ != fail_at) return {};
      // A failed write leaves anything behind.
      if (request.op == io::IoOp::kWrite) spoil(device, request.offset + 20);
      return Error{ErrorCode::kIo, "power lost", ""};
    };
    CAPTURE(fail_at);
    CHECK(write_label(device, next).ok() == (fail_at == 4));
    device.hook = nullptr;
    const auto found = read_label(device);
    REQUIRE(found.ok());
    CHECK((found->label == example() || found->label == next));
    CHECK(found->other_copy.has_value() == (fail_at < 3));
  }
}

TEST_CASE("label: a device of somebody else is told from an empty one") {
  HookedDevice device(kSize);
  const auto empty = read_label(device);
  REQUIRE(!empty.ok());
  CHECK(empty.error().code == ErrorCode::kInvalidArgument);
  CHECK(empty.error().message == "test-device: not a hexad device");
  copy_bytes(MutByteView(device.bytes), as_bytes("XFSB"sv));
  CHECK(read_label(device).error().message.find("XFS file system") != std::string::npos);
  HookedDevice tiny(4096);
  CHECK(read_label(tiny).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("label: a device that was cut or moved to other hardware is refused with the numbers") {
  HookedDevice device(kSize);
  REQUIRE(write_label(device, example()).ok());
  device.geometry_.size = 4_MiB;
  const auto cut = read_label(device);
  REQUIRE(!cut.ok());
  CHECK(cut.error().code == ErrorCode::kCorruption);
  CHECK(cut.error().message.find("4 MiB") != std::string::npos);
  device.geometry_.size = kSize;
  device.geometry_.logical_block = 8192;
  CHECK(read_label(device).error().code == ErrorCode::kUnsupported);
}

TEST_CASE("label: unreadable copies are an input/output error, one unreadable copy is not") {
  HookedDevice device(kSize);
  REQUIRE(write_label(device, example()).ok());
  device.hook = [](const io::IoRequest& request) -> Status {
    if (request.offset == kHeadOffset) return Error{ErrorCode::kIo, "bad sector", ""};
    return {};
  };
  CHECK(read_label(device).ok());
  device.hook = [](const io::IoRequest&) { return Error{ErrorCode::kIo, "bad sector", ""}; };
  CHECK(read_label(device).error().code == ErrorCode::kIo);
}

TEST_CASE("label: either end may be written over whole, or the device have grown") {
  const std::pair<std::uint64_t, std::uint64_t> kOver[] = {{0, 17_KiB},
                                                           {0, 1_MiB},
                                                           {0, 2_MiB},
                                                           {kSize - 17_KiB, 17_KiB},
                                                           {kSize - 1_MiB, 1_MiB},
                                                           {kSize - 2_MiB, 2_MiB}};
  for (const auto& [offset, length] : kOver) {
    CAPTURE(offset, length);
    HookedDevice device(kSize);
    REQUIRE(write_label(device, example()).ok());
    const auto begin = device.bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    std::fill_n(begin, length, std::byte{0x5a});
    const auto found = read_label(device);
    REQUIRE(found.ok());
    CHECK(found->label == example());
    CHECK(found->other_copy.has_value() == (length == 2_MiB));
    REQUIRE(mend_label(device, found->label).ok());
    CHECK_FALSE(read_label(device)->other_copy.has_value());
  }
  HookedDevice grown(kSize);
  REQUIRE(write_label(grown, example()).ok());
  REQUIRE(grown.grow(kSize + 1_MiB).ok());
  CHECK_FALSE(read_label(grown)->other_copy.has_value());
}

TEST_CASE("label: mending writes the copy that is not as it should be and no other") {
  for (const DeviceEnd end : kDeviceEnds) {
    HookedDevice device(kSize);
    REQUIRE(write_label(device, example()).ok());
    const Bytes sound = device.bytes;
    spoil(device, label_offset(end, kSize) + 40);
    device.log.clear();
    device.hook = [&](const io::IoRequest& request) -> Status {
      const bool elsewhere =
          request.op == io::IoOp::kWrite && request.offset != label_offset(end, kSize);
      return elsewhere ? Error{ErrorCode::kIo, "not to be written", ""} : Status();
    };
    REQUIRE(mend_label(device, example()).ok());
    CHECK((device.bytes == sound));
    CHECK(std::count(device.log.begin(), device.log.end(), io::IoOp::kWrite) == 1);
  }
}

TEST_CASE("label: two ends of two devices are refused, with the names of both") {
  HookedDevice device(kSize);
  REQUIRE(write_label(device, example()).ok());
  HookedDevice other(kSize);
  Label stranger = example();
  stranger.device_uuid = uuid_of(0x90);
  stranger.device = 5;
  stranger.generation = 9;
  REQUIRE(write_label(other, stranger).ok());
  std::copy_n(other.bytes.begin(), 2_MiB, device.bytes.begin());
  const auto found = read_label(device);
  REQUIRE(!found.ok());
  CHECK(found.error().code == ErrorCode::kCorruption);
  CHECK_THAT(found.error().message, Catch::Contains("at its head is of device 5 of store"));
  CHECK_THAT(found.error().message, Catch::Contains("the one at its tail of device 2 of store"));
}

TEST_CASE("label: one at the very start, where version 1 had it, is refused by its version") {
  for (const std::uint64_t offset : {std::uint64_t{0}, 16_KiB}) {
    HookedDevice device(kSize);
    std::string older = encode_label(example());
    older[16] = 1;
    older = alloc::testing::resealed(older);
    copy_bytes(MutByteView(device.bytes).subspan(offset), as_bytes(older));
    CHECK(read_label(device).error().code == ErrorCode::kUnsupported);
    CHECK_THAT(read_label(device).error().message, Catch::Contains("format version 1"));
    // A whole one, of a program between the two.
    copy_bytes(MutByteView(device.bytes).subspan(offset), as_bytes(encode_label(example())));
    CHECK(read_label(device).error().code == ErrorCode::kUnsupported);
    spoil(device, offset + 40);
    CHECK(read_label(device).error().code == ErrorCode::kCorruption);
    // Left over there, it hides no label that is where it belongs.
    REQUIRE(write_label(device, example()).ok());
    CHECK(read_label(device)->label == example());
  }
}
