#include "io/thread_queue.h"

#include <catch2/catch.hpp>
#include <mutex>
#include <thread>

#include "base/units.h"
#include "tests/io/countdown.h"
#include "tests/io/file_world.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::Countdown;
using hexad::io::testing::FileWorld;
using hexad::io::testing::pattern;
using hexad::io::testing::TemporaryDirectory;

namespace {

struct Files {
  explicit Files(int threads) : queue(make_thread_queue(threads).value()) {}
  std::unique_ptr<FileDevice> make(const std::string& name) {
    return FileDevice::create(directory.path(name), 1_MiB, *queue).value();
  }
  TemporaryDirectory directory;
  std::unique_ptr<FileQueue> queue;
};

}  // namespace

TEST_CASE("thread_queue: one thread is enough for the whole contract") {
  io::testing::run_device_contract([] {
    return std::make_unique<FileWorld>([] { return make_thread_queue(1).value(); },
                                       Caching::kDirectIfPossible);
  });
}

TEST_CASE("thread_queue: callbacks run on the pool, and waiters do not need it") {
  const auto executor = make_thread_executor(1);
  Countdown started(*executor, 1);
  Countdown release(*executor, 1);
  std::thread::id ran_on;
  Files files(1);  // its thread ends before they do
  const auto device = files.make("a");
  const AlignedBuffer data = pattern(1, 4096);
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
  REQUIRE(device->write(0, data).ok());
  IoBatch many;
  for (std::uint64_t i = 0; i < 20; ++i) {
    many.requests.push_back(IoRequest::write(*device, i * 4096, data));
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

TEST_CASE("thread_queue: descriptors need no announcement") {
  Files files(2);
  const auto device = files.make("a");
  REQUIRE(device->queue_index() == -1);
  REQUIRE(files.queue->attach(device->fd()) == -1);
  REQUIRE(files.queue->name() == "threads");
}
