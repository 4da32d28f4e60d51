// A cluster that takes requests and does not answer. Runs alone: all OSDs are stopped meanwhile.
#include <signal.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/lent_memory.h"
#include "base/units.h"
#include "tests/ceph/ceph_images.h"
#include "tests/io/device_contract.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::ceph_conf;
using hexad::io::testing::CephImages;
using hexad::io::testing::pattern;

namespace {

std::string why(const Status& status) { return status.ok() ? "" : status.error().to_string(); }

// Of a thread, as /proc has it: behind its name, which is in brackets.
char state_of(const std::filesystem::path& stat) {
  std::string line;
  std::ifstream in(stat);
  std::getline(in, line);
  const std::size_t end = line.rfind(") ");
  return end == std::string::npos ? 'T' : line[end + 2];  // without a line it is over
}

// While it lives the OSDs do nothing.
class Silence {
 public:
  Silence() {
    const auto place = std::filesystem::path(ceph_conf()).parent_path() / "run";
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("osd.") || !name.ends_with(".pid")) continue;
      pid_t pid = 0;
      std::ifstream(entry.path()) >> pid;
      REQUIRE(pid > 1);
      REQUIRE(kill(pid, SIGSTOP) == 0);
      stopped_.push_back(pid);
    }
    REQUIRE(stopped_.size() >= 3);
    // A signal takes effect when each thread has met it.
    for (const pid_t pid : stopped_) {
      const auto tasks = std::filesystem::path("/proc") / std::to_string(pid) / "task";
      for (const auto& task : std::filesystem::directory_iterator(tasks)) {
        while (state_of(task.path() / "stat") != 'T') std::this_thread::yield();
      }
    }
  }
  ~Silence() { end(); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  void end() {
    for (const pid_t pid : stopped_) kill(pid, SIGCONT);
    stopped_.clear();
  }

 private:
  std::vector<pid_t> stopped_;
};

void left_and_given_up(QueueKind kind) {
  CephImages images;
  const auto system = make_real_system(kind).value();
  IoQueue& queue = system->queue();
  auto device = system->create_device(images.address("a"), 8_MiB).value();
  const AlignedBuffer before = pattern(1, 64_KiB);
  REQUIRE(why(device->write(0, before)) == "");
  Silence silence;
  auto batch = std::make_unique<IoBatch>();
  std::vector<AlignedBuffer> buffers;
  buffers.emplace_back(64_KiB);
  batch->requests.push_back(IoRequest::read(*device, 0, buffers.back().bytes()));
  REQUIRE_FALSE(queue.run_for(*batch, 100'000'000));
  CHECK(device->traffic().timeouts == 1);
  CHECK(device->silent_for() >= 100'000'000);
  CHECK(device->owing_for() >= 100'000'000);
  queue.abandon(std::move(batch), std::move(buffers));

  auto late = std::make_unique<AlignedBuffer>(pattern(2, 64_KiB));
  IoBatch writing;
  writing.requests.push_back(IoRequest::write(*device, 1_MiB, *late));
  queue.submit(writing);
  CHECK(device->traffic().under_way == 2);
  queue.give_up(*device);
  queue.wait(writing);
  REQUIRE(writing.first_error().error().code == ErrorCode::kIo);
  CHECK_THAT(why(writing.first_error()), Catch::Contains("given up"));
  late.reset();
  CHECK(LentMemory::process().kept() == 1);
  CHECK_FALSE(device->write(0, before).ok());
  CHECK_FALSE(queue.retire(*device));
  CHECK(queue.has_abandoned());

  silence.end();
  while (!queue.wait_for_abandoned()) continue;
  CHECK(device->traffic().under_way == 0);
  CHECK(LentMemory::process().kept() == 0);
  CHECK(queue.retire(*device));  // its lock is free
  const auto again = system->open_device(device->name(), OpenMode::kReadWrite).value();
  AlignedBuffer found(64_KiB);
  REQUIRE(why(again->read(1_MiB, found.bytes())) == "");
  CHECK(as_text(found) == as_text(pattern(2, 64_KiB)));  // it was done all the same
}

}  // namespace

TEST_CASE("rbd_silent: what a cluster does not answer is left and given up, and comes late") {
  left_and_given_up(QueueKind::kAuto);
  left_and_given_up(QueueKind::kThreads);
}

TEST_CASE("rbd_silent: an image that is made when nobody waits for it any more does not stay") {
  CephImages images;
  const std::string path = images.address("late");
  const auto system = make_real_system().value();
  // Connected, and the monitors answer.
  REQUIRE(system->open_device(path, OpenMode::kLook).status().error().code == ErrorCode::kNotFound);
  const auto other = system->create_device(images.address("other"), 8_MiB).value();
  Silence silence;
  const auto refused = system->create_device(path, 8_MiB);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(refused.error().to_string(),
             Catch::Contains("cannot be created: the cluster has not answered"));
  silence.end();
  // While the cluster owes that answer it is asked for nothing else.
  for (;;) {
    const auto found = system->open_device(path, OpenMode::kLook);
    REQUIRE_FALSE(found.ok());
    if (found.error().code == ErrorCode::kUnavailable) {
      std::this_thread::yield();
      continue;
    }
    CHECK(found.error().code == ErrorCode::kNotFound);
    break;
  }
}
