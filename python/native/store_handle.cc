#include "python/native/store_handle.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace hexad::python {

namespace nb = nanobind;

namespace {

// Asking for the process id would be a system call in every call of a store.
std::atomic<std::uint64_t> forks = 0;

[[maybe_unused]] const int watching =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint64_t forks_before_this() { return forks.load(std::memory_order_relaxed); }

StoreHandle::StoreHandle(Store store) : store_(new Store(std::move(store))) {}

StoreHandle::~StoreHandle() {
  if (forked()) (void)changed_.release();
  if (forked() || store_ == nullptr) return;
  const nb::gil_scoped_release unlocked;
  delete store_;
}

StoreHandle::Call::Call(StoreHandle& handle) : handle_(handle) {
  if (handle.forked()) {
    fail({ErrorCode::kForked, "the store was opened before fork(), and this is the child",
          "Open stores in the process that uses them; let multiprocessing spawn, not fork."});
  }
  handle.calls_.fetch_add(1);
  if (handle.closing_.load()) {
    end();
    fail({ErrorCode::kClosed, "the store has been closed", "Open it again."});
  }
}

StoreHandle::Call::~Call() { end(); }

void StoreHandle::Call::end() {
  if (handle_.calls_.fetch_sub(1) > 1 || !handle_.closing_.load()) return;
  const std::lock_guard lock(handle_.mutex_);
  handle_.changed_->notify_all();
}

Status StoreHandle::close() {
  if (forked()) return {};  // nothing of it is ours
  std::unique_lock lock(mutex_);
  if (closing_) {
    changed_->wait(lock, [this] { return closed_.load(); });
    return {};
  }
  closing_ = true;
  changed_->wait(lock, [this] { return calls_ == 0; });  // PH1, PH2
  const std::vector<std::weak_ptr<Stream>> streams = std::exchange(streams_, {});
  lock.unlock();
  for (const std::weak_ptr<Stream>& weak : streams) {  // PH3
    if (const std::shared_ptr<Stream> stream = weak.lock(); stream != nullptr) stream->end();
  }
  Status status = store_->close();
  delete std::exchange(store_, nullptr);
  lock.lock();
  closed_ = true;
  changed_->notify_all();
  return status;
}

void StoreHandle::add_stream(const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const std::weak_ptr<Stream>& old) { return old.expired(); });
  streams_.push_back(stream);
}

}  // namespace hexad::python
