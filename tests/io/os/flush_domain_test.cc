#include "io/os/flush_domain.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/os/file_device.h"
#include "io/os/thread_queue.h"
#include "io/os/uring_queue.h"
#include "tests/io/temporary.h"

namespace hexad::io {
namespace {

using testing::TemporaryDirectory;

TEST_CASE("flush_domain: ext4 and xfs with barriers share flushes, nothing else does") {
  const std::string mounts =
      "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
      "28 27 254:1 / /a rw shared:1 master:2 - xfs /dev/vdb rw,noquota\n"
      "29 27 254:2 / /b rw - ext4 /dev/vdc rw,nobarrier\n"
      "30 27 254:3 / /c rw - ext4 /dev/vdd rw,barrier=0\n"
      "31 27 0:40 / /d rw - btrfs /dev/vde rw\n"
      "32 27 0:41 / /e rw - tmpfs tmpfs rw\n"
      "33 27 254:4 / /f rw - ext4 /dev/vdf\n"
      "34 27 254:5 / /g rw - ext3 /dev/vdg rw\n"
      "35 27 254:6 / /h rw -\n";
  REQUIRE(may_share_flushes(mounts, makedev(254, 0)));
  REQUIRE(may_share_flushes(mounts, makedev(254, 1)));
  for (const dev_t device : {makedev(254, 2), makedev(254, 3), makedev(0, 40), makedev(0, 41),
                             makedev(254, 4), makedev(254, 5), makedev(254, 6), makedev(9, 9)}) {
    CAPTURE(major(device), minor(device));
    REQUIRE_FALSE(may_share_flushes(mounts, device));
  }
  REQUIRE_FALSE(may_share_flushes("", makedev(254, 0)));
}

TEST_CASE("flush_domain: one mount without barriers is enough to refuse the file system") {
  const std::string mounts =
      "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
      "28 1 254:0 / /again rw - ext4 /dev/vda rw,nobarrier\n";
  REQUIRE_FALSE(may_share_flushes(mounts, makedev(254, 0)));
}

TEST_CASE("flush_domain: block devices that are not there share with nobody") {
  REQUIRE(block_device_flush_domain(makedev(4000, 4000)) == 0);
}

// The flags of the extent at `offset`; nothing for a hole.
std::optional<std::uint32_t> extent_flags(int fd, std::uint64_t offset) {
  alignas(fiemap) std::byte memory[sizeof(fiemap) + sizeof(fiemap_extent)]{};
  auto* map = reinterpret_cast<fiemap*>(memory);
  map->fm_start = offset;
  map->fm_length = 1;
  map->fm_extent_count = 1;
  if (ioctl(fd, FS_IOC_FIEMAP, map) != 0 || map->fm_mapped_extents == 0) return std::nullopt;
  return map->fm_extents[0].fe_flags;
}

bool is_written(int fd, std::uint64_t offset) {
  const auto flags = extent_flags(fd, offset);
  return flags.has_value() && (*flags & FIEMAP_EXTENT_UNWRITTEN) == 0;
}

// Two files of one file system, when that may share flushes at all.
struct Pair {
  explicit Pair(std::unique_ptr<FileQueue> with) : queue(std::move(with)) {
    a = FileDevice::create(directory.path("a"), 8_MiB, *queue).value();
    b = FileDevice::create(directory.path("b"), 8_MiB, *queue).value();
  }
  bool shared() const { return a->geometry().flush_domain != 0; }

