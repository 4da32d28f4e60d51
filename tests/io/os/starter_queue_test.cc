#include "io/os/starter_queue.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <span>
#include <string>
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
             Answers answers = Answers::kByThread, std::uint64_t longest_row = 0)
      : name_(std::move(name)),
        content_(content),
        queue_(queue),
        answers_(answers),
        longest_row_(longest_row) {
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

  void start(std::span<const IoRequest> row, Answer answer) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      rows_.push_back(to_string(row));
    }
    if (answers_ == Answers::kAtOnce) return answer(execute(row));
    const std::lock_guard<std::mutex> lock(mutex_);
    asked_.push_back({{row.begin(), row.end()}, std::move(answer)});
    changed_.notify_all();
  }
  std::uint64_t longest_row() const override { return longest_row_; }
  // What it was given, one text for each row: "write 4096: 8192 4096".
  std::vector<std::string> rows() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return rows_;
  }
  // All rows fail from now on.
  void fail() { failing_ = true; }

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
    std::vector<IoRequest> row;
    Answer answer;
  };

  static std::string to_string(std::span<const IoRequest> row) {
    static constexpr const char* kOps[] = {"read ", "write ", "flush ", "discard "};
    std::string text =
        kOps[static_cast<int>(row.front().op)] + std::to_string(row.front().offset) + ":";
    for (const IoRequest& one : row) text += " " + std::to_string(one.length);
    return text;
  }

  void release() override { released_.store(true); }

  Status execute(std::span<const IoRequest> row) {
    if (failing_) return Error{ErrorCode::kIo, name_ + ": no", ""};
    for (const IoRequest& one : row) execute(one);
    return {};
  }

  void execute(const IoRequest& request) {
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
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return (closing_ || !asked_.empty()) && !held_; });
      if (asked_.empty()) return;
      Asked next = std::move(asked_.front());
      asked_.pop_front();
      lock.unlock();
      Status status = execute(next.row);
      next.answer(std::move(status));
      lock.lock();
    }
  }

  const std::string name_;
  Content& content_;
  IoQueue& queue_;
  const Answers answers_;
  const std::uint64_t longest_row_;
  std::atomic<bool> failing_{false};
  Geometry geometry_;
  std::mutex content_mutex_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Asked> asked_;        // guarded by it
  std::vector<std::string> rows_;  // guarded by it
  bool held_ = false;              // guarded by it
  bool closing_ = false;           // guarded by it
  std::atomic<bool> released_{false};
  std::thread thread_{[this] { serve(); }};
};

// A starter, and a file beside it: batches mix them.
class MixedWorld final : public io::testing::World {
 public:
  MixedWorld(QueueMaker make, SlowDevice::Answers answers, int slow, std::uint64_t longest_row)
      : slow_(slow), answers_(answers), longest_row_(longest_row), queue_(make()) {
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
    return std::make_unique<SlowDevice>("slow", content_, *queue_, answers_, longest_row_);
  }

  const int slow_;  // its index
  const SlowDevice::Answers answers_;
  const std::uint64_t longest_row_;
  Content content_ = Content(8_MiB);
  TemporaryDirectory directory_;
  std::unique_ptr<Executor> executor_ = make_thread_executor(2);
  std::unique_ptr<FileQueue> queue_;
  std::unique_ptr<Device> devices_[2];
};

void keeps_the_contract(QueueMaker make) {
  for (const auto answers : {SlowDevice::Answers::kByThread, SlowDevice::Answers::kAtOnce}) {
    for (const std::uint64_t longest_row : {0_KiB, 64_KiB}) {
      for (const int slow : {0, 1}) {
        io::testing::run_device_contract(
            [=] { return std::make_unique<MixedWorld>(make, answers, slow, longest_row); });
      }
    }
  }
}

