// One open store as Python holds it: who may call it when, how it ends, and what a forked child may
// do with it (nothing).
//
//   PH1 The store lives as long as a call is in it: close() waits for the calls that have begun.
//   PH2 A call counts as begun until its thread has the GIL again. So when everything is closed,
//       before the interpreter ends, no thread of Python comes back from here any more.
//   PH3 Streams end before their store does.
//   PH4 The store ends on a thread of Python, never on one of its own: what the engine's threads
//       hold (Completions) has no reference to it.
//   PH5 In a forked child nothing of the store is touched, not even its locks: another process's
//       threads had them. It is left lying in memory.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "python/native/errors.h"

namespace hexad::python {

// How many fork() calls lie between the process that loaded this module and this one.
std::uint64_t forks_before_this();

// What ends with the store that it belongs to.
class Stream {
 public:
  virtual ~Stream() = default;
  // Lets go of the engine's part. Any thread, any number of times, with or without the GIL.
  virtual void end() = 0;
};

class StoreHandle {
 public:
  explicit StoreHandle(Store store);
  // Waits for commits in flight, without a checkpoint. With the GIL, which it gives away meanwhile.
  ~StoreHandle();
  StoreHandle(const StoreHandle&) = delete;
  StoreHandle& operator=(const StoreHandle&) = delete;

  // Calls body(store) without the GIL, from any thread that has it. Fails with kClosed, kForked.
  template <typename Body>
  auto run(Body&& body) {
    const Call call(*this);
    const nanobind::gil_scoped_release unlocked;
    return std::forward<Body>(body)(*store_);
  }

  // The same with the GIL, for what never waits: giving it away and taking it back costs more than
  // such a call, and lets a thread that computes in Python have it for milliseconds.
  template <typename Body>
  auto run_at_once(Body&& body) {
    const Call call(*this);
    return std::forward<Body>(body)(*store_);
  }

  // From now on run() refuses. The first one waits for what has begun, closes and lets go of the
  // devices; others wait for it. Without the GIL.
  Status close();
  bool closed() const { return closed_.load(); }
  // close() waits for calls that have begun: long ones end early.
  bool closing() const { return closing_.load(); }
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
    void end();

    StoreHandle& handle_;
  };

  const std::uint64_t forks_ = forks_before_this();
  Store* store_;  // owned; a raw pointer, so that it can be left lying (PH5)
  std::mutex mutex_;
  // By pointer, to be left lying, too: destroying one that has waiters waits for them.
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  // A call counts itself and looks whether the store is closing, close() the other way round: one
  // of the two sees the other.
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<bool> closing_ = false;
  std::atomic<bool> closed_ = false;
  std::vector<std::weak_ptr<Stream>> streams_;
};

}  // namespace hexad::python