  TemporaryDirectory directory;
  std::unique_ptr<FileQueue> queue;
  std::unique_ptr<FileDevice> a;
  std::unique_ptr<FileDevice> b;
};

Pair make_pair() {
  Result<std::unique_ptr<FileQueue>> ring = make_uring_queue();
  return Pair(ring.ok() ? std::move(ring).value() : make_thread_queue(4));
}

// What the device made of a shared write.
WriteMode mode_of_shared_write(FileDevice& device, std::uint64_t offset, ByteView data) {
  IoBatch batch;
  batch.requests.push_back(IoRequest::write(device, offset, data, WriteMode::kShared));
  device.queue().submit(batch);
  device.queue().wait(batch);
  REQUIRE(batch.first_error().ok());
  return batch.requests.front().mode;
}

TEST_CASE("flush_domain: files of one file system share, a buffered one and one elsewhere do not") {
  Pair pair = make_pair();
  if (!pair.shared()) return;
  REQUIRE(pair.a->geometry().flush_domain == pair.b->geometry().flush_domain);
  const auto buffered =
      FileDevice::create(pair.directory.path("c"), 1_MiB, *pair.queue, Caching::kBuffered).value();
  REQUIRE(buffered->geometry().flush_domain == 0);
  struct stat memory {};
  if (::stat("/dev/shm", &memory) == 0) REQUIRE(file_flush_domain(memory.st_dev) == 0);
}

TEST_CASE("flush_domain: a first write into preallocated space is durable by itself, once") {
  Pair pair = make_pair();
  if (!pair.shared()) return;
  const AlignedBuffer data = AlignedBuffer::zeroed(4096);
  REQUIRE_FALSE(is_written(pair.a->fd(), 64 << 10));
  REQUIRE(mode_of_shared_write(*pair.a, 64 << 10, data) == WriteMode::kDurable);
  REQUIRE(is_written(pair.a->fd(), 64 << 10));
  REQUIRE(mode_of_shared_write(*pair.a, 64 << 10, data) == WriteMode::kShared);
  REQUIRE(pair.a->traffic().durable_writes == 1);
  // The neighbour is another matter.
  REQUIRE(mode_of_shared_write(*pair.a, 68 << 10, data) == WriteMode::kDurable);
}

TEST_CASE("flush_domain: zeros written ahead count after a flush of that file, not of another") {
  Pair pair = make_pair();
  if (!pair.shared()) return;
  const AlignedBuffer zeros = AlignedBuffer::zeroed(1 << 20);
  REQUIRE(pair.a->write(0, zeros).ok());
  REQUIRE(pair.b->flush().ok());
  REQUIRE(pair.a->unwritten()->touches({0, 4096}));
  REQUIRE(pair.a->flush().ok());
  REQUIRE_FALSE(pair.a->unwritten()->touches({0, 1 << 20}));
  REQUIRE(pair.a->unwritten()->touches({1 << 20, 4096}));
}

TEST_CASE("flush_domain: opening finds what is preallocated, written, punched or beyond a growth") {
  Pair pair = make_pair();
  if (!pair.shared()) return;
  const AlignedBuffer data = AlignedBuffer::zeroed(1 << 20);
  REQUIRE(pair.a->write(1_MiB, data).ok());
  REQUIRE(pair.a->write(3_MiB, data).ok());
  REQUIRE(pair.a->flush().ok());
  REQUIRE(pair.a->discard(3_MiB, 64 << 10).ok());
  REQUIRE(pair.a->unwritten()->touches({3_MiB, 4096}));
  REQUIRE(pair.a->grow(9_MiB).ok());
  REQUIRE(pair.a->unwritten()->touches({8_MiB, 4096}));
  const std::vector<FileRange> before = pair.a->unwritten()->ranges();
  pair.a.reset();
  pair.a = FileDevice::open(pair.directory.path("a"), OpenMode::kReadWrite, *pair.queue).value();
  REQUIRE(pair.a->unwritten()->ranges() == before);
  REQUIRE(before ==
          std::vector<FileRange>{{0, 1_MiB}, {2_MiB, 1_MiB + (64 << 10)}, {4_MiB, 5_MiB}});
}

TEST_CASE("flush_domain: a file of many pieces is understood over many questions") {
  Pair pair = make_pair();
  if (!pair.shared()) return;
  const AlignedBuffer data = AlignedBuffer::zeroed(4096);
  for (std::uint64_t at = 0; at < 8_MiB; at += 16 << 10) REQUIRE(pair.a->write(at, data).ok());
  const auto found = find_unwritten(pair.a->fd(), 8_MiB, "a").value();
  REQUIRE(found.has_value());
  // The file system may have written zeros around the pieces: then there are fewer ranges.
  for (const FileRange& range : *found) {
    REQUIRE_FALSE(is_written(pair.a->fd(), range.offset));
    REQUIRE(range.end() <= 8_MiB);
  }
  for (std::uint64_t at = 0; at < 8_MiB; at += 4 << 10) {
    bool covered = false;
    for (const FileRange& range : *found) covered |= range.offset <= at && at < range.end();
    REQUIRE(covered == !is_written(pair.a->fd(), at));
  }
}

TEST_CASE("flush_domain: first writes in flight together are each durable by themselves") {
  Pair pair = make_pair();
  if (!pair.shared()) return;
  constexpr int kThreads = 4;
  constexpr std::uint64_t kWrites = 64;
  std::vector<std::thread> threads;
  std::atomic<int> plain{0};
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const AlignedBuffer data = AlignedBuffer::zeroed(4096);
      for (std::uint64_t i = 0; i < kWrites; ++i) {
        // All in one preallocated extent, side by side; two at once from each thread.
        IoBatch batch;
        for (std::uint64_t j = 0; j < 2; ++j) {
          const std::uint64_t block = (i * kThreads + t) * 2 + j;
          batch.requests.push_back(
              IoRequest::write(*pair.a, block * 4096, data, WriteMode::kShared));
        }
        pair.queue->submit(batch);
        pair.queue->wait(batch);
        for (const IoRequest& request : batch.requests) {
          if (!request.status.ok() || request.mode != WriteMode::kDurable) ++plain;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(plain == 0);
  const std::uint64_t end = kThreads * kWrites * 2 * 4096;
  REQUIRE_FALSE(pair.a->unwritten()->touches({0, end}));
  REQUIRE(pair.a->unwritten()->touches({end, 1}));
  for (std::uint64_t at = 0; at < end; at += 4096) REQUIRE(is_written(pair.a->fd(), at));
  const AlignedBuffer data = AlignedBuffer::zeroed(4096);
  REQUIRE(mode_of_shared_write(*pair.a, 0, data) == WriteMode::kShared);
}

}  // namespace
}  // namespace hexad::io
