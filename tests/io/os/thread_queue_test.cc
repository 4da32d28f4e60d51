#include "io/os/thread_queue.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/lent_memory.h"
#include "base/units.h"
#include "io/os/file_request.h"
#include "tests/io/countdown.h"
#include "tests/io/os/file_world.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::Countdown;
using hexad::io::testing::FileWorld;
using hexad::io::testing::pattern;
using hexad::io::testing::TemporaryDirectory;

namespace {

std::mutex silence_mutex;
std::condition_variable silence_changed;
int silent_fd = -1;  // guarded by silence_mutex
off_t silent_at;     // guarded by it; negative: everywhere
int blocked = 0;     // guarded by it

bool is_silent(int fd, off_t offset) {
  return silent_fd == fd && (silent_at < 0 || silent_at == offset);
}

// As long as it lives reads and writes of the device, or those at one offset, wait in their system
// call.
class Silence {
 public:
  explicit Silence(const FileDevice& device, off_t offset = -1) {
    const std::lock_guard<std::mutex> lock(silence_mutex);
    silent_fd = device.fd();
    silent_at = offset;
  }
  ~Silence() { end(); }
  void end() {
    const std::lock_guard<std::mutex> lock(silence_mutex);
    silent_fd = -1;
    silence_changed.notify_all();
  }
  int blocked() const {
    const std::lock_guard<std::mutex> lock(silence_mutex);
    return ::blocked;
  }
};

}  // namespace

// Instead of that of the C library.
extern "C" ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  if ((flags & RWF_NOWAIT) != 0) {
    const std::lock_guard<std::mutex> lock(silence_mutex);
    if (is_silent(fd, offset)) {
      errno = EAGAIN;
      return -1;
    }
  } else {
    std::unique_lock<std::mutex> lock(silence_mutex);
    ++blocked;
    silence_changed.wait(lock, [&] { return !is_silent(fd, offset); });
    --blocked;
  }
  return syscall(SYS_preadv2, fd, parts, static_cast<unsigned long>(count),
                 static_cast<unsigned long>(offset), 0UL, flags);
}

extern "C" ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  {
    std::unique_lock<std::mutex> lock(silence_mutex);
    ++blocked;
    silence_changed.wait(lock, [&] { return !is_silent(fd, offset); });
    --blocked;
  }
  return syscall(SYS_pwritev2, fd, parts, static_cast<unsigned long>(count),
                 static_cast<unsigned long>(offset), 0UL, flags);
}

namespace {

struct Files {
  explicit Files(int threads) : queue(make_thread_queue(threads)) {}
  std::unique_ptr<FileDevice> make(const std::string& name) {
    return FileDevice::create(directory.path(name), 1_MiB, *queue).value();
  }
  TemporaryDirectory directory;
  std::unique_ptr<FileQueue> queue;
};

}  // namespace

TEST_CASE("thread_queue: one thread is enough for the whole contract") {
  io::testing::run_device_contract([] {
    return std::make_unique<FileWorld>([] { return make_thread_queue(1); },
                                       Caching::kDirectIfPossible);
  });
}

TEST_CASE("thread_queue: callbacks run on the pool, and who waits for reads does not need it") {
  const auto executor = make_thread_executor(1);
  Countdown started(*executor, 1);
  Countdown release(*executor, 1);
  std::thread::id ran_on;
  Files files(1);  // its thread ends before they do
  const auto device = files.make("a");
  IoBatch blocking;
  blocking.requests.push_back(IoRequest::flush(*device));
  blocking.done = [&](IoBatch&) {
    ran_on = std::this_thread::get_id();
    started.count_down();
    release.wait();
  };
  files.queue->submit(blocking);
  started.wait();
  REQUIRE(ran_on != std::this_thread::get_id());
  // The only thread of the pool is in that callback; whoever waits does the work.
  IoBatch many;
  std::vector<AlignedBuffer> buffers;
  for (std::uint64_t i = 0; i < 20; ++i) {
    buffers.emplace_back(4096);
    many.requests.push_back(IoRequest::read(*device, i * 4096, buffers.back().bytes()));
  }
  files.queue->submit(many);
  files.queue->wait(many);
  REQUIRE(many.first_error().ok());
  release.count_down();
}

