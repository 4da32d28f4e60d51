// std::mutex as a lock that the thread safety analysis knows (base/thread_annotations.h): for what
// is never part of a simulation. Everything else takes io::Mutex (io/executor.h).
#pragma once

#include <mutex>

#include "base/thread_annotations.h"

namespace hexad {

class HEXAD_CAPABILITY("mutex") OsMutex : public std::mutex {
 public:
  void lock() HEXAD_ACQUIRE() { std::mutex::lock(); }
  bool try_lock() HEXAD_TRY_ACQUIRE(true) { return std::mutex::try_lock(); }
  void unlock() HEXAD_RELEASE() { std::mutex::unlock(); }
};

// std::condition_variable waits with it. What is waited for is said by a lambda that requires the
// mutex, or looked at in a loop.
class HEXAD_SCOPED_CAPABILITY OsLock : public std::unique_lock<std::mutex> {
 public:
  explicit OsLock(OsMutex& mutex) HEXAD_ACQUIRE(mutex) : unique_lock(mutex) {}
  ~OsLock() HEXAD_RELEASE() = default;
  OsLock(const OsLock&) = delete;
  OsLock& operator=(const OsLock&) = delete;

  void lock() HEXAD_ACQUIRE() { unique_lock::lock(); }
  void unlock() HEXAD_RELEASE() { unique_lock::unlock(); }
};

}  // namespace hexad
