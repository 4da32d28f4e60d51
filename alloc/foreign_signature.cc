#include "alloc/foreign_signature.h"

#include <algorithm>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/units.h"

namespace hexad::alloc {

namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kHeadSize = 256_KiB;
constexpr std::uint64_t kTailRead = 192_KiB;

// A fixed string at a fixed place from the start.
struct Mark {
  std::uint64_t offset;
  std::string_view bytes;
  std::string_view name;
};

// Specific formats before the vague ones: a partition table may also be the first sector of
// something else.
constexpr Mark kMarks[] = {
    {0, "LUKS\xba\xbe"sv, "LUKS encrypted volume"},
    {0, "XFSB"sv, "XFS file system"},
    {0x10040, "_BHRfS_M"sv, "btrfs file system"},
    {512 + 24, "LVM2 001"sv, "LVM physical volume"},
    {24, "LVM2 001"sv, "LVM physical volume"},
    {1024 + 24, "LVM2 001"sv, "LVM physical volume"},
    {1536 + 24, "LVM2 001"sv, "LVM physical volume"},
    {0, "\xfc\x4e\x2b\xa9"sv, "Linux RAID member"},
    {4096, "\xfc\x4e\x2b\xa9"sv, "Linux RAID member"},
    {0, "bluestore block device"sv, "Ceph BlueStore device"},
    {4096 - 10, "SWAPSPACE2"sv, "swap space"},
    {4096 - 10, "SWAP-SPACE"sv, "swap space"},
    {65536 - 10, "SWAPSPACE2"sv, "swap space"},
    {1024 + 56, "\x53\xef"sv, "ext2, ext3 or ext4 file system"},
    {1024, "\x10\x20\xf5\xf2"sv, "F2FS file system"},
    {3, "NTFS    "sv, "NTFS file system"},
    {3, "EXFAT   "sv, "exFAT file system"},
    {512, "EFI PART"sv, "GPT partition table"},
    {4096, "EFI PART"sv, "GPT partition table"},
};

bool found_at(ByteView bytes, std::uint64_t offset, std::string_view mark) {
  return offset <= bytes.size() && mark.size() <= bytes.size() - offset &&
         as_text(bytes.subspan(offset, mark.size())) == mark;
}

// Uberblocks, in either byte order, in the second half of the first vdev label.
bool is_zfs(ByteView head) {
  for (std::uint64_t offset = 128_KiB; offset < 256_KiB; offset += 1_KiB) {
    if (found_at(head, offset, "\x0c\xb1\xba\x00\x00\x00\x00\x00"sv) ||
        found_at(head, offset, "\x00\x00\x00\x00\x00\xba\xb1\x0c"sv)) {
      return true;
    }
  }
  return false;
}

// Metadata versions 0.90 (the last whole 64 KiB but one) and 1.0 (8 KiB before the end).
bool is_raid_tail(ByteView tail, std::uint64_t device_size) {
  const std::uint64_t tail_start = device_size - tail.size();
  const auto at = [&](std::uint64_t offset) {
    return offset >= tail_start && found_at(tail, offset - tail_start, "\xfc\x4e\x2b\xa9"sv);
  };
  return (device_size >= 128_KiB && at(round_down(device_size, 64_KiB) - 64_KiB)) ||
         (device_size >= 16_KiB && at(round_down(device_size, 4_KiB) - 8_KiB));
}

// The copy of the GPT in the last logical block.
bool is_gpt_tail(ByteView tail) {
  return (tail.size() >= 512 && found_at(tail, tail.size() - 512, "EFI PART"sv)) ||
         (tail.size() >= 4096 && found_at(tail, tail.size() - 4096, "EFI PART"sv));
}

}  // namespace

std::optional<std::string> detect_foreign_signature(ByteView head, ByteView tail,
                                                    std::uint64_t device_size) {
  for (const Mark& mark : kMarks) {
    if (found_at(head, mark.offset, mark.bytes)) return std::string(mark.name);
  }
  if (is_zfs(head)) return "ZFS pool member";
  if (tail.size() <= device_size && is_raid_tail(tail, device_size)) return "Linux RAID member";
  if (is_gpt_tail(tail)) return "GPT partition table";
  if (found_at(head, 510, "\x55\xaa"sv)) return "boot sector or DOS partition table";
  return std::nullopt;
}

Result<std::optional<std::string>> detect_foreign_signature(io::Device& device) {
  const std::uint64_t size = device.geometry().size;
  const std::uint64_t block = device.geometry().logical_block;
  AlignedBuffer head(round_down(std::min(size, kHeadSize), block));
  AlignedBuffer tail(round_down(std::min(size, kTailRead), block));
  if (!head.empty()) HEXAD_TRY(device.read(0, head.bytes()));
  if (!tail.empty()) HEXAD_TRY(device.read(size - tail.size(), tail.bytes()));
  return detect_foreign_signature(head.bytes(), tail.bytes(), size);
}

}  // namespace hexad::alloc
