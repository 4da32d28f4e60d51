#include "io/os/file_device.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>

#include "base/units.h"
#include "io/os/file_geometry.h"
#include "io/os/thread_queue.h"
#include "io/os/uring_queue.h"
#include "tests/io/device_contract.h"
#include "tests/io/os/file_world.h"
#include "tests/io/os/locking_process.h"
#include "tests/io/os/loop_device.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::FileWorld;
using hexad::io::testing::LockingProcess;
using hexad::io::testing::LoopDevice;
using hexad::io::testing::pattern;
using hexad::io::testing::QueueMaker;
using hexad::io::testing::TemporaryDirectory;

namespace {

std::unique_ptr<FileQueue> uring() { return make_uring_queue().value(); }
// Much smaller than the batches of the contract.
std::unique_ptr<FileQueue> tiny_uring() { return make_uring_queue({4, 1}).value(); }
std::unique_ptr<FileQueue> threads() { return make_thread_queue(4); }

class LoopWorld final : public io::testing::World {
 public:
  LoopWorld(QueueMaker make, int sector)
      : loops_{{8_MiB, sector}, {8_MiB, sector}}, queue_(make()) {
    if (!usable()) return;
    for (int i = 0; i < 2; ++i) reopen(i);
  }
  bool usable() const { return loops_[0].usable() && loops_[1].usable(); }
  const std::string& path(int index) const { return loops_[index].path(); }
  FileQueue& queue() { return *queue_; }
  Device& device(int index) override { return *devices_[index]; }
  void reopen(int index) override {
    devices_[index].reset();
    devices_[index] = FileDevice::open(path(index), OpenMode::kReadWrite, *queue_).value();
  }
  Executor& executor() override { return *executor_; }
  bool can_grow() const override { return false; }

 private:
  const LoopDevice loops_[2];
  std::unique_ptr<Executor> executor_ = make_thread_executor(2);
  std::unique_ptr<FileQueue> queue_;
  std::unique_ptr<FileDevice> devices_[2];
};

bool loop_devices_work() {
  if (LoopWorld(threads, 512).usable()) return true;
  WARN("SKIPPED: block devices are not tested, because losetup does not work here (needs root)");
  return false;
}

int flags_of(const FileDevice& device) { return fcntl(device.fd(), F_GETFL); }

}  // namespace

TEST_CASE("file_device: files keep the contract through io_uring") {
  io::testing::run_device_contract(
      [] { return std::make_unique<FileWorld>(uring, Caching::kDirectIfPossible); });
}

TEST_CASE("file_device: files keep the contract through a ring of four") {
  io::testing::run_device_contract(
      [] { return std::make_unique<FileWorld>(tiny_uring, Caching::kDirectIfPossible); });
}

TEST_CASE("file_device: files keep the contract through threads") {
  io::testing::run_device_contract(
      [] { return std::make_unique<FileWorld>(threads, Caching::kDirectIfPossible); });
}

TEST_CASE("file_device: buffered files keep the contract through io_uring") {
  io::testing::run_device_contract(
      [] { return std::make_unique<FileWorld>(uring, Caching::kBuffered); });
}

TEST_CASE("file_device: buffered files keep the contract through threads") {
  io::testing::run_device_contract(
      [] { return std::make_unique<FileWorld>(threads, Caching::kBuffered); });
}

TEST_CASE("file_device: block devices of 512-byte sectors keep the contract") {
  if (!loop_devices_work()) return;
  io::testing::run_device_contract([] { return std::make_unique<LoopWorld>(uring, 512); });
}

TEST_CASE("file_device: block devices of 4096-byte sectors keep the contract") {
  if (!loop_devices_work()) return;
  io::testing::run_device_contract([] { return std::make_unique<LoopWorld>(uring, 4096); });
}

TEST_CASE("file_device: block devices keep the contract through threads") {
  if (!loop_devices_work()) return;
  io::testing::run_device_contract([] { return std::make_unique<LoopWorld>(threads, 512); });
}

