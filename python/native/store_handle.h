// One open store as Python holds it: who may call it when, how it ends, and what a forked child may
// do with it (nothing).
//
//   PH1 The store lives as long as a call is in it: close() waits for the calls that have begun.
//   PH2 A call counts as begun until its thread has the GIL again. So when everything is closed,
//       before the interpreter ends, no thread of Python comes back from here any more. What was
//       left does not either (PA5).
//   PH3 Streams end before their store does.
//   PH4 The store ends on a thread of Python, or a caller (apart.h), never on one of its own: what
//       the engine's threads hold (Completions) has no reference to it.
//   PH5 In a forked child nothing of the store is touched, not even its locks: another process's
//       threads had them. It is left lying in memory.
//   PH6 While the store is exchanged for another one, opened anew, calls wait; the exchange waits
//   for
//       those that have begun, and for every Hold: nobody finds half of one store and half of the
//       other. Who waits in turn for a call that waits, a callback of his own say, does not wait.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/native/apart.h"
#include "python/native/errors.h"

namespace hexad::python {

// What the engine calls while a call goes on, without the GIL: looks for signals, and keeps what
// their handlers, or the caller's function, have thrown until the engine has returned.
class Interruption {
 public:
  // What `ask` says, which runs with the GIL, on the thread that made the call (PA3). False when
  // something was thrown, now or before: the call is to end.
  template <typename Ask>
  bool go_on(const Ask& ask) {
    if (thrown_ != nullptr) return false;
    bool on = false;
    const auto look = [&] {
      try {
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
        on = ask();
      } catch (...) {
        thrown_ = std::current_exception();
      }
    };
    if (Task* const task = Task::here(); task != nullptr) {
      if (!task->on_main(look)) keep_end();
    } else {
      const nanobind::gil_scoped_acquire locked;
      look();
    }
    return on;
  }
  bool go_on() {
    // The main thread looks for signals itself meanwhile.
    if (thrown_ != nullptr || Task::here() == nullptr) return go_on([] { return true; });
    keep_end();
    return thrown_ == nullptr;
  }
  // With the GIL, when the engine has returned.
  void rethrow() const {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  }

 private:
  void keep_end() {
    try {
      check_signals();
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }

  std::exception_ptr thrown_;
};

// Calls the main thread back from the engine when a signal's handler throws.
class SignalRecall final : public io::Recall {
 public:
  // When the engine has returned, with the GIL. `made`: it has returned no error.
  void rethrow(const char* change, bool made) const;

 private:
  bool is_wanted() noexcept override;

  std::optional<nanobind::python_error> thrown_;
};

template <typename Result>
bool is_ok(const Result& result) {
  if constexpr (requires { result.ok(); }) {
    return result.ok();
  } else {
    return true;
  }
}

// What ends with the store that it belongs to.
class Stream {
 public:
  virtual ~Stream() = default;
  // Lets go of the engine's part. Any thread, any number of times, with or without the GIL.
  virtual void end() = 0;
  virtual bool ended() = 0;
};

class StoreHandle {
 public:
  explicit StoreHandle(Store store);
  // Waits for commits in flight, without a checkpoint. Gives the GIL away meanwhile.
  ~StoreHandle();
  StoreHandle(const StoreHandle&) = delete;
  StoreHandle& operator=(const StoreHandle&) = delete;

  // Calls body(store) without the GIL, from any thread that has it. Fails with kClosed, kForked; on
  // the main thread, throws what a signal's handler throws meanwhile. `change`: what the body
  // changes, which is a commit; null: nothing.
  template <typename Body>
  auto run(Body&& body, const char* change = nullptr) {
    const Call call(*this);
    if (!is_to_be_apart()) {
      const WithoutGil unlocked;
      return std::forward<Body>(body)(*store_);
    }
    SignalRecall recall;
    using Result = decltype(body(*store_));
    if constexpr (std::is_void_v<Result>) {
      {
        const WithoutGil unlocked;
        const io::Recall::Scope scope(recall);
        std::forward<Body>(body)(*store_);
      }
      recall.rethrow(change, true);
    } else {
      Result result = [&] {
        const WithoutGil unlocked;
        const io::Recall::Scope scope(recall);
        return std::forward<Body>(body)(*store_);
      }();
      recall.rethrow(change, is_ok(result));
      return result;
    }
  }

  // Whether a device owes an answer, or the store is being closed or opened in another way: then
  // calls may take long. With the GIL.
  bool is_slow();

  // The same with the GIL, for what never waits: giving it away and taking it back costs more than
  // such a call, and lets a thread that computes in Python have it for milliseconds.
  template <typename Body>
  auto run_at_once(Body&& body) {
    const Call call(*this);
    return std::forward<Body>(body)(*store_);
  }

  // While it lives the store is not exchanged, and calls of its thread do not wait for that. For
  // what makes several calls of one store, and for calls that call Python back. Lives on one
  // thread's stack, made and destroyed with the GIL.
  class Hold {
   public:
    explicit Hold(StoreHandle& handle);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    // Whether this thread has one of `handle`.
    static bool is_here(const StoreHandle& handle);

   private:
    StoreHandle& handle_;
    const Hold* outer_;  // what this thread had before
  };

  // From now on run() refuses. The first one waits for what has begun, closes and lets go of the
  // devices; others wait for it. Without the GIL.
  Status close();
  // Lets go of the store, which is open for reading only, and takes what `open` opens in its place;
  // where that fails, what `again` opens, and without that it is closed. `device`: for errors.
  // Throws kBusy, and the store stays, when a stream of it is open; what a signal's handler throws
  // while it waits; the error of `open`. With the GIL, which it gives away meanwhile.
  using Opening = std::function<Result<Store>()>;
  void exchange(const std::string& device, const Opening& open, const Opening& again);
  bool closed() const { return state_.load() == State::kClosed; }
  // close() waits for calls that have begun: long ones end early.
  bool closing() const { return state_.load() >= State::kClosing; }
  // So do they for exchange(), if they may last for hours.
  bool is_wanted_back() const { return state_.load() != State::kOpen; }
  bool forked() const { return forks_before_this() != forks_; }

  // From within run().
  void add_stream(const std::shared_ptr<Stream>& stream);

 private:
  class Call {
   public:
    explicit Call(StoreHandle& handle);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    void wait_or_fail();
    void end();

    StoreHandle& handle_;
  };
  enum class State : std::uint8_t { kOpen, kExchanging, kClosing, kClosed };

  void set_state(State state);
  class Exchange;
  void wait_for_calls();
  std::size_t open_streams();

  const std::uint64_t forks_ = forks_before_this();
  Store* store_;  // owned; a raw pointer, so that it can be left lying (PH5)
  std::mutex mutex_;
  // By pointer, to be left lying, too: destroying one that has waiters waits for them.
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  // A call counts itself and looks at the state, close() and exchange() the other way round: one of
  // the two sees the other.
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<State> state_ = State::kOpen;  // set under mutex_
  std::uint64_t waiting_ = 0;                // calls that wait for an exchange; guarded by mutex_
  std::uint64_t holds_ = 0;                  // guarded by mutex_
  std::vector<std::weak_ptr<Stream>> streams_;
};

}  // namespace hexad::python
