// Durable writes through the page cache: what the flush says is told apart from what the write
// says.
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "base/units.h"
#include "io/os/file_device.h"
#include "io/os/thread_queue.h"
#include "io/os/uring_queue.h"
#include "io/os_error.h"
#include "tests/io/device_contract.h"
#include "tests/io/temporary.h"

namespace {
int flush_fails_with = 0;  // errno; 0: it does not
int flushes = 0;
}  // namespace

// Instead of that of the C library.
extern "C" int fdatasync(int fd) {
  ++flushes;
  if (flush_fails_with == 0) return static_cast<int>(syscall(SYS_fdatasync, fd));
  errno = flush_fails_with;
  return -1;
}

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::pattern;
using hexad::io::testing::TemporaryDirectory;

TEST_CASE("own flush: what it fails with is a failed flush, whatever the errno") {
  const TemporaryDirectory directory;
  const auto queue = make_thread_queue(2);
  const auto device =
      FileDevice::create(directory.path("device"), 1_MiB, *queue, Caching::kBuffered).value();
  REQUIRE_FALSE(device->direct());
  const AlignedBuffer data = pattern(1, 4096);
  for (const int number : {ENOSPC, EDQUOT, EIO}) {
    CAPTURE(number);
    const std::uint64_t failed = device->traffic().failed_flushes;
    flush_fails_with = number;
    const Status written = device->write(8192, data.bytes(), WriteMode::kDurable);
    flush_fails_with = 0;
    REQUIRE_FALSE(written.ok());
    REQUIRE(is_medium(written.error()));
    REQUIRE(device->traffic().failed_flushes == failed + 1);
  }
  flushes = 0;
  REQUIRE(device->write(8192, data.bytes(), WriteMode::kDurable).ok());
  REQUIRE(flushes == 1);
  REQUIRE(device->write(8192, data.bytes(), WriteMode::kCached).ok());
  REQUIRE(flushes == 1);
}

TEST_CASE("own flush: batches of durable writes through the page cache, in parts and whole") {
  const TemporaryDirectory directory;
  Result<std::unique_ptr<FileQueue>> queue = make_uring_queue({});
  if (!queue.ok()) {
    WARN("not tested: " + queue.error().message);
    return;
  }
  const auto device =
      FileDevice::create(directory.path("device"), 1_MiB, **queue, Caching::kBuffered).value();
  std::vector<AlignedBuffer> data;
  for (int i = 0; i < 8; ++i) data.push_back(pattern(i + 1, 4096));
  IoBatch batch;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const WriteMode mode = i % 2 == 0 ? WriteMode::kDurable : WriteMode::kCached;
    batch.requests.push_back(IoRequest::write(*device, i * 4096, data[i], mode));
  }
  (*queue)->run(batch);
  REQUIRE(batch.first_error().ok());
  for (std::size_t i = 0; i < data.size(); ++i) {
    AlignedBuffer back(4096);
    REQUIRE(device->read(i * 4096, back.bytes()).ok());
    REQUIRE(as_text(back.bytes()) == as_text(data[i].bytes()));
  }
}
