#include "io/rbd/rbd_writers.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace hexad;
using namespace hexad::io;

namespace {

// What librados would have: one watch for each image, numbered as they come, and the answers.
struct Cluster {
  std::mutex mutex;
  std::condition_variable changed;
  RbdLibrary::Notified notified = nullptr;
  void* argument = nullptr;
  std::uint64_t watches = 0;
  std::vector<std::string> answers;

  std::string ask(std::uint64_t watch, const std::string& text) {
    std::string question = text;
    const std::size_t before = answers.size();
    notified(argument, 1, watch, 7, question.data(), question.size());
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return answers.size() > before; });
    return answers.back();
  }
};
Cluster* cluster = nullptr;

int watch(RbdLibrary::Handle, const char*, std::uint64_t* number, RbdLibrary::Notified notified,
          RbdLibrary::WatchFailed, std::uint32_t, void* argument) {
  cluster->notified = notified;
  cluster->argument = argument;
  *number = ++cluster->watches;
  return 0;
}
int unwatch(RbdLibrary::Handle, std::uint64_t) { return 0; }
int flush(RbdLibrary::Handle) { return 0; }
int acknowledge(RbdLibrary::Handle, const char*, std::uint64_t, std::uint64_t, const char* bytes,
                int length) {
  const std::lock_guard<std::mutex> lock(cluster->mutex);
  cluster->answers.emplace_back(bytes, static_cast<std::size_t>(length));
  cluster->changed.notify_all();
  return 0;
}

class Image final : public WrittenImage {
 public:
  Image(std::string name, std::vector<std::string>& calls)
      : name_(std::move(name)), calls_(calls) {}
  const std::string& path() const override { return name_; }
  RbdLibrary::Handle pool() const override { return nullptr; }
  void pause() override { calls_.push_back("pause " + name_); }
  Status drain(std::chrono::steady_clock::time_point) override {
    calls_.push_back("drain " + name_);
    return drained;
  }
  void go_on() override { calls_.push_back("go on " + name_); }
  Status take_snapshot(const std::string& name) override {
    const std::lock_guard<std::mutex> lock(cluster->mutex);  // of all images at the same time
    calls_.push_back("take " + name_ + "@" + name);
    const auto first = std::find_if(calls_.begin(), calls_.end(),
                                    [](const auto& call) { return call.starts_with("take "); });
    std::sort(first, calls_.end());
    return taken;
  }
  void drop_snapshot(const std::string& name) override {
    calls_.push_back("drop " + name_ + "@" + name);
  }

  Status drained;
  Status taken;

 private:
  const std::string name_;
  std::vector<std::string>& calls_;
};

struct World {
  World() {
    cluster = &ceph;
    library.rados_watch3 = watch;
    library.rados_unwatch2 = unwatch;
    library.rados_watch_flush = flush;
    library.rados_notify_ack = acknowledge;
    writers.emplace(library, nullptr);
    writers->add("log", "a", a);
    writers->add("log", "b", b);
  }
  ~World() {
    for (const Image* const image : {&a, &b}) {
      if (const auto watch = writers->remove(*image)) writers->end(nullptr, *watch);
    }
    writers.reset();
  }
  Status ask(const std::string& nonce, std::vector<std::string> images) {
    return decode_answer(ceph.ask(2, SnapshotRequest{nonce, "s", std::move(images)}.encode()));
  }

  Cluster ceph;
  RbdLibrary library{};
  std::vector<std::string> calls;
  Image a{"a", calls};
  Image b{"b", calls};
  std::optional<RbdWriters> writers;
};

using Calls = std::vector<std::string>;

}  // namespace

TEST_CASE("rbd_writers: no image has a write under way while snapshots are taken") {  // SG1
  World world;
  REQUIRE(world.ask("1", {"log/a", "log/b"}).ok());
  CHECK(world.calls == Calls{"pause a", "pause b", "drain a", "drain b", "take a@s", "take b@s",
                             "go on a", "go on b"});
  // The same question, sent again: the same answer, and nothing is done.
  REQUIRE(world.ask("1", {"log/a", "log/b"}).ok());
  CHECK(world.calls.size() == 8);
}

TEST_CASE("rbd_writers: what cannot be taken of all images is not there of any") {
  World world;
  world.b.taken = Error{ErrorCode::kNoSpace, "b: no room", "a hint\nof two lines"};
  const Status failed = world.ask("1", {"log/a", "log/b"});
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code == ErrorCode::kNoSpace);
  CHECK(failed.error().message == "b: no room");
  CHECK(failed.error().hint == "a hint\nof two lines");
  CHECK(world.calls == Calls{"pause a", "pause b", "drain a", "drain b", "take a@s", "take b@s",
                             "go on a", "go on b", "drop a@s"});
}

TEST_CASE("rbd_writers: where writes are not answered all goes on without a snapshot") {
  World world;
  world.a.drained = Error{ErrorCode::kUnavailable, "a is silent", ""};
  CHECK(world.ask("1", {"log/a", "log/b"}).error().code == ErrorCode::kUnavailable);
  CHECK(world.calls == Calls{"pause a", "pause b", "drain a", "go on a", "go on b"});
}

TEST_CASE("rbd_writers: an image of somebody else's is refused") {
  World world;
  const Status refused = world.ask("1", {"log/a", "log/c"});
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message, Catch::Contains("log/c"));
  CHECK(world.calls.empty());
}

TEST_CASE("rbd_writers: what is not understood is told") {
  World world;
  CHECK(decode_answer(world.ceph.ask(1, "something")).error().code == ErrorCode::kUnsupported);
  for (const char* text : {"", "snapshots were taken, 1\n", "snapshots were taken, 1\n99\n", "x"}) {
    CHECK(decode_answer(text).error().code == ErrorCode::kUnsupported);
  }
  CHECK(world.calls.empty());
}
