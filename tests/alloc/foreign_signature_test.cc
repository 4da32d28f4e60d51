#include "alloc/foreign_signature.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "tests/alloc/test_support.h"

using namespace hexad;
using namespace hexad::alloc;
using namespace std::string_view_literals;
using alloc::testing::HookedDevice;

namespace {

std::optional<std::string> seen_with(std::uint64_t offset, std::string_view mark,
                                     std::uint64_t size = 4_MiB) {
  HookedDevice device(size);
  copy_bytes(MutByteView(device.bytes).subspan(offset), as_bytes(mark));
  const auto found = detect_foreign_signature(device);
  REQUIRE(found.ok());
  return *found;
}

}  // namespace

TEST_CASE("foreign_signature: the well-known formats are recognised by name") {
  CHECK(seen_with(0, "LUKS\xba\xbe"sv) == "LUKS encrypted volume");
  CHECK(seen_with(0, "XFSB"sv) == "XFS file system");
  CHECK(seen_with(1080, "\x53\xef"sv) == "ext2, ext3 or ext4 file system");
  CHECK(seen_with(0x10040, "_BHRfS_M"sv) == "btrfs file system");
  CHECK(seen_with(536, "LVM2 001"sv) == "LVM physical volume");
  CHECK(seen_with(512, "EFI PART"sv) == "GPT partition table");
  CHECK(seen_with(4_MiB - 512, "EFI PART"sv) == "GPT partition table");
  CHECK(seen_with(4096 - 10, "SWAPSPACE2"sv) == "swap space");
  CHECK(seen_with(128_KiB + 5 * 1_KiB, "\x0c\xb1\xba\0\0\0\0\0"sv) == "ZFS pool member");
  CHECK(seen_with(510, "\x55\xaa"sv) == "boot sector or DOS partition table");
  CHECK(seen_with(0, "bluestore block device"sv) == "Ceph BlueStore device");
}

TEST_CASE("foreign_signature: Linux RAID is found at each of its four places") {
  const std::string_view mark = "\xfc\x4e\x2b\xa9"sv;
  CHECK(seen_with(0, mark) == "Linux RAID member");
  CHECK(seen_with(4096, mark) == "Linux RAID member");
  CHECK(seen_with(4_MiB - 64_KiB, mark) == "Linux RAID member");
  CHECK(seen_with(4_MiB - 8_KiB, mark) == "Linux RAID member");
  // A length that is no multiple of 64 KiB moves the old place down.
  CHECK(seen_with(4_MiB - 64_KiB, mark, 4_MiB + 4_KiB) == "Linux RAID member");
}

TEST_CASE("foreign_signature: an empty device of any small size has none") {
  for (const std::uint64_t size : {0_KiB, 512 * 1_KiB / 1024, 4_KiB, 64_KiB, 100_KiB, 1_MiB}) {
    HookedDevice device(size);
    const auto found = detect_foreign_signature(device);
    REQUIRE(found.ok());
    CHECK(!found->has_value());
  }
}

TEST_CASE("foreign_signature: a device that cannot be read says so") {
  HookedDevice device(1_MiB);
  device.hook = [](const io::IoRequest&) { return Error{ErrorCode::kIo, "broken", ""}; };
  CHECK(detect_foreign_signature(device).error().code == ErrorCode::kIo);
}
