// What only the ring can get wrong; the contract over files and block devices is run by
// file_device_test.cc, a kernel that refuses the ring is in refused_uring_test.cc.
#include "io/os/uring_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <set>
#include <thread>

#include "base/lent_memory.h"
#include "base/units.h"
#include "io/rng.h"
#include "tests/io/countdown.h"
#include "tests/io/os/file_world.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::Countdown;
using hexad::io::testing::FileWorld;
using hexad::io::testing::pattern;
using hexad::io::testing::TemporaryDirectory;

namespace {

std::unique_ptr<FileQueue> ring(unsigned in_flight, unsigned files) {
  return make_uring_queue({in_flight, files}).value();
}

std::string why(const Status& status) { return status.ok() ? "" : status.error().to_string(); }

// A pipe that takes nothing more before somebody reads: the kernel keeps what is written to it.
class FullPipe {
 public:
  static constexpr std::size_t kRoom = 64 << 10;

  FullPipe() {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    out_ = Fd(ends[0]);
    in_ = Fd(ends[1]);
    REQUIRE(fcntl(in_.get(), F_SETPIPE_SZ, static_cast<int>(kRoom)) == static_cast<int>(kRoom));
    const Bytes full(kRoom, std::byte{0});
    REQUIRE(write(in_.get(), full.data(), kRoom) == static_cast<ssize_t>(kRoom));
  }

  // What is written to that descriptor from now on goes into the pipe.
  void take_over(int fd) { REQUIRE(dup2(in_.get(), fd) == fd); }
  // What is written to it, so many bytes, once there is room.
  Bytes drain(std::size_t bytes) {
    Bytes said(kRoom + bytes);
    for (std::size_t at = 0; at < said.size();) {
      const ssize_t rc = read(out_.get(), said.data() + at, said.size() - at);
      REQUIRE(rc > 0);
      at += static_cast<std::size_t>(rc);
    }
    return {said.begin() + kRoom, said.end()};
  }

 private:
  Fd in_, out_;
};

}  // namespace

TEST_CASE("uring_queue: one request in flight and no table of files keep the whole contract") {
  io::testing::run_device_contract([] {
    return std::make_unique<FileWorld>([] { return ring(1, 0); }, Caching::kDirectIfPossible);
  });
}

TEST_CASE("uring_queue: descriptors get places of their own until the table is full") {
  const TemporaryDirectory directory;
  const auto queue = ring(8, 3);
  REQUIRE(queue->name() == "io_uring");
  std::deque<std::unique_ptr<FileDevice>> devices;
  std::set<int> places;
  for (int i = 0; i < 5; ++i) {
    devices.push_back(
        FileDevice::create(directory.path(std::to_string(i)), 64_KiB, *queue).value());
    if (i < 3) REQUIRE(places.insert(devices.back()->queue_index()).second);
    if (i >= 3) REQUIRE(devices.back()->queue_index() == -1);
  }
  REQUIRE(*places.begin() >= 0);
  // Those with a place and those without go through one batch.
  std::deque<AlignedBuffer> data;
  IoBatch writes;
  for (std::uint64_t i = 0; i < 5; ++i) {
    data.push_back(pattern(i, 64_KiB));
    writes.requests.push_back(IoRequest::write(*devices[i], 0, data.back()));
  }
  queue->submit(writes);
  queue->wait(writes);
  REQUIRE(why(writes.first_error()) == "");
  for (std::uint64_t i = 0; i < 5; ++i) {
    AlignedBuffer found(64_KiB);
    REQUIRE(why(devices[i]->read(0, found.bytes())) == "");
    REQUIRE(as_text(found.bytes()) == as_text(data[i].bytes()));
  }
  const int freed = devices[1]->queue_index();
  devices[1].reset();
  devices[1] = FileDevice::open(directory.path("1"), OpenMode::kReadOnly, *queue).value();
  REQUIRE(devices[1]->queue_index() == freed);
}

TEST_CASE("uring_queue: a place that is given on never leads to the file before") {
  const TemporaryDirectory directory;
  const auto queue = ring(8, 1);
  for (std::uint64_t round = 0; round < 100; ++round) {
    const std::string path = directory.path(std::to_string(round % 2));
    const auto device = FileDevice::create(path, 64_KiB, *queue).value();
    REQUIRE(device->queue_index() == 0);
    AlignedBuffer found(4096);
    REQUIRE(why(device->read(0, found.bytes())) == "");
    // Every file is written every other round.
    const AlignedBuffer before = round < 2 ? AlignedBuffer::zeroed(4096) : pattern(round - 2, 4096);
    REQUIRE(as_text(found.bytes()) == as_text(before.bytes()));
    REQUIRE(why(device->write(0, pattern(round, 4096), WriteMode::kDurable)) == "");
  }
}

