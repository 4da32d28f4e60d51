#include "io/os/file_geometry.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/os/file_device.h"
#include "tests/io/os/locking_process.h"
#include "tests/io/os/loop_device.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::LockingProcess;
using hexad::io::testing::LoopDevice;
using hexad::io::testing::TemporaryDirectory;

namespace {

Fd make_file(const std::string& path, std::uint64_t size, int flags = 0) {
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600));
  REQUIRE(fd.valid());
  REQUIRE(ftruncate(fd.get(), static_cast<off_t>(size)) == 0);
  return fd;
}

}  // namespace

TEST_CASE("file_geometry: a file through the page cache takes any 512 bytes") {
  const TemporaryDirectory directory;
  const Fd fd = make_file(directory.path("file"), 1_MiB);
  bool direct = false;
  const Geometry geometry = regular_file_geometry(fd.get(), "file", direct).value();
  REQUIRE_FALSE(direct);
  REQUIRE(geometry.size == 1_MiB);
  REQUIRE(geometry.logical_block == 512);
  REQUIRE(geometry.physical_block == 4096);
  REQUIRE(geometry.volatile_cache);
}

TEST_CASE("file_geometry: direct I/O works in the blocks that are told, and in none smaller") {
  const TemporaryDirectory directory;
  const Fd fd = make_file(directory.path("file"), 1_MiB);
  bool direct = fcntl(fd.get(), F_SETFL, O_DIRECT) == 0;
  if (!direct) return;  // the file system has none
  const Geometry geometry = regular_file_geometry(fd.get(), "file", direct).value();
  if (!direct) return;
  AlignedBuffer buffer(4096);
  const auto block = static_cast<ssize_t>(geometry.logical_block);
  REQUIRE(pread(fd.get(), buffer.data(), geometry.logical_block, block) == block);
  if (block > 512) REQUIRE(pread(fd.get(), buffer.data(), 512, 0) != 512);
}

TEST_CASE("file_geometry: what is in memory is known") {
  const TemporaryDirectory memory{TemporaryDirectory::On::kMemory};
  if (memory.path().starts_with("/dev/shm"))
    REQUIRE(is_in_memory(make_file(memory.path("file"), 1_MiB).get()));
  const Fd other(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  REQUIRE_FALSE(is_in_memory(other.get()));
}

TEST_CASE("file_geometry: sizes are rounded down to whole blocks") {
  const TemporaryDirectory directory;
  for (const std::uint64_t size : {0, 1, 511, 512, 513, 1023, 1024, 4095, 4096, 4097}) {
    CAPTURE(size);
    const Fd fd = make_file(directory.path("file"), size);
    for (bool direct : {false, fcntl(fd.get(), F_SETFL, O_DIRECT) == 0}) {
      const Geometry geometry = regular_file_geometry(fd.get(), "file", direct).value();
      REQUIRE(geometry.size == size / geometry.logical_block * geometry.logical_block);
    }
  }
}

TEST_CASE("file_geometry: a block device is asked for its sectors and size") {
  for (const int sector : {512, 4096}) {
    const LoopDevice loop(8_MiB, sector);
    if (!loop.usable()) {
      WARN("SKIPPED: no loop devices here (needs root)");
      return;
    }
    const Fd fd(open(loop.path().c_str(), O_RDONLY | O_CLOEXEC));
    const Geometry geometry = block_device_geometry(fd.get(), loop.path()).value();
    REQUIRE(geometry.size == 8_MiB);
    REQUIRE(geometry.logical_block == static_cast<std::uint32_t>(sector));
    REQUIRE(geometry.physical_block >= geometry.logical_block);
    REQUIRE(is_multiple(geometry.physical_block, geometry.logical_block));
    REQUIRE(geometry.volatile_cache);  // a loop device's bytes lie in its file's page cache
  }
}

TEST_CASE("file_geometry: what is no block device, or not open, is an error that names it") {
  const TemporaryDirectory directory;
  const Fd file = make_file(directory.path("file"), 4096);
  const auto no_device = block_device_geometry(file.get(), "the file");
  REQUIRE(no_device.error().code == ErrorCode::kIo);
  REQUIRE(no_device.error().message.find("the file") == 0);
  bool direct = false;
  REQUIRE(regular_file_geometry(-1, "nothing", direct).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(block_device_geometry(-1, "nothing").error().message.find("nothing") == 0);
  REQUIRE_FALSE(lock_holder(-1).has_value());
}

TEST_CASE("file_geometry: the holder of a lock is the process that took it, for as long") {
  const TemporaryDirectory directory;
  const Fd fd = make_file(directory.path("file"), 4096);
  const Fd other = make_file(directory.path("other"), 4096);
  REQUIRE_FALSE(lock_holder(fd.get()).has_value());
  for (const int kind : {LOCK_EX, LOCK_SH}) {
    REQUIRE(flock(fd.get(), kind) == 0);
    REQUIRE(lock_holder(fd.get()) == getpid());
    REQUIRE_FALSE(lock_holder(other.get()).has_value());
    REQUIRE(flock(fd.get(), LOCK_UN) == 0);
    REQUIRE_FALSE(lock_holder(fd.get()).has_value());
  }
  LockingProcess holder(directory.path("file"));
  CHECK(lock_holder(fd.get()) == holder.id());
  holder.end();
  REQUIRE_FALSE(lock_holder(fd.get()).has_value());
}

TEST_CASE("file_geometry: people are told who has a lock, as far as that can be known") {
  REQUIRE(locked_by(std::nullopt) == " is locked by another program");
  REQUIRE(locked_by(getpid()) == " is open already, in this process");
  // The first process of the machine or container: it is there, and runs some command.
  const std::string first = locked_by(1);
  REQUIRE(first.find(" is locked by process 1 (") == 0);
  REQUIRE(first.back() == ')');
  REQUIRE(first.size() < 130);
  REQUIRE(locked_by(999'999'999) == " is locked by process 999999999");
}
