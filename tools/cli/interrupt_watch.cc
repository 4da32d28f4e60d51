#include "tools/cli/interrupt_watch.h"

#include <optional>
#include <utility>

namespace hexad::tools {

namespace {

constexpr io::Nanos kTick = 100'000'000;

}  // namespace

InterruptWatch::InterruptWatch(io::Executor& executor, std::function<bool()> interrupted,
                               std::function<void()> end)
    : executor_(executor),
      interrupted_(std::move(interrupted)),
      end_(std::move(end)),
      mutex_(executor),
      over_changed_(executor) {
  Result<std::unique_ptr<io::Thread>> thread =
      executor.try_start("hexad-interrupt", [this] { watch(); });
  if (thread.ok()) thread_ = std::move(thread).value();
}

InterruptWatch::~InterruptWatch() {
  if (thread_ == nullptr) return;
  {
    const io::Lock lock(mutex_);
    over_ = true;
    over_changed_.notify_all();
  }
  thread_->join();
}

void InterruptWatch::watch() {
  std::optional<io::Nanos> since;
  io::Lock lock(mutex_);
  while (!over_) {
    over_changed_.wait_for(lock, kTick);
    if (over_) return;
    if (!interrupted_()) continue;
    const io::Nanos now = executor_.clock().now();
    if (!since.has_value()) since = now;
    if (now - *since < kGrace) continue;
    lock.unlock();
    end_();
    return;
  }
}

}  // namespace hexad::tools