TEST_CASE("thread_queue: the oldest batch is served first by a pool of one") {
  std::mutex mutex;
  std::string order;
  const auto executor = make_thread_executor(1);
  Countdown begin(*executor, 1);
  Countdown end(*executor, 1);
  Files files(1);
  const auto device = files.make("a");
  IoBatch first;
  first.requests.push_back(IoRequest::flush(*device));
  first.done = [&](IoBatch&) { begin.wait(); };
  files.queue->submit(first);
  std::vector<std::unique_ptr<IoBatch>> batches;
  for (char name = 'a'; name < 'k'; ++name) {
    batches.push_back(std::make_unique<IoBatch>());
    for (int i = 0; i < 3; ++i) batches.back()->requests.push_back(IoRequest::flush(*device));
    batches.back()->done = [&, name](IoBatch&) {
      const std::lock_guard<std::mutex> lock(mutex);
      order += name;
      if (name == 'j') end.count_down();
    };
    files.queue->submit(*batches.back());
  }
  begin.count_down();
  end.wait();
  REQUIRE(order == "abcdefghij");
}

TEST_CASE("thread_queue: devices get places of their own, which are given on") {
  Files files(2);
  REQUIRE(files.queue->name() == "threads");
  const auto first = files.make("a");
  auto second = files.make("b");
  REQUIRE(first->queue_index() == 0);
  REQUIRE(second->queue_index() == 1);
  second.reset();
  const auto third = files.make("c");
  REQUIRE(third->queue_index() == 1);
  REQUIRE(third->write(0, pattern(1, 4096)).ok());
}

TEST_CASE("thread_queue: a device that does not answer holds no thread that another needs") {
  Files files(4);
  const auto silent = files.make("a");
  const auto other = files.make("b");
  const AlignedBuffer data = pattern(1, 4096);
  REQUIRE(silent->write(0, data).ok());
  REQUIRE(other->write(0, data).ok());
  Silence silence(*silent);
  // More than all devices together may have in the kernel.
  auto reads = std::make_unique<IoBatch>();
  std::vector<AlignedBuffer> buffers;
  for (int i = 0; i < 20; ++i) {
    buffers.emplace_back(4096);
    reads->requests.push_back(IoRequest::read(*silent, 0, buffers.back().bytes()));
  }
  REQUIRE_FALSE(files.queue->run_for(*reads, 1'000'000));
  REQUIRE(silence.blocked() <= 4);
  const auto executor = make_thread_executor(1);
  Countdown done(*executor, 1);
  IoBatch writes;
  for (std::uint64_t i = 0; i < 20; ++i) {
    writes.requests.push_back(IoRequest::write(*other, i * 4096, data));
  }
  writes.done = [&](IoBatch&) { done.count_down(); };
  files.queue->submit(writes);  // by the threads alone
  done.wait();
  REQUIRE(writes.first_error().ok());
  REQUIRE(reads->first_error().ok());  // no answer yet
  REQUIRE_FALSE(reads->complete());
  silence.end();
  files.queue->wait(*reads);
  for (const AlignedBuffer& buffer : buffers) REQUIRE(as_text(buffer) == as_text(data));
}

TEST_CASE("thread_queue: a lone read can be left, and writes into nothing that is in use") {
  Files files(2);
  const auto device =
      FileDevice::create(files.directory.path("a"), 1_MiB, *files.queue, Caching::kBuffered)
          .value();
  if (device->in_memory()) {
    WARN("SKIPPED: files are in memory here");
    return;
  }
  const AlignedBuffer data = pattern(1, 4096);
  REQUIRE(device->write(0, data).ok());
  AlignedBuffer mine = AlignedBuffer::zeroed(4096);
  {
    Silence silence(*device);
    auto batch = std::make_unique<IoBatch>();
    std::vector<AlignedBuffer> buffers;
    buffers.emplace_back(4096);
    batch->requests.push_back(IoRequest::read(*device, 0, buffers.back().bytes()));
    REQUIRE_FALSE(files.queue->run_for(*batch, 1'000'000));
    REQUIRE_FALSE(batch->requests.front().is_answered());
    // From when a thread has taken it.
    while (device->silent_for() < 1'000'000) std::this_thread::yield();
    files.queue->abandon(std::move(batch), std::move(buffers));
  }
  files.queue->wait_for_abandoned();
  REQUIRE(device->silent_for() == 0);
  REQUIRE(is_zero(mine));
  REQUIRE(device->read(0, mine.bytes()).ok());
  REQUIRE(as_text(mine) == as_text(data));
}

