#include "io/os/starter_queue.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/lent_memory.h"
#include "base/units.h"
#include "io/os/file_device.h"
#include "io/os/thread_queue.h"
#include "io/os/uring_queue.h"
#include "io/starter.h"
#include "tests/io/device_contract.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::pattern;
using hexad::io::testing::TemporaryDirectory;

namespace {

using QueueMaker = std::unique_ptr<FileQueue> (*)();

std::unique_ptr<FileQueue> threads() { return make_thread_queue(2); }

// That of threads where the kernel refuses io_uring.
std::unique_ptr<FileQueue> ring() {
  auto made = make_uring_queue();
  return made.ok() ? std::move(made).value() : threads();
}

std::string why(const Status& status) { return status.ok() ? "" : status.error().to_string(); }

// The bytes of a device, which outlive its handles.
using Content = std::vector<std::byte>;

// Answers on a thread of its own, in the order of the requests; while it is held, not at all.
class SlowDevice final : public Device, public Starter {
 public:
  enum class Answers { kByThread, kAtOnce };
  SlowDevice(std::string name, Content& content, IoQueue& queue,
             Answers answers = Answers::kByThread)
      : name_(std::move(name)), content_(content), queue_(queue), answers_(answers) {
    geometry_.size = content.size();
    geometry_.volatile_cache = false;
  }
  ~SlowDevice() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  IoQueue& queue() override { return queue_; }
  bool direct() const override { return true; }
  Starter* starter() override { return this; }
  Status grow(std::uint64_t size) override {
    if (size < geometry_.size || !is_multiple(size, geometry_.logical_block)) {
      return Error{ErrorCode::kInvalidArgument, name_ + ": no", ""};
    }
    content_.resize(size);
    geometry_.size = size;
    return {};
  }

  void start(const IoRequest& request, Answer answer) override {
    if (answers_ == Answers::kAtOnce) return answer(execute(request));
    const std::lock_guard<std::mutex> lock(mutex_);
    asked_.push_back({request, std::move(answer)});
    changed_.notify_all();
  }

  void hold() {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = true;
  }
  void let_go() {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  bool released() const { return released_.load(); }
  // Of those that it has and has not begun with.
  std::size_t asked() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return asked_.size();
  }

 private:
  struct Asked {
    IoRequest request;
    Answer answer;
  };

  void release() override { released_.store(true); }

  Status execute(const IoRequest& request) {
    const std::lock_guard<std::mutex> lock(content_mutex_);
    std::byte* const place = content_.data() + request.offset;
    switch (request.op) {
      case IoOp::kRead:
        std::memcpy(request.data, place, request.length);
        break;
      case IoOp::kWrite:
        std::memcpy(place, request.data, request.length);
        break;
      case IoOp::kFlush:
      case IoOp::kDiscard:
        break;
    }
    return {};
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return (closing_ || !asked_.empty()) && !held_; });
      if (asked_.empty()) return;
      Asked next = std::move(asked_.front());
      asked_.pop_front();
      lock.unlock();
      Status status = execute(next.request);
      next.answer(std::move(status));
      lock.lock();
    }
  }

  const std::string name_;
  Content& content_;
  IoQueue& queue_;
  const Answers answers_;
  Geometry geometry_;
  std::mutex content_mutex_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Asked> asked_;  // guarded by it
  bool held_ = false;        // guarded by it
  bool closing_ = false;     // guarded by it
  std::atomic<bool> released_{false};
  std::thread thread_{[this] { serve(); }};
};

// A starter, and a file beside it: batches mix them.
class MixedWorld final : public io::testing::World {
 public:
  MixedWorld(QueueMaker make, SlowDevice::Answers answers, int slow)
      : slow_(slow), answers_(answers), queue_(make()) {
    devices_[slow_] = open();
    devices_[1 - slow_] = FileDevice::create(path(), 8_MiB, *queue_).value();
  }
  Device& device(int index) override { return *devices_[index]; }
  void reopen(int index) override {
    devices_[index].reset();
    if (index == slow_) {
      devices_[index] = open();
    } else {
      devices_[index] = FileDevice::open(path(), OpenMode::kReadWrite, *queue_).value();
    }
  }
  Executor& executor() override { return *executor_; }

 private:
  std::string path() const { return directory_.path("file"); }
  std::unique_ptr<Device> open() {
    return std::make_unique<SlowDevice>("slow", content_, *queue_, answers_);
  }

