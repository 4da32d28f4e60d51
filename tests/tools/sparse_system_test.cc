#include "tools/bench/sparse_system.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/system.h"
#include "tests/io/device_contract.h"
#include "tests/io/temporary.h"

using namespace hexad;
using hexad::io::testing::pattern;
using hexad::io::testing::TemporaryDirectory;
using hexad::tools::SparseSystem;

namespace {

class SparseWorld final : public io::testing::World {
 public:
  SparseWorld() {
    for (int i = 0; i < 2; ++i) devices_[i] = system_->create_device(path(i), 8_MiB).value();
  }
  io::Device& device(int index) override { return *devices_[index]; }
  void reopen(int index) override {
    devices_[index].reset();
    devices_[index] = system_->open_device(path(index), io::OpenMode::kReadWrite).value();
  }
  io::Executor& executor() override { return system_->executor(); }
  std::string path(int index) const { return directory_.path(std::to_string(index)); }
  const SparseSystem& system() const { return *system_; }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<SparseSystem> system_ = SparseSystem::make().value();
  std::unique_ptr<io::Device> devices_[2];
};

std::uint64_t bytes_on_disk(const std::string& path) {
  struct stat status = {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

// What the device has at `offset`.
AlignedBuffer read(io::Device& device, std::uint64_t offset, std::size_t size) {
  AlignedBuffer bytes = pattern(99, size);
  REQUIRE(device.read(offset, bytes.bytes()).ok());
  return bytes;
}

bool same(ByteView a, ByteView b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace

TEST_CASE("sparse: devices keep the contract") {
  io::testing::run_device_contract([] { return std::make_unique<SparseWorld>(); });
}

TEST_CASE("sparse: zeros where nothing was are not stored") {
  SparseWorld world;
  io::Device& device = world.device(0);
  REQUIRE(device.geometry().size == 8_MiB);
  CHECK(bytes_on_disk(world.path(0)) == 0);
  CHECK(device.reserve_room(0, 8_MiB).value() == io::Device::Room::kSure);
  REQUIRE(device.write(1_MiB, AlignedBuffer::zeroed(256_KiB)).ok());
  REQUIRE(device.write(4_MiB, AlignedBuffer::zeroed(64_KiB), io::WriteMode::kDurable).ok());
  REQUIRE(device.flush().ok());
  CHECK(bytes_on_disk(world.path(0)) == 0);
  CHECK(world.system().traffic().skipped == 320_KiB);
  CHECK(world.system().traffic().written == 0);
  CHECK(world.system().traffic().punched == 0);
  CHECK(is_zero(read(device, 1_MiB, 512_KiB)));
  // Of the device it is a write like any other.
  CHECK(device.traffic().written_for[static_cast<std::size_t>(io::IoCause::kOther)] == 320_KiB);
}

TEST_CASE("sparse: of a write that holds something its zero blocks are left out") {
  SparseWorld world;
  io::Device& device = world.device(0);
  AlignedBuffer bytes = AlignedBuffer::zeroed(64_KiB);
  bytes.bytes()[5 * 4096 + 4095] = std::byte{1};
  bytes.bytes()[15 * 4096] = std::byte{2};
  REQUIRE(device.write(64_KiB, bytes).ok());
  REQUIRE(device.flush().ok());
  CHECK(world.system().traffic().written == 8_KiB);
  CHECK(world.system().traffic().skipped == 56_KiB);
  CHECK(bytes_on_disk(world.path(0)) <= 16_KiB);
  CHECK(same(read(device, 64_KiB, 64_KiB), bytes));
  world.reopen(0);
  CHECK(same(read(world.device(0), 64_KiB, 64_KiB), bytes));
}

TEST_CASE("sparse: zeros over something read as zeros, and what is beside them stays") {
  SparseWorld world;
  io::Device& device = world.device(0);
  const AlignedBuffer before = pattern(1, 1_MiB);
  REQUIRE(device.write(0, before).ok());
  REQUIRE(device.flush().ok());
  REQUIRE(bytes_on_disk(world.path(0)) >= 1_MiB);
  for (const io::WriteMode mode : {io::WriteMode::kCached, io::WriteMode::kDurable}) {
    const std::uint64_t at = mode == io::WriteMode::kCached ? 128_KiB : 512_KiB;
    REQUIRE(device.write(at, AlignedBuffer::zeroed(256_KiB), mode).ok());
    CHECK(is_zero(read(device, at, 256_KiB)));
  }
  CHECK(same(read(device, 0, 128_KiB), ByteView(before).first(128_KiB)));
  CHECK(same(read(device, 384_KiB, 128_KiB), ByteView(before).subspan(384_KiB, 128_KiB)));
  CHECK(same(read(device, 768_KiB, 256_KiB), ByteView(before).subspan(768_KiB)));
  // Whether the file system makes holes or not.
  const tools::SparseTraffic& traffic = world.system().traffic();
  CHECK(traffic.punched + traffic.written == 1_MiB + 512_KiB);
  if (traffic.punched > 0) CHECK(bytes_on_disk(world.path(0)) <= 512_KiB + 64_KiB);
  // Something again.
  const AlignedBuffer after = pattern(2, 256_KiB);
  REQUIRE(device.write(128_KiB, after).ok());
  CHECK(same(read(device, 128_KiB, 256_KiB), after));
}

TEST_CASE("sparse: others read the same from the file") {
  SparseWorld world;
  AlignedBuffer bytes = AlignedBuffer::zeroed(256_KiB);
  copy_bytes(bytes.bytes().subspan(64_KiB, 4_KiB), pattern(3, 4_KiB));
  REQUIRE(world.device(0).write(1_MiB, bytes, io::WriteMode::kDurable).ok());
  const auto real = io::make_real_system().value();
  const auto device = real->open_device(world.path(0), io::OpenMode::kLook).value();
  CHECK(device->geometry().size == 8_MiB);
  CHECK(same(read(*device, 1_MiB, 256_KiB), bytes));
  CHECK(real->open_device(world.path(0), io::OpenMode::kReadOnly).error().code == ErrorCode::kBusy);
}

TEST_CASE("sparse: files are locked as devices are") {
  SparseWorld world;
  const auto other = SparseSystem::make().value();
  const auto refused = other->open_device(world.path(0), io::OpenMode::kReadWrite);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kBusy);
  const auto look = other->open_device(world.path(0), io::OpenMode::kLook).value();
  CHECK(look->write(0, pattern(1, 4_KiB)).error().code == ErrorCode::kReadOnly);
  CHECK(look->flush().ok());
}

TEST_CASE("sparse: what is no regular file is refused, and what is there is opened") {
  TemporaryDirectory directory;
  const auto system = SparseSystem::make().value();
  const auto code = [&](const std::string& path) {
    return system->open_device(path, io::OpenMode::kReadWrite).error().code;
  };
  CHECK(code(directory.path("none")) == ErrorCode::kNotFound);
  CHECK(code("/dev/null") == ErrorCode::kInvalidArgument);
  CHECK(code("rbd:pool/image") == ErrorCode::kInvalidArgument);
  CHECK(system->create_device(directory.path("odd"), 1000).error().code ==
        ErrorCode::kInvalidArgument);
  const std::string path = directory.path("file");
  const AlignedBuffer bytes = pattern(4, 8_KiB);
  REQUIRE(system->create_device(path, 1_MiB).value()->write(4_KiB, bytes).ok());
  const auto grown = system->create_device(path, 2_MiB).value();
  CHECK(grown->geometry().size == 2_MiB);
  CHECK(same(read(*grown, 4_KiB, 8_KiB), bytes));
  CHECK(grown->grow(1_MiB).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("sparse: errors of the file are errors of the device") {
  SparseWorld world;
  REQUIRE(truncate(world.path(0).c_str(), 1_MiB) == 0);
  AlignedBuffer bytes(8_KiB);
  const Status status = world.device(0).read(1_MiB - 4_KiB, bytes.bytes());
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kIo);
  CHECK(status.error().message.find("only 4 KiB are there") != std::string::npos);
  CHECK(world.device(0).traffic().failed_reads == 1);

  // One that can neither be written nor have holes any more.
  const int fd = memfd_create("sealed", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(ftruncate(fd, 1_MiB) == 0);
  const auto system = SparseSystem::make().value();
  const auto device =
      system->open_device("/proc/self/fd/" + std::to_string(fd), io::OpenMode::kReadWrite).value();
  REQUIRE(device->write(0, pattern(5, 4_KiB)).ok());
  REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0);
  CHECK_FALSE(device->write(8_KiB, pattern(6, 4_KiB)).ok());
  CHECK_FALSE(device->write(0, AlignedBuffer::zeroed(4_KiB)).ok());
  CHECK(device->write(64_KiB, AlignedBuffer::zeroed(4_KiB)).ok());  // nothing to do
  CHECK(same(read(*device, 0, 4_KiB), pattern(5, 4_KiB)));
  close(fd);
}