struct Devices {
  explicit Devices(QueueMaker make, std::uint64_t longest_row = 0) : queue(make()) {
    slow = std::make_unique<SlowDevice>("slow", content, *queue, SlowDevice::Answers::kByThread,
                                        longest_row);
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

// Writes that touch go together, whatever is between them in the batch; others do not.
void makes_rows(QueueMaker make) {
  Devices devices(make, 32_KiB);
  SlowDevice& slow = *devices.slow;
  const AlignedBuffer data = pattern(1, 64_KiB);
  AlignedBuffer found(4096);
  IoBatch batch;
  const auto write = [&](std::uint64_t offset, std::uint64_t length,
                         WriteMode mode = WriteMode::kCached) {
    batch.requests.push_back(
        IoRequest::write(slow, offset, data.bytes().subspan(offset % 64_KiB, length), mode));
  };
  write(12_KiB, 4_KiB);
  batch.requests.push_back(IoRequest::write(*devices.file, 0, data));
  write(0, 8_KiB);
  batch.requests.push_back(IoRequest::read(slow, 512_KiB, found.bytes()));
  write(8_KiB, 4_KiB);
  batch.requests.push_back(IoRequest::flush(slow));
  write(20_KiB, 4_KiB);                       // behind a gap
  write(24_KiB, 4_KiB, WriteMode::kDurable);  // of another mode
  write(128_KiB, 24_KiB);
  write(152_KiB, 8_KiB);  // as long as a row may be
  write(160_KiB, 4_KiB);  // and longer
  write(164_KiB, 4_KiB);
  batch.requests.push_back(IoRequest::write(slow, 1, data));  // D1
  devices.queue->run(batch);
  std::vector<std::string> rows = slow.rows();
  std::sort(rows.begin(), rows.end());
  REQUIRE(rows == std::vector<std::string>{"flush 0: 0", "read 524288: 4096",
                                           "write 0: 8192 4096 4096", "write 131072: 24576 8192",
                                           "write 163840: 4096 4096", "write 20480: 4096",
                                           "write 24576: 4096"});
  const auto bytes = [](ByteView of, std::uint64_t at, std::uint64_t length) {
    return as_text(of.subspan(at, length));
  };
  const ByteView content(devices.content);
  REQUIRE(bytes(content, 0, 16_KiB) == bytes(data, 0, 16_KiB));
  REQUIRE(bytes(content, 20_KiB, 8_KiB) == bytes(data, 20_KiB, 8_KiB));
  REQUIRE(bytes(content, 128_KiB, 40_KiB) == bytes(data, 0, 40_KiB));
  REQUIRE(slow.traffic().under_way == 0);
  for (std::size_t i = 0; i + 1 < batch.requests.size(); ++i) {
    REQUIRE(why(batch.requests[i].status) == "");
  }
  REQUIRE_FALSE(batch.requests.back().status.ok());
}

// SQ3, and what is given up while it is in a row.
void answers_rows(QueueMaker make) {
  Devices devices(make, 32_KiB);
  SlowDevice& slow = *devices.slow;
  IoQueue& queue = *devices.queue;
  auto late = std::make_unique<AlignedBuffer>(pattern(1, 16_KiB));
  const std::string expected(as_text(*late));
  const auto fill = [&](IoBatch& batch) {
    for (std::uint64_t at = 0; at < 16_KiB; at += 4_KiB) {
      batch.requests.push_back(IoRequest::write(slow, at, late->bytes().subspan(at, 4_KiB)));
    }
  };
  slow.hold();
  IoBatch waited;
  fill(waited);
  std::thread waiter([&] { queue.run(waited); });
  while (slow.asked() == 0) std::this_thread::yield();
  queue.give_up(slow);
  waiter.join();
  for (const IoRequest& one : waited.requests) {
    REQUIRE_THAT(why(one.status), Catch::Contains("given up"));
  }
  late.reset();
  REQUIRE(queue.has_abandoned());
  slow.let_go();
  queue.wait_for_abandoned();
  REQUIRE(slow.traffic().under_way == 0);
  REQUIRE(as_text(ByteView(devices.content).first(16_KiB)) == expected);
  REQUIRE(slow.rows() == std::vector<std::string>{"write 0: 4096 4096 4096 4096"});

  Devices others(make, 32_KiB);
  others.slow->fail();
  IoBatch failing;
  const AlignedBuffer data = pattern(2, 8_KiB);
  for (const std::uint64_t at : {0_KiB, 4_KiB}) {
    failing.requests.push_back(IoRequest::write(*others.slow, at, data.bytes().subspan(at, 4_KiB)));
  }
  others.queue->run(failing);
  for (const IoRequest& one : failing.requests) REQUIRE_FALSE(one.status.ok());
  REQUIRE(others.slow->traffic().failed_writes == 2);
  REQUIRE(others.slow->rows().size() == 1);
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

TEST_CASE("starter_queue: writes that touch are one row for devices that want that") {
  makes_rows(ring);
  makes_rows(threads);
}

TEST_CASE("starter_queue: the answer of a row is that of each of its requests, given up or not") {
  answers_rows(ring);
  answers_rows(threads);
}

TEST_CASE("starter_queue: batches that D1 refuses, wholly or in part, are complete once") {
  refuses_what_d1_refuses(ring);
  refuses_what_d1_refuses(threads);
}