TEST_CASE("uring_queue: batches that D1 refuses, wholly or in part, are complete once") {
  const TemporaryDirectory directory;
  const auto queue = ring(2, 2);
  const auto device = FileDevice::create(directory.path("a"), 64_KiB, *queue).value();
  const AlignedBuffer data = pattern(1, 4096);
  const auto executor = make_thread_executor(1);
  // Bit i of `good`: request i is a good one.
  for (unsigned good = 0; good < 16; ++good) {
    CAPTURE(good);
    for (const bool with_callback : {false, true}) {
      IoBatch batch;
      for (unsigned i = 0; i < 4; ++i) {
        const std::uint64_t offset = (good >> i & 1) != 0 ? i * 4096 : i * 4096 + 1;
        batch.requests.push_back(IoRequest::write(*device, offset, data));
      }
      std::atomic<int> calls{0};
      Countdown done(*executor, 1);
      if (with_callback) {
        batch.done = [&](IoBatch&) {
          ++calls;
          done.count_down();
        };
      }
      queue->submit(batch);
      if (with_callback) {
        done.wait();
        REQUIRE(calls == 1);
      } else {
        queue->wait(batch);
      }
      REQUIRE(batch.complete());
      for (unsigned i = 0; i < 4; ++i) {
        REQUIRE(batch.requests[i].status.ok() == ((good >> i & 1) != 0));
      }
    }
  }
}

