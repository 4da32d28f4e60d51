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

Label example() {
  Label label;
  label.generation = 3;
  label.features = {5, 6, 0};
  label.store = uuid_of(0x10);
  label.device = 2;
  label.device_uuid = uuid_of(0x80);
  LayoutRequest request;
  request.device_size = 1_MiB;
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
  featured.features.incompatible = 1 << 9 | 1;
  const auto bits = decode_label(as_bytes(encode_label(featured)));
  REQUIRE(!bits.ok());
  CHECK(bits.error().code == ErrorCode::kUnsupported);
  CHECK(bits.error().message.find("features 0, 9") != std::string::npos);
}

TEST_CASE("label: a device keeps its label through damage to either copy, not to both") {
  HookedDevice device(1_MiB);
  REQUIRE(write_label(device, example()).ok());
  CHECK(!read_label(device)->other_copy.has_value());
  for (const unsigned copy : {0u, 1u}) {
    spoil(device, label_offset(copy) + 40);
    const auto found = read_label(device);
    REQUIRE(found.ok());
    CHECK(found->label == example());
    CHECK(found->other_copy.has_value());
    spoil(device, label_offset(copy) + 40);
  }
  spoil(device, label_offset(0) + 40);
  spoil(device, label_offset(1) + 40);
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
    HookedDevice device(1_MiB);
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
  HookedDevice device(1_MiB);
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
  HookedDevice device(1_MiB);
  REQUIRE(write_label(device, example()).ok());
  device.geometry_.size = 512_KiB;
  const auto cut = read_label(device);
  REQUIRE(!cut.ok());
  CHECK(cut.error().code == ErrorCode::kCorruption);
  CHECK(cut.error().message.find("512 KiB") != std::string::npos);
  device.geometry_.size = 1_MiB;
  device.geometry_.logical_block = 8192;
  CHECK(read_label(device).error().code == ErrorCode::kUnsupported);
}

TEST_CASE("label: unreadable copies are an input/output error, one unreadable copy is not") {
  HookedDevice device(1_MiB);
  REQUIRE(write_label(device, example()).ok());
  device.hook = [](const io::IoRequest& request) -> Status {
    if (request.offset == 0) return Error{ErrorCode::kIo, "bad sector", ""};
    return {};
  };
  CHECK(read_label(device).ok());
  device.hook = [](const io::IoRequest&) { return Error{ErrorCode::kIo, "bad sector", ""}; };
  CHECK(read_label(device).error().code == ErrorCode::kIo);
}
