#include "python/native/store_handle.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hexad::python {

namespace nb = nanobind;

namespace {

// How often who waits looks for Ctrl-C.
constexpr std::chrono::milliseconds kBetweenSignals{100};

// This thread runs a signal's handler in the middle of a call, which may hold locks of its store's.
thread_local bool amid_a_call = false;
// Of this thread.
const StoreHandle::Hold* innermost_hold() {
  return static_cast<const StoreHandle::Hold*>(held_here());
}

[[noreturn]] void fail_forked() {
  fail({ErrorCode::kForked, "the store was opened before fork(), and this is the child",
        "Open stores in the process that uses them; let multiprocessing spawn, not fork."});
}

[[noreturn]] void fail_amid_a_call() {
  fail({ErrorCode::kBusy,
        "the handler of a signal has called a store while a call of this thread waits for a device",
        "Have the handler set a flag or raise an exception, and call the store behind that."});
}

[[noreturn]] void fail_closed() {
  fail({ErrorCode::kClosed, "the store has been closed", "Open it again."});
}

}  // namespace

bool SignalRecall::is_wanted() noexcept {
  const nb::gil_scoped_acquire locked;
  const bool outer = std::exchange(amid_a_call, true);
  const bool thrown = PyErr_CheckSignals() != 0;
  amid_a_call = outer;
  if (thrown) thrown_.emplace();
  return thrown;
}

void SignalRecall::rethrow(const char* change, bool made) const {
  if (!thrown_.has_value()) return;
  std::string note;
  if (change != nullptr && has_left_commit()) {
    note = goes_on_note(change);
  } else if (change != nullptr) {
    note = std::string(change) + (made ? ": its change was made before" : ": nothing was changed");
  }
  throw_interruption(*thrown_, has_left_commit(), note);
}

StoreHandle::StoreHandle(Store store) : store_(new Store(std::move(store))) {}

StoreHandle::~StoreHandle() {
  if (forked()) (void)changed_.release();
  if (forked() || store_ == nullptr) return;
  const WithoutGil unlocked;
  delete store_;
}

bool StoreHandle::is_slow() {
  if (state_.load() != State::kOpen) return true;
  return run_at_once([](Store& store) { return store.waits_for_devices(); });
}

StoreHandle::Call::Call(StoreHandle& handle) : handle_(handle) {
  if (handle.forked()) fail_forked();
  if (amid_a_call) fail_amid_a_call();
  handle.calls_.fetch_add(1);
  if (handle.state_.load() != State::kOpen) wait_or_fail();
}

StoreHandle::Call::~Call() { end(); }

void StoreHandle::Call::wait_or_fail() {
  if (handle_.state_.load() == State::kExchanging && !Hold::is_here(handle_)) {  // PH6
    const WithoutGil unlocked;
    std::unique_lock lock(handle_.mutex_);
    ++handle_.waiting_;
    handle_.changed_->notify_all();
    handle_.changed_->wait(lock, [this] { return handle_.state_.load() != State::kExchanging; });
    --handle_.waiting_;
  }
  if (!handle_.closing()) return;
  end();
  fail_closed();
}

void StoreHandle::Call::end() {
  handle_.calls_.fetch_sub(1);
  if (handle_.state_.load() == State::kOpen) return;
  const std::lock_guard lock(handle_.mutex_);
  handle_.changed_->notify_all();
}

StoreHandle::Hold::Hold(StoreHandle& handle) : handle_(handle), outer_(innermost_hold()) {
  const Call call(handle);
  const std::lock_guard lock(handle.mutex_);
  ++handle.holds_;
  held_here() = this;
}

StoreHandle::Hold::~Hold() {
  held_here() = outer_;
  if (handle_.forked()) return;  // PH5
  const std::lock_guard lock(handle_.mutex_);
  --handle_.holds_;
  handle_.changed_->notify_all();
}

bool StoreHandle::Hold::is_here(const StoreHandle& handle) {
  for (const Hold* hold = innermost_hold(); hold != nullptr; hold = hold->outer_) {
    if (&hold->handle_ == &handle) return true;
  }
  return false;
}

// With the lock.
void StoreHandle::set_state(State state) {
  state_ = state;
  changed_->notify_all();
}

Status StoreHandle::close() {
  if (forked()) return {};  // nothing of it is ours
  std::unique_lock lock(mutex_);
  changed_->wait(lock, [this] { return state_.load() != State::kExchanging; });
  if (closing()) {
    changed_->wait(lock, [this] { return closed(); });
    return {};
  }
  set_state(State::kClosing);
  changed_->wait(lock, [this] { return calls_ == 0; });  // PH1, PH2
  const std::vector<std::weak_ptr<Stream>> streams = std::exchange(streams_, {});
  lock.unlock();
  for (const std::weak_ptr<Stream>& weak : streams) {  // PH3
    if (const std::shared_ptr<Stream> stream = weak.lock(); stream != nullptr) stream->end();
  }
  Status status = store_->close();
  delete std::exchange(store_, nullptr);
  lock.lock();
  set_state(State::kClosed);
  return status;
}

// One at a time. Whatever comes of it, those that wait go on afterwards: with the store that was,
// with the new one, or without.
class StoreHandle::Exchange {
 public:
  explicit Exchange(StoreHandle& handle) : handle_(handle) {
    if (!begin()) fail_closed();
  }
  ~Exchange() {
    const std::lock_guard lock(handle_.mutex_);
    handle_.set_state(handle_.store_ == nullptr ? State::kClosed : State::kOpen);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

 private:
  bool begin() {
    const WithoutGil unlocked;
    std::unique_lock lock(handle_.mutex_);
    handle_.changed_->wait(lock, [this] { return handle_.state_.load() != State::kExchanging; });
    if (handle_.closing()) return false;
    handle_.set_state(State::kExchanging);
    return true;
  }

  StoreHandle& handle_;
};

void StoreHandle::exchange(const std::string& device, const Opening& open, const Opening& again) {
  if (forked()) fail_forked();
  const Exchange exchange(*this);
  wait_for_calls();
  if (const std::size_t files = open_streams(); files > 0) {
    fail({ErrorCode::kBusy,
          device + ": the store is open for reading only in this process, with " +
              std::to_string(files) + (files == 1 ? " file of it" : " files of it"),
          "Close them first, or open the store for writing before."});
  }
  const Status opened = [&]() -> Status {
    const WithoutGil unlocked;
    // It has written nothing, so nothing that its end says is news.
    store_->close().ignore();
    delete std::exchange(store_, nullptr);
    Result<Store> now = open();
    Status status = now.status();
    if (!now.ok()) now = again();
    if (now.ok()) store_ = new Store(std::move(now).value());
    return status;
  }();
  check(opened);
}

// PH6. Looks for signals meanwhile.
void StoreHandle::wait_for_calls() {
  const auto is_quiet = [this] { return calls_.load() == waiting_ && holds_ == 0; };
  for (;;) {
    {
      const WithoutGil unlocked;
      std::unique_lock lock(mutex_);
      if (changed_->wait_for(lock, kBetweenSignals, is_quiet)) return;
    }
    check_signals();
  }
}

std::size_t StoreHandle::open_streams() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(streams_.begin(), streams_.end(), [](const std::weak_ptr<Stream>& weak) {
        const std::shared_ptr<Stream> stream = weak.lock();
        return stream != nullptr && !stream->ended();
      }));
}

void StoreHandle::add_stream(const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const std::weak_ptr<Stream>& old) { return old.expired(); });
  streams_.push_back(stream);
}

}  // namespace hexad::python