// The role of the reaper goes from hand to hand here as fast as it can: Q2 to Q4. A lost wake-up
// would hang.
TEST_CASE("uring_queue: waiters and callbacks of many threads are all served") {
  const TemporaryDirectory directory;
  const auto queue = ring(4, 1);
  const auto device = FileDevice::create(directory.path("a"), 1_MiB, *queue).value();
  constexpr int kThreads = 6;
  constexpr int kRounds = 150;
  std::atomic<int> failed{0};
  const auto executor = make_thread_executor(1);
  Countdown callbacks(*executor, kThreads * kRounds / 3);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Rng rng(t);
      AlignedBuffer buffer(16_KiB);
      for (int round = 0; round < kRounds; ++round) {
        if (round % 3 == 0) {
          auto* batch = new IoBatch;
          batch->requests.push_back(IoRequest::flush(*device));
          batch->done = [&](IoBatch& self) {
            if (!self.first_error().ok()) ++failed;
            delete &self;
            callbacks.count_down();
          };
          queue->submit(*batch);
          continue;
        }
        IoBatch batch;
        for (std::uint64_t i = 0; i < 1 + rng.below(4); ++i) {
          batch.requests.push_back(IoRequest::read(*device, rng.below(256) * 4096,
                                                   buffer.bytes().subspan(i * 4096, 4096)));
        }
        queue->submit(batch);
        queue->wait(batch);
        if (!batch.complete() || !batch.first_error().ok()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  callbacks.wait();
  REQUIRE(failed == 0);
}

TEST_CASE("uring_queue: a queue with nothing to do is made and destroyed, many times") {
  for (int i = 0; i < 50; ++i) REQUIRE(ring(1 + i % 7, i % 3)->name() == "io_uring");
}

namespace {

// From then on what is read from the device comes from a pipe, when somebody writes it.
class Muted {
 public:
  explicit Muted(const FileDevice& device) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    REQUIRE(dup2(ends[0], device.fd()) == device.fd());
    close(ends[0]);
    in_ = Fd(ends[1]);
  }
  void say(ByteView bytes) {
    REQUIRE(write(in_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }

 private:
  Fd in_;
};

void left_and_answered_later(std::size_t requests) {
  CAPTURE(requests);
  const TemporaryDirectory directory;
  const auto queue = ring(8, 0);  // by descriptor, not by the table
  const auto silent = FileDevice::create(directory.path("a"), 64_KiB, *queue).value();
  if (silent->in_memory()) {
    WARN("SKIPPED: files are in memory here");
    return;
  }
  const auto other = FileDevice::create(directory.path("b"), 64_KiB, *queue).value();
  const AlignedBuffer data = pattern(1, 4096);
  REQUIRE(why(other->write(0, data)) == "");
  Muted muted(*silent);
  AlignedBuffer buffers[2] = {AlignedBuffer(4096), AlignedBuffer(4096)};
  IoBatch batch;
  for (std::size_t i = 0; i < requests; ++i) {
    batch.requests.push_back(IoRequest::read(*silent, 0, buffers[i].bytes()));
  }
  REQUIRE_FALSE(queue->run_for(batch, 1'000'000));
  REQUIRE(silent->silent_for() >= 1'000'000);
  AlignedBuffer found(4096);
  REQUIRE(why(other->read(0, found.bytes())) == "");
  IoBatch both;  // waited for by others meanwhile
  both.requests.push_back(IoRequest::read(*other, 0, found.bytes()));
  both.requests.push_back(IoRequest::flush(*other));
  queue->run(both);
  REQUIRE(why(both.first_error()) == "");
  REQUIRE_FALSE(batch.complete());
  // In two parts, and nobody waits.
  for (std::size_t i = 0; i < requests; ++i) {
    muted.say(ByteView(data).first(1000));
    muted.say(ByteView(data).subspan(1000));
  }
  while (!batch.complete()) std::this_thread::yield();
  REQUIRE(why(batch.first_error()) == "");
  REQUIRE(silent->silent_for() == 0);
  if (requests == 1) REQUIRE(as_text(buffers[0]) == as_text(data));
}

}  // namespace

TEST_CASE("uring_queue: what nobody waits for any more is completed when it is answered") {
  left_and_answered_later(1);
  left_and_answered_later(2);
}

TEST_CASE("uring_queue: more late reads than there are rings of their own") {
  constexpr std::size_t kReads = 50;
  const TemporaryDirectory directory;
  const auto queue = ring(8, 0);
  const auto device = FileDevice::create(directory.path("a"), 64_KiB, *queue).value();
  if (device->in_memory()) {
    WARN("SKIPPED: files are in memory here");
    return;
  }
  const AlignedBuffer data = pattern(1, 4096);
  {
    Muted muted(*device);
    for (std::size_t i = 0; i < kReads; ++i) {
      auto batch = std::make_unique<IoBatch>();
      std::vector<AlignedBuffer> buffers;
      buffers.emplace_back(4096);
      batch->requests.push_back(IoRequest::read(*device, 0, buffers.back().bytes()));
      REQUIRE_FALSE(queue->run_for(*batch, 0));
      queue->abandon(std::move(batch), std::move(buffers));
    }
    REQUIRE(device->traffic().under_way == kReads);
  }  // whoever reads a pipe that nobody writes any more gets nothing
  queue->wait_for_abandoned();
  REQUIRE(device->traffic().under_way == 0);
}

// One thread waits for a write that nobody takes, and has the role of the reaper; another batch has
// a callback. The pipe shows what the kernel wrote in the end.
TEST_CASE("uring_queue: what is under way to a device that is given up ends, its memory does not") {
  const TemporaryDirectory directory;
  const auto queue = ring(8, 0);
  auto silent = FileDevice::create(directory.path("a"), 1_MiB, *queue).value();
  if (silent->in_memory()) {
    WARN("SKIPPED: files are in memory here");
    return;
  }
  const auto other = FileDevice::create(directory.path("b"), 64_KiB, *queue).value();
  FullPipe pipe;
  pipe.take_over(silent->fd());

  auto late = std::make_unique<AlignedBuffer>(pattern(1, 4096));
  const std::string expected(as_text(*late));
  const AlignedBuffer data = pattern(2, 4096);
  IoBatch called;
  std::atomic<bool> was_called = false;
  called.requests.push_back(IoRequest::write(*silent, 8192, data));
  called.done = [&](IoBatch&) { was_called = true; };
  IoBatch waited;
  waited.requests.push_back(IoRequest::write(*silent, 0, *late));
  waited.requests.push_back(IoRequest::write(*other, 0, data));
  std::thread waiter([&] { queue->run(waited); });
  while (silent->traffic().under_way == 0 || other->traffic().under_way > 0) {
    std::this_thread::yield();
  }
  queue->submit(called);
  queue->give_up(*silent);
  waiter.join();
  while (!was_called) std::this_thread::yield();
  REQUIRE(waited.requests[0].status.error().code == ErrorCode::kIo);
  REQUIRE_THAT(why(waited.requests[0].status), Catch::Contains("given up"));
  REQUIRE(why(waited.requests[1].status) == "");
  REQUIRE_FALSE(called.first_error().ok());
  REQUIRE(silent->traffic().failed_writes == 2);

  // What is asked of it from now on fails, and another device is none the worse.
  REQUIRE_FALSE(silent->write(0, data).ok());
  REQUIRE_FALSE(silent->flush().ok());
  REQUIRE(why(other->write(4096, data)) == "");
  REQUIRE(silent->silent_for() > 0);
  late.reset();
  REQUIRE(LentMemory::process().kept() == 1);
  REQUIRE(queue->has_abandoned());

  const Bytes said = pipe.drain(4096);
  const bool first = as_text(said) == expected;
  const bool second = as_text(said) == as_text(data);
  REQUIRE((first || second));
  queue->wait_for_abandoned();
  REQUIRE(silent->traffic().under_way == 0);
  REQUIRE(LentMemory::process().kept() == 0);
}

namespace {

constexpr Nanos kLong = 20'000'000'000;  // nobody waits for so long when all is well

// Three writes that one thread has submitted and waits for in one system call, one of which is
// answered.
class TogetherWorld {
 public:
  TogetherWorld() {
    for (int i = 0; i < 4; ++i) {
      devices_.push_back(
          FileDevice::create(directory_.path(std::to_string(i)), 64_KiB, *queue_).value());
    }
  }
  ~TogetherWorld() {
    if (!waiter_.joinable()) return;
    for (FullPipe& pipe : pipes_) pipe.drain(4096);
    waiter_.join();
    queue_->wait_for_abandoned();
  }

  bool in_memory() const { return devices_[0]->in_memory(); }
  FileQueue& queue() { return *queue_; }
  FileDevice& silent(std::size_t i) { return *devices_[i]; }
  FileDevice& third() { return *devices_[2]; }
  FileDevice& other() { return *devices_[3]; }
  IoBatch& batch() { return batch_; }

  void begin() {
    for (std::size_t i = 0; i < 2; ++i) pipes_[i].take_over(devices_[i]->fd());
    for (std::size_t i = 0; i < 3; ++i) {
      batch_.requests.push_back(IoRequest::write(*devices_[i], 0, data_));
    }
    waiter_ = std::thread([this] { queue_->run(batch_); });
    while (!third_came()) std::this_thread::yield();
  }

 private:
  // Its answer is in the ring, where nobody looks.
  bool third_came() {
    AlignedBuffer found(4096);
    return third().read(0, found.bytes()).ok() && as_text(found) == as_text(data_);
  }

  const TemporaryDirectory directory_;
  const std::unique_ptr<FileQueue> queue_ =
      make_uring_queue({.in_flight = 8, .registered_files = 0, .together_limit = 10 * kLong})
          .value();
  std::vector<std::unique_ptr<FileDevice>> devices_;
  FullPipe pipes_[2];
  const AlignedBuffer data_ = pattern(1, 4096);
  IoBatch batch_;
  std::thread waiter_;
};

}  // namespace

// Of each batch one request is answered; the thread in the ring waits for three.
TEST_CASE("uring_queue: Q10 nobody waits for others who have submitted and wait in one call") {
  TogetherWorld world;
  if (world.in_memory()) {
    WARN("SKIPPED: files are in memory here");
    return;
  }
  world.begin();
  const AlignedBuffer data = pattern(2, 4096);
  for (int i = 0; i < 5; ++i) {
    IoBatch batch;
    batch.requests.push_back(IoRequest::write(world.other(), 4096, data));
    REQUIRE(world.queue().run_for(batch, kLong));
    REQUIRE(why(batch.first_error()) == "");
  }
  REQUIRE_FALSE(world.batch().complete());
}

TEST_CASE("uring_queue: Q10 who waits for several hears that their devices are given up") {
  TogetherWorld world;
  if (world.in_memory()) {
    WARN("SKIPPED: files are in memory here");
    return;
  }
  world.begin();
  world.queue().give_up(world.silent(0));
  world.queue().give_up(world.silent(1));
  const Nanos end = world.queue().now() + kLong;
  while (!world.batch().complete() && world.queue().now() < end) std::this_thread::yield();
  REQUIRE(world.batch().complete());
  REQUIRE(world.batch().requests[0].status.error().code == ErrorCode::kIo);
  REQUIRE(world.batch().requests[1].status.error().code == ErrorCode::kIo);
  REQUIRE(why(world.batch().requests[2].status) == "");
}

TEST_CASE("uring_queue: batches that are run at the same time, of every size, are all served") {
  for (const unsigned in_flight : {1u, 3u, 64u}) {
    CAPTURE(in_flight);
    const TemporaryDirectory directory;
    const auto queue = ring(in_flight, 1);
    const auto device = FileDevice::create(directory.path("a"), 1_MiB, *queue).value();
    const auto executor = make_thread_executor(1);
    std::atomic<int> failed{0};
    constexpr int kThreads = 4;
    constexpr int kRounds = 100;
    Countdown callbacks(*executor, kThreads * kRounds / 4);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Rng rng(t);
        const AlignedBuffer data = pattern(t, 4096);
        for (int round = 0; round < kRounds; ++round) {
          if (round % 4 == 0) {
            auto* batch = new IoBatch;
            batch->requests.push_back(IoRequest::flush(*device));
            batch->done = [&](IoBatch& self) {
              if (!self.first_error().ok()) ++failed;
              delete &self;
              callbacks.count_down();
            };
            queue->submit(*batch);
          }
          IoBatch batch;
          const std::uint64_t count = 1 + rng.below(20);
          for (std::uint64_t i = 0; i < count; ++i) {
            batch.requests.push_back(IoRequest::write(*device, (t * 32 + i) * 4096, data));
          }
          queue->run(batch);
          if (!batch.complete() || !batch.first_error().ok()) ++failed;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    callbacks.wait();
    REQUIRE(failed == 0);
  }
}

// Its write goes to a pipe that is full; the device's other requests go to its file.
TEST_CASE("uring_queue: a device owes the answer to one write, whatever else it answers") {
  const TemporaryDirectory directory;
  const auto queue = ring(4, 0);
  const auto device = FileDevice::create(directory.path("a"), 1_MiB, *queue).value();
  if (device->in_memory()) {
    WARN("SKIPPED: files are in memory here");
    return;
  }
  const auto other = FileDevice::create(directory.path("b"), 1_MiB, *queue).value();
  FullPipe pipe;
  const Fd file(fcntl(device->fd(), F_DUPFD_CLOEXEC, 0));
  const AlignedBuffer data = pattern(1, 4096);
  AlignedBuffer found(4096);

  pipe.take_over(device->fd());
  IoBatch held;
  held.requests.push_back(IoRequest::write(*device, 0, data));
  queue->submit(held);
  REQUIRE(dup2(file.get(), device->fd()) == device->fd());
  const Nanos began = queue->now();
  for (int i = 0; i < 20; ++i) {
    const Nanos before = queue->now();
    REQUIRE(why(device->write(4096, data)) == "");
    REQUIRE(why(device->read(4096, found.bytes())) == "");
    REQUIRE(why(device->flush()) == "");
    REQUIRE(device->silent_for() <= queue->now() - before);
  }
  const Nanos passed = queue->now() - began;
  REQUIRE(device->owing_for() >= passed);
  REQUIRE_FALSE(held.complete());

  queue->give_up(*device);
  queue->wait(held);
  REQUIRE(held.first_error().error().code == ErrorCode::kIo);
  REQUIRE(device->traffic().under_way == 1);
  REQUIRE(why(other->write(0, data)) == "");
  REQUIRE(as_text(pipe.drain(4096)) == as_text(data));
  queue->wait_for_abandoned();
  REQUIRE(device->traffic().under_way == 0);
  REQUIRE(device->owing_for() == 0);
}

TEST_CASE("uring_queue: who waits in the queue behind another device's requests owes nothing") {
  constexpr std::size_t kReads = 4;  // all that the ring takes
  const TemporaryDirectory directory;
  const auto queue = ring(kReads, 0);
  const auto silent = FileDevice::create(directory.path("a"), 64_KiB, *queue).value();
  if (silent->in_memory()) {
    WARN("SKIPPED: files are in memory here");
    return;
  }
  const auto other = FileDevice::create(directory.path("b"), 64_KiB, *queue).value();
  const AlignedBuffer data = pattern(1, 4096);
  std::deque<AlignedBuffer> buffers;
  IoBatch reads;
  IoBatch behind;
  {
    Muted muted(*silent);
    for (std::size_t i = 0; i < kReads; ++i) {
      buffers.emplace_back(4096);
      reads.requests.push_back(IoRequest::read(*silent, 0, buffers.back().bytes()));
    }
    REQUIRE_FALSE(queue->run_for(reads, 1'000'000));
    behind.requests.push_back(IoRequest::write(*other, 0, data));
    REQUIRE_FALSE(queue->run_for(behind, 1'000'000));
    REQUIRE(other->traffic().under_way == 1);
    REQUIRE(other->owing_for() == 0);
    REQUIRE(other->silent_for() == 0);
    REQUIRE(silent->owing_for() >= 2'000'000);
  }
  while (!reads.complete() || !behind.complete()) std::this_thread::yield();
  REQUIRE(why(behind.first_error()) == "");
  REQUIRE(other->owing_for() == 0);
}
