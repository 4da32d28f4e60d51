// What tasks give that run at once on several threads, in the order in which they were added: for
// reading ahead.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "io/executor.h"

namespace hexad::tools {

// One thread adds and takes. It bounds what is waited for: each result is kept until it is taken.
template <typename T>
class InOrder {
 public:
  // Tasks run by post() of the executor, which outlives this.
  explicit InOrder(io::Executor& executor)
      : executor_(executor), mutex_(executor), changed_(executor) {}
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  // Waits for the tasks that have begun; the others never do.
  ~InOrder() {
    io::Lock lock(mutex_);
    dropped_ = true;
    changed_.wait(lock, [&] { return posted_ == 0; });
  }

  void add(std::function<T()> task) {
    const auto slot = std::make_shared<std::optional<T>>();
    slots_.push_back(slot);
    {
      const io::Lock lock(mutex_);
      ++posted_;
    }
    executor_.post([this, slot, task = std::move(task)] { run(*slot, task); });
  }
  std::size_t size() const { return slots_.size(); }  // added and not taken
  bool empty() const { return slots_.empty(); }

  // Of the oldest task; waits until it is done. Precondition: not empty.
  T take() {
    const std::shared_ptr<std::optional<T>> slot = std::move(slots_.front());
    slots_.pop_front();
    io::Lock lock(mutex_);
    awaited_ = slot.get();
    changed_.wait(lock, [&] { return slot->has_value(); });
    awaited_ = nullptr;
    return std::move(**slot);
  }

 private:
  void run(std::optional<T>& slot, const std::function<T()>& task) {
    io::Lock lock(mutex_);
    if (!dropped_) {
      lock.unlock();
      T result = task();
      lock.lock();
      slot.emplace(std::move(result));
    }
    --posted_;
    // Under the lock: this may be gone as soon as it is released.
    if (dropped_ || awaited_ == &slot) changed_.notify_all();
  }

  io::Executor& executor_;
  std::deque<std::shared_ptr<std::optional<T>>> slots_;
  io::Mutex mutex_;
  io::CondVar changed_;
  std::size_t posted_ = 0;  // tasks that have not ended; guarded by mutex_, as below
  const std::optional<T>* awaited_ = nullptr;  // by take()
  bool dropped_ = false;
};

}  // namespace hexad::tools