TEST_CASE("file_device: a block device tells its sectors and refuses a second writer") {
  if (!loop_devices_work()) return;
  for (const int sector : {512, 4096}) {
    LoopWorld world(uring, sector);
    REQUIRE(world.usable());
    REQUIRE(world.device(0).geometry().logical_block == static_cast<std::uint32_t>(sector));
    REQUIRE(world.device(0).geometry().size == 8_MiB);
    REQUIRE(world.device(0).direct());
    REQUIRE(FileDevice::open(world.path(0), OpenMode::kReadWrite, world.queue()).error().code ==
            ErrorCode::kBusy);
    // Creating what is a block device opens it, whatever size was asked for.
    REQUIRE(FileDevice::create(world.path(0), 64_MiB, world.queue()).error().code ==
            ErrorCode::kBusy);
  }
}

// The kernel refuses with EBUSY to punch a hole where the page cache has something newer.
TEST_CASE(
    "file_device: a discard that another program is in the way of does nothing and succeeds") {
  if (!loop_devices_work()) return;
  for (const QueueMaker make : {uring, threads}) {
    LoopWorld world(make, 4096);
    REQUIRE(world.usable());
    const AlignedBuffer ours = pattern(1, 64_KiB);
    REQUIRE(world.device(0).write(0, ours).ok());
    const AlignedBuffer theirs = pattern(2, 4096);
    const Fd other(open(world.path(0).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(pwrite(other.get(), theirs.data(), 4096, 8192) == 4096);  // dirty in the page cache
    const Status status = world.device(0).discard(0, 64_KiB);
    CAPTURE(world.queue().name(), status.ok() ? "" : status.error().to_string());
    REQUIRE(status.ok());
    REQUIRE(world.device(0).discard(128_KiB, 64_KiB).ok());
  }
}

TEST_CASE("file_device: a block device that the system uses is refused") {
  if (!loop_devices_work()) return;
  LoopWorld world(threads, 512);
  const int claim = open(world.path(1).c_str(), O_RDONLY | O_EXCL);
  REQUIRE(claim < 0);  // ours is the claim
  REQUIRE(errno == EBUSY);
}

TEST_CASE("file_device: a new file is private, preallocated, locked and closed in children") {
  const TemporaryDirectory directory;
  const auto queue = threads();
  const std::string path = directory.path("device");
  const auto device = FileDevice::create(path, 1_MiB, *queue).value();
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  REQUIRE((status.st_mode & 0777) == 0600);
  REQUIRE(status.st_size == 1_MiB);
  REQUIRE(static_cast<std::uint64_t>(status.st_blocks) * 512 >= 1_MiB);
  REQUIRE((fcntl(device->fd(), F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE((flags_of(*device) & O_NONBLOCK) == 0);
  REQUIRE(((flags_of(*device) & O_DIRECT) != 0) == device->direct());
  REQUIRE(device->geometry().volatile_cache);
  REQUIRE(lock_holder(device->fd()).value() == getpid());
}

TEST_CASE("file_device: kBusy names the process that holds the lock") {
  const TemporaryDirectory directory;
  const auto queue = threads();
  const std::string path = directory.path("device");
  FileDevice::create(path, 1_MiB, *queue).value().reset();
  SECTION("this one") {
    const auto device = FileDevice::open(path, OpenMode::kReadWrite, *queue).value();
    const auto second = FileDevice::open(path, OpenMode::kReadOnly, *queue);
    REQUIRE(second.error().code == ErrorCode::kBusy);
    REQUIRE(second.error().message.find("in this process") != std::string::npos);
  }
  SECTION("another one") {
    LockingProcess other(path);
    const auto refused = FileDevice::open(path, OpenMode::kReadOnly, *queue);
    CHECK(refused.error().code == ErrorCode::kBusy);
    CHECK(refused.error().message.find(std::to_string(other.id())) != std::string::npos);
    other.end();
    REQUIRE(FileDevice::open(path, OpenMode::kReadOnly, *queue).ok());
  }
}

TEST_CASE("file_device: readers share, and write nothing") {
  for (const QueueMaker make : {uring, threads}) {
    const TemporaryDirectory directory;
    const auto queue = make();
    const std::string path = directory.path("device");
    FileDevice::create(path, 1_MiB, *queue).value().reset();
    const auto first = FileDevice::open(path, OpenMode::kReadOnly, *queue).value();
    const auto second = FileDevice::open(path, OpenMode::kReadOnly, *queue).value();
    REQUIRE(FileDevice::open(path, OpenMode::kReadWrite, *queue).error().code == ErrorCode::kBusy);
    const AlignedBuffer data = pattern(1, 4096);
    AlignedBuffer found(4096);
    REQUIRE(first->write(0, data).error().code == ErrorCode::kReadOnly);
    REQUIRE(first->discard(0, 4096).error().code == ErrorCode::kReadOnly);
    REQUIRE(first->grow(2_MiB).error().code == ErrorCode::kReadOnly);
    REQUIRE(second->read(0, found.bytes()).ok());
    REQUIRE(second->flush().ok());
  }
}

TEST_CASE("file_device: who only looks takes no lock, waits for none, and writes nothing") {
  const TemporaryDirectory directory;
  const auto queue = threads();
  const std::string path = directory.path("device");
  const auto writer = FileDevice::create(path, 1_MiB, *queue).value();
  const AlignedBuffer data = pattern(1, 4096);
  REQUIRE(writer->write(0, data).ok());
  const auto looker = FileDevice::open(path, OpenMode::kLook, *queue).value();
  AlignedBuffer found(4096);
  REQUIRE(looker->read(0, found.bytes()).ok());
  REQUIRE(std::memcmp(found.bytes().data(), data.bytes().data(), 4096) == 0);
  REQUIRE(looker->write(0, data).error().code == ErrorCode::kReadOnly);
  REQUIRE(writer->write(0, data).ok());
}

TEST_CASE("file_device: the lock is free as soon as the device is closed, every time") {
  const TemporaryDirectory directory;
  const auto queue = uring();
  const std::string path = directory.path("device");
  FileDevice::create(path, 1_MiB, *queue).value().reset();
  const AlignedBuffer data = pattern(1, 4096);
  for (int i = 0; i < 200; ++i) {
    const auto device = FileDevice::open(path, OpenMode::kReadWrite, *queue).value();
    REQUIRE(device->write(0, data).ok());
  }
}

TEST_CASE("file_device: what is no file or block device is refused, with a hint") {
  const TemporaryDirectory directory;
  const auto queue = threads();
  const auto code_of = [&](const std::string& path) {
    const auto opened = FileDevice::open(path, OpenMode::kReadWrite, *queue);
    CHECK_FALSE(opened.error().hint.empty());
    return opened.error().code;
  };
  REQUIRE(code_of(directory.path("absent")) == ErrorCode::kNotFound);
  REQUIRE(code_of(directory.path("absent/below")) == ErrorCode::kNotFound);
  REQUIRE(code_of(directory.path("")) == ErrorCode::kInvalidArgument);
  REQUIRE(code_of("/dev/null") == ErrorCode::kInvalidArgument);
  REQUIRE(code_of(directory.path(std::string(300, 'x'))) == ErrorCode::kInvalidArgument);
  REQUIRE(mkfifo(directory.path("fifo").c_str(), 0600) == 0);
  REQUIRE(code_of(directory.path("fifo")) == ErrorCode::kInvalidArgument);
  const auto reader =
      FileDevice::open(directory.path("fifo"), OpenMode::kReadOnly, *queue);  // does not hang
  REQUIRE(reader.error().code == ErrorCode::kInvalidArgument);
  FileDevice::create(directory.path("file"), 1_MiB, *queue).value().reset();
  std::filesystem::create_symlink(directory.path("file"), directory.path("link"));
  // A link stands for what it leads to, and has its lock.
  {
    const auto link = FileDevice::open(directory.path("link"), OpenMode::kReadWrite, *queue);
    REQUIRE(link.ok());
    REQUIRE((*link)->name() == directory.path("link"));
    const auto again = FileDevice::open(directory.path("file"), OpenMode::kReadWrite, *queue);
    REQUIRE(again.error().code == ErrorCode::kBusy);
  }
  std::filesystem::create_symlink(directory.path("nowhere"), directory.path("dangling"));
  REQUIRE(code_of(directory.path("dangling")) == ErrorCode::kNotFound);
  REQUIRE_FALSE(FileDevice::create(directory.path("dangling"), 1_MiB, *queue).ok());
  REQUIRE_FALSE(std::filesystem::exists(directory.path("nowhere")));
}

TEST_CASE("file_device: creation opens what exists, grows it, and leaves nothing when it fails") {
  const TemporaryDirectory directory;
  const auto queue = threads();
  const std::string path = directory.path("device");
  const AlignedBuffer data = pattern(1, 4096);
  REQUIRE(FileDevice::create(path, 1_MiB, *queue).value()->write(0, data).ok());
  const auto again = FileDevice::create(path, 2_MiB, *queue).value();
  REQUIRE(again->geometry().size == 2_MiB);
  AlignedBuffer found(4096);
  REQUIRE(again->read(0, found.bytes()).ok());
  REQUIRE(as_text(found.bytes()) == as_text(data.bytes()));

  const std::string other = directory.path("other");
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1000}, ~std::uint64_t{4095}}) {
    REQUIRE(FileDevice::create(other, size, *queue).error().code == ErrorCode::kInvalidArgument);
  }
  // More than any file or disk holds.
  REQUIRE(FileDevice::create(other, std::uint64_t{1} << 61, *queue).error().code ==
          ErrorCode::kNoSpace);
  REQUIRE(FileDevice::create(other, std::uint64_t{1} << 43, *queue).error().code ==
          ErrorCode::kNoSpace);
  REQUIRE_FALSE(std::filesystem::exists(other));
  REQUIRE(FileDevice::create(directory.path("no/such"), 1_MiB, *queue).error().code ==
          ErrorCode::kNotFound);
}

TEST_CASE("file_device: growth that finds no room leaves the old size") {
  const TemporaryDirectory directory;
  const auto queue = threads();
  const auto device = FileDevice::create(directory.path("device"), 1_MiB, *queue).value();
  REQUIRE(device->grow(std::uint64_t{1} << 43).error().code == ErrorCode::kNoSpace);
  REQUIRE(device->geometry().size == 1_MiB);
  REQUIRE(std::filesystem::file_size(directory.path("device")) == 1_MiB);
  REQUIRE(device->grow(2_MiB).ok());
}

TEST_CASE("file_device: a file that was cut short makes reads fail, not lie") {
  for (const QueueMaker make : {uring, threads}) {
    const TemporaryDirectory directory;
    const auto queue = make();
    const std::string path = directory.path("device");
    const auto device = FileDevice::create(path, 1_MiB, *queue).value();
    std::filesystem::resize_file(path, 64_KiB);
    AlignedBuffer buffer(128_KiB);
    const Status partly = device->read(0, buffer.bytes());
    REQUIRE(partly.error().code == ErrorCode::kIo);
    REQUIRE(partly.error().message.find("64 KiB") != std::string::npos);
    REQUIRE(device->read(512_KiB, buffer.bytes()).error().code == ErrorCode::kIo);
    REQUIRE(device->read(0, buffer.bytes().first(64_KiB)).ok());
  }
}

TEST_CASE("file_device: an odd size is rounded down to whole blocks") {
  const TemporaryDirectory directory;
  const auto queue = threads();
  const std::string path = directory.path("device");
  std::ofstream(path).close();
  std::filesystem::resize_file(path, 1_MiB + 100);
  REQUIRE(FileDevice::open(path, OpenMode::kReadOnly, *queue).value()->geometry().size == 1_MiB);
}