  const int slow_;  // its index
  const SlowDevice::Answers answers_;
  Content content_ = Content(8_MiB);
  TemporaryDirectory directory_;
  std::unique_ptr<Executor> executor_ = make_thread_executor(2);
  std::unique_ptr<FileQueue> queue_;
  std::unique_ptr<Device> devices_[2];
};

void keeps_the_contract(QueueMaker make) {
  for (const auto answers : {SlowDevice::Answers::kByThread, SlowDevice::Answers::kAtOnce}) {
    for (const int slow : {0, 1}) {
      io::testing::run_device_contract(
          [=] { return std::make_unique<MixedWorld>(make, answers, slow); });
    }
  }
}

struct Devices {
  explicit Devices(QueueMaker make) : queue(make()) {
    slow = std::make_unique<SlowDevice>("slow", content, *queue);
    file = FileDevice::create(directory.path("file"), 1_MiB, *queue).value();
  }
  TemporaryDirectory directory;
  Content content = Content(1_MiB);
  std::unique_ptr<FileQueue> queue;
  std::unique_ptr<SlowDevice> slow;
  std::unique_ptr<FileDevice> file;
};

void can_be_left(QueueMaker make) {
  Devices devices(make);
  IoQueue& queue = *devices.queue;
  SlowDevice& slow = *devices.slow;
  const AlignedBuffer data = pattern(1, 4096);
  REQUIRE(why(slow.write(0, data)) == "");
  slow.hold();
  auto batch = std::make_unique<IoBatch>();
  std::vector<AlignedBuffer> buffers;
  buffers.emplace_back(4096);
  batch->requests.push_back(IoRequest::read(slow, 0, buffers.back().bytes()));
  REQUIRE_FALSE(queue.run_for(*batch, 1'000'000));
  REQUIRE(slow.traffic().timeouts == 1);
  REQUIRE(slow.traffic().under_way == 1);
  REQUIRE(slow.silent_for() >= 1'000'000);
  // Others are served meanwhile.
  REQUIRE(why(devices.file->write(0, data)) == "");
  AlignedBuffer found(4096);
  REQUIRE(why(devices.file->read(0, found.bytes())) == "");
  // A batch with both is answered in part.
  AlignedBuffer more(4096);
  IoBatch both;
  both.requests.push_back(IoRequest::read(slow, 0, more.bytes()));
  both.requests.push_back(IoRequest::read(*devices.file, 0, found.bytes()));
  REQUIRE_FALSE(queue.run_briefly(both, 1'000'000));
  while (!both.requests[1].is_answered()) {
    REQUIRE_FALSE(queue.wait_briefly(both, 1'000'000));
  }
  REQUIRE_FALSE(both.requests[0].is_answered());
  queue.abandon(std::move(batch), std::move(buffers));
  REQUIRE(queue.has_abandoned());
  REQUIRE_FALSE(queue.wait_for_abandoned(1'000'000));
  std::unique_ptr<Device> closing = std::move(devices.slow);
  queue.close(std::move(closing));  // stays until its answer
  slow.let_go();
  queue.wait(both);
  REQUIRE(why(both.first_error()) == "");
  REQUIRE(as_text(more) == as_text(data));
  REQUIRE(queue.wait_for_abandoned());
}

void can_be_given_up(QueueMaker make) {
  Devices devices(make);
  IoQueue& queue = *devices.queue;
  SlowDevice& slow = *devices.slow;
  auto late = std::make_unique<AlignedBuffer>(pattern(1, 4096));
  const std::string expected(as_text(*late));
  const AlignedBuffer data = pattern(2, 4096);
  slow.hold();
  std::atomic<bool> was_called = false;
  IoBatch called;
  called.requests.push_back(IoRequest::write(slow, 8192, data));
  called.done = [&](IoBatch&) { was_called = true; };
  IoBatch waited;
  waited.requests.push_back(IoRequest::write(slow, 0, *late));
  waited.requests.push_back(IoRequest::write(*devices.file, 0, data));
  std::thread waiter([&] { queue.run(waited); });
  while (slow.asked() == 0 || devices.file->traffic().under_way > 0) std::this_thread::yield();
  queue.submit(called);
  queue.give_up(slow);
  waiter.join();
  while (!was_called) std::this_thread::yield();
  REQUIRE(waited.requests[0].status.error().code == ErrorCode::kIo);
  REQUIRE_THAT(why(waited.requests[0].status), Catch::Contains("given up"));
  REQUIRE(why(waited.requests[1].status) == "");
  REQUIRE_FALSE(called.first_error().ok());
  REQUIRE(slow.traffic().failed_writes == 2);
  REQUIRE_FALSE(slow.write(0, data).ok());
  REQUIRE_FALSE(slow.flush().ok());
  REQUIRE(why(devices.file->write(4096, data)) == "");
  REQUIRE(slow.owing_for() > 0);
  late.reset();
  REQUIRE(LentMemory::process().kept() == 1);
  REQUIRE(queue.has_abandoned());
  REQUIRE_FALSE(queue.retire(slow));
  REQUIRE_FALSE(slow.released());
  slow.let_go();
  queue.wait_for_abandoned();
  REQUIRE(slow.traffic().under_way == 0);
  REQUIRE(LentMemory::process().kept() == 0);
  REQUIRE(as_text(ByteView(devices.content).first(4096)) == expected);
  REQUIRE(queue.retire(slow));
  REQUIRE(slow.released());
}