TEST_CASE("thread_queue: what the page cache has is read without a thread") {
  Files files(1);
  const auto device =
      FileDevice::create(files.directory.path("b"), 1_MiB, *files.queue, Caching::kBuffered)
          .value();
  const AlignedBuffer data = pattern(1, 4096);
  REQUIRE(device->write(0, data).ok());
  AlignedBuffer found(4096);
  const bool cached = read_from_cache(IoRequest::read(*device, 0, found.bytes()));
  if (!cached) return;  // the file system cannot tell
  REQUIRE(as_text(found) == as_text(data));
  IoBatch batch;
  batch.requests.push_back(IoRequest::read(*device, 0, found.bytes()));
  REQUIRE(files.queue->run_for(batch, 0));
  REQUIRE(batch.first_error().ok());
}

TEST_CASE(
    "thread_queue: what is under way to a device that is given up ends, its memory does not") {
  constexpr int kWrites = 5;  // more than there are threads
  Files files(2);
  const auto silent = files.make("a");
  const auto other = files.make("b");
  const AlignedBuffer data = pattern(1, 4096);
  AlignedBuffer found(4096);
  Silence silence(*silent);
  auto late = std::make_unique<AlignedBuffer>(pattern(2, 4096));
  const std::string expected(as_text(*late));
  IoBatch waited;
  waited.requests.push_back(IoRequest::write(*other, 0, data));
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    waited.requests.push_back(IoRequest::write(*silent, i * 4096, *late));
  }
  std::thread waiter([&] { files.queue->run(waited); });
  while (silence.blocked() < 2) std::this_thread::yield();
  files.queue->give_up(*silent);
  waiter.join();
  REQUIRE(waited.requests[0].status.ok());
  for (std::size_t i = 1; i <= kWrites; ++i) {
    REQUIRE(waited.requests[i].status.error().code == ErrorCode::kIo);
  }
  REQUIRE(silent->traffic().failed_writes == kWrites);
  REQUIRE(silent->traffic().under_way == 2);  // the threads have those
  REQUIRE_FALSE(silent->flush().ok());
  REQUIRE(other->write(4096, data).ok());
  late.reset();
  REQUIRE(LentMemory::process().kept() == 1);
  silence.end();
  files.queue->wait_for_abandoned();
  REQUIRE(silent->traffic().under_way == 0);
  REQUIRE(LentMemory::process().kept() == 0);
  // Two of them came all the same, with the bytes of then.
  int written = 0;
  for (off_t i = 0; i < kWrites; ++i) {
    REQUIRE(pread(silent->fd(), found.data(), found.size(), i * 4096) == 4096);
    if (as_text(found) == expected) ++written;
  }
  REQUIRE(written == 2);
}

TEST_CASE("thread_queue: a device owes the answer to one write, whatever else it answers") {
  Files files(2);
  const auto device = files.make("a");
  const AlignedBuffer data = pattern(1, 4096);
  AlignedBuffer found(4096);
  Silence silence(*device, 8192);
  IoBatch held;
  held.requests.push_back(IoRequest::write(*device, 8192, data));
  files.queue->submit(held);
  while (silence.blocked() < 1) std::this_thread::yield();
  const Nanos began = files.queue->now();
  for (int i = 0; i < 20; ++i) {
    const Nanos before = files.queue->now();
    REQUIRE(device->write(4096, data).ok());
    REQUIRE(device->read(4096, found.bytes()).ok());
    REQUIRE(device->flush().ok());
    REQUIRE(device->silent_for() <= files.queue->now() - before);
  }
  const Nanos passed = files.queue->now() - began;
  REQUIRE(device->owing_for() >= passed);
  REQUIRE_FALSE(held.complete());
  files.queue->give_up(*device);
  files.queue->wait(held);
  REQUIRE(held.first_error().error().code == ErrorCode::kIo);
  REQUIRE(device->traffic().under_way == 1);
  silence.end();
  files.queue->wait_for_abandoned();
  REQUIRE(device->traffic().under_way == 0);
  REQUIRE(device->owing_for() == 0);
}

TEST_CASE("thread_queue: what no thread has taken yet is not owed") {
  Files files(1);
  const auto device = files.make("a");
  const AlignedBuffer data = pattern(1, 4096);
  IoBatch batch;
  // Whoever waits takes the last one, and nobody does.
  AlignedBuffer found(4096);
  batch.requests.push_back(IoRequest::read(*device, 0, found.bytes()));
  files.queue->submit(batch);
  REQUIRE(device->traffic().under_way == 1);
  REQUIRE(device->owing_for() == 0);
  REQUIRE(device->silent_for() == 0);
  files.queue->wait(batch);
  REQUIRE(batch.first_error().ok());
}
