#include "tools/cli/wait_watch.h"

#include <utility>

namespace hexad::tools {

namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

}  // namespace

WaitWatch::WaitWatch(io::Executor& executor, std::function<std::vector<std::string>()> waits,
                     std::function<void(const std::string&)> say)
    : executor_(executor),
      waits_(std::move(waits)),
      say_(std::move(say)),
      mutex_(executor),
      over_changed_(executor) {
  Result<std::unique_ptr<io::Thread>> thread =
      executor.try_start("hexad-watch", [this] { watch(); });
  if (thread.ok()) thread_ = std::move(thread).value();
}

WaitWatch::~WaitWatch() {
  if (thread_ == nullptr) return;
  {
    const io::Lock lock(mutex_);
    over_ = true;
    over_changed_.notify_all();
  }
  thread_->join();
}

void WaitWatch::watch() {
  io::Nanos pause = kSecond;  // until it is said again
  io::Nanos next = 0;
  io::Lock lock(mutex_);
  while (!over_) {
    over_changed_.wait_for(lock, kSecond);
    if (over_) return;
    lock.unlock();
    const std::vector<std::string> waits = waits_();
    const io::Nanos now = executor_.clock().now();
    if (waits.empty()) {
      pause = kSecond;
      next = 0;
    } else if (now >= next) {
      for (const std::string& one : waits) say_(one);
      pause *= 2;
      next = now + pause;
    }
    lock.lock();
  }
}

}  // namespace hexad::tools
