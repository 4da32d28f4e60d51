#include "kv/log/log_area.h"

#include <catch2/catch.hpp>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/memory_device.h"
#include "tests/kv/log/failing_device.h"

namespace hexad::kv {
namespace {

struct Disk {
  explicit Disk(std::uint64_t size, std::uint32_t logical = 512)
      : device(std::move(*io::make_memory_device("disk", size, *queue, {logical, 4096}))) {}
  std::unique_ptr<io::IoQueue> queue = io::make_memory_queue();
  std::unique_ptr<io::Device> device;
};

std::string refusal(const LogArea& area, std::uint32_t block) {
  const Status status = check_log_area(area, block);
  if (status.ok()) return "";
  REQUIRE(status.error().code == ErrorCode::kInvalidArgument);
  return status.error().message;
}

TEST_CASE("log_area: its text names device, place and size") {
  const Disk disk(64_MiB);
  REQUIRE(LogArea{disk.device.get(), 64_KiB, 16_MiB}.to_string() == "disk [65536, +16 MiB)");
  REQUIRE(LogArea{}.to_string().find("no device") == 0);
}

// Every place and size in steps of half a block around the edges, against the rule as written.
TEST_CASE("log_area: an area is accepted exactly when it is whole blocks inside its device") {
  const Disk disk(8192);
  for (const std::uint32_t block : {512u, 1024u, 2048u}) {
    for (std::uint64_t offset = 0; offset <= 9 * 1024; offset += 256) {
      for (std::uint64_t size = 0; size <= 9 * 1024; size += 256) {
        CAPTURE(block, offset, size);
        const bool fits = offset % block == 0 && size % block == 0 && offset + size <= 8192;
        REQUIRE((refusal({disk.device.get(), offset, size}, block).empty()) == fits);
      }
    }
  }
}

TEST_CASE("log_area: blocks that do not fit the device's are refused with both numbers") {
  const Disk disk(1_MiB, 4096);
  for (const std::uint32_t block : {0u, 1u, 256u, 512u, 4095u, 6144u}) {
    CAPTURE(block);
    const std::string text = refusal({disk.device.get(), 0, 1_MiB}, block);
    REQUIRE(text.find("blocks of " + std::to_string(block) + " B") != std::string::npos);
    REQUIRE(text.find("4096 B") != std::string::npos);
  }
  REQUIRE(refusal({disk.device.get(), 0, 1_MiB}, 4096).empty());
  REQUIRE(refusal({disk.device.get(), 0, 1_MiB}, 8192).empty());
}

TEST_CASE("log_area: numbers whose sum wraps are refused, no device is refused") {
  const Disk disk(1_MiB);
  const std::uint64_t top = ~std::uint64_t{0} - 511;
  REQUIRE_FALSE(refusal({disk.device.get(), top, 1024}, 512).empty());
  REQUIRE_FALSE(refusal({disk.device.get(), 1024, top}, 512).empty());
  REQUIRE(refusal({nullptr, 0, 512}, 512).find("no device") != std::string::npos);
  REQUIRE(format_log_area({nullptr, 0, 512}).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(format_log_area({disk.device.get(), 0, 2_MiB}).error().code ==
          ErrorCode::kInvalidArgument);
}

TEST_CASE("log_area: formatting zeroes the area, all of it and nothing else") {
  const Disk disk(16_MiB);
  const AlignedBuffer ones = [] {
    AlignedBuffer buffer(16_MiB);
    std::fill_n(buffer.data(), buffer.size(), std::byte{1});
    return buffer;
  }();
  // Below, at and above the size of one write.
  for (const std::uint64_t size : {std::uint64_t{512}, 4_MiB - 512, 4_MiB, 4_MiB + 512, 9_MiB}) {
    CAPTURE(size);
    REQUIRE(disk.device->write(0, ones).ok());
    REQUIRE(format_log_area({disk.device.get(), 3 * 512, size}).ok());
    AlignedBuffer found(16_MiB);
    REQUIRE(disk.device->read(0, found.bytes()).ok());
    REQUIRE(is_zero(ByteView(found).subspan(3 * 512, size)));
    REQUIRE(as_text(ByteView(found).first(3 * 512)) == as_text(ByteView(ones).first(3 * 512)));
    const std::uint64_t end = 3 * 512 + size;
    REQUIRE(as_text(ByteView(found).subspan(end)) == as_text(ByteView(ones).subspan(end)));
  }
}

TEST_CASE("log_area: formatting ends at the first request that fails, and flushes last") {
  testing::FailingQueue queue;
  testing::FailingDevice device(16_MiB, queue);
  const LogArea area{&device, 0, 9_MiB};  // three writes and a flush
  for (int failing = 0; failing <= 4; ++failing) {
    int seen = 0;
    std::string order;
    device.fails = [&](const io::IoRequest& request) {
      order += request.op == io::IoOp::kFlush ? 'f' : 'w';
      return seen++ == failing;
    };
    const Status status = format_log_area(area);
    REQUIRE(status.ok() == (failing == 4));
    REQUIRE(order == std::string("wwwf").substr(0, static_cast<std::size_t>(failing) + 1));
  }
}

}  // namespace
}  // namespace hexad::kv