void many_at_once(QueueMaker make) {
  Devices devices(make);
  IoQueue& queue = *devices.queue;
  constexpr int kThreads = 4;
  constexpr int kRounds = 300;
  std::atomic<int> called = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < kThreads; ++t) {
    all.emplace_back([&, t] {
      const auto at = static_cast<std::uint64_t>(t) * 64_KiB;
      const AlignedBuffer data = pattern(static_cast<std::uint64_t>(t), 4096);
      for (int round = 0; round < kRounds; ++round) {
        IoBatch batch;
        batch.requests.push_back(IoRequest::write(*devices.slow, at, data));
        if (round % 2 == 0) batch.requests.push_back(IoRequest::write(*devices.file, at, data));
        if (round % 3 == 0) {
          std::atomic<bool> done = false;
          batch.done = [&](IoBatch&) {
            ++called;
            done = true;
          };
          queue.submit(batch);
          while (!done) std::this_thread::yield();
        } else {
          queue.run(batch);
        }
        if (!batch.first_error().ok()) std::abort();
      }
    });
  }
  for (std::thread& one : all) one.join();
  REQUIRE(called == kThreads * kRounds / 3);
}

void refuses_what_d1_refuses(QueueMaker make) {
  Devices devices(make);
  const AlignedBuffer data = pattern(1, 4096);
  IoBatch batch;
  batch.requests.push_back(IoRequest::write(*devices.slow, 1, data));
  batch.requests.push_back(IoRequest::write(*devices.slow, 0, data));
  batch.requests.push_back(IoRequest::write(*devices.file, 1, data));
  devices.queue->run(batch);
  REQUIRE(batch.requests[0].status.error().code == ErrorCode::kInvalidArgument);
  REQUIRE(why(batch.requests[1].status) == "");
  REQUIRE(batch.requests[2].status.error().code == ErrorCode::kInvalidArgument);
  bool called = false;
  IoBatch alone;
  alone.requests.push_back(IoRequest::write(*devices.slow, 1, data));
  alone.done = [&](IoBatch&) { called = true; };
  devices.queue->submit(alone);
  REQUIRE(called);
  IoBatch refused;
  refused.requests.push_back(IoRequest::write(*devices.slow, 1, data));
  refused.requests.push_back(IoRequest::read(*devices.slow, 1, MutByteView()));
  devices.queue->run(refused);
  REQUIRE_FALSE(refused.first_error().ok());
}

}  // namespace

TEST_CASE("starter_queue: a device that calls back keeps the contract beside a file, by a ring") {
  keeps_the_contract(ring);
}

TEST_CASE("starter_queue: a device that calls back keeps the contract beside a file, by threads") {
  keeps_the_contract(threads);
}

TEST_CASE("starter_queue: what such a device does not answer can be left, and comes late") {
  can_be_left(ring);
  can_be_left(threads);
}

TEST_CASE("starter_queue: what is under way to such a device ends when it is given up") {
  can_be_given_up(ring);
  can_be_given_up(threads);
}

TEST_CASE("starter_queue: waiters and callbacks of many threads are served beside files") {
  many_at_once(ring);
  many_at_once(threads);
}

TEST_CASE("starter_queue: batches that D1 refuses, wholly or in part, are complete once") {
  refuses_what_d1_refuses(ring);
  refuses_what_d1_refuses(threads);
}
