// Which states readers are looking at: space freed after the oldest of them is not reused (R9).
#pragma once

#include <functional>
#include <set>

#include "base/ids.h"
#include "io/executor.h"

namespace hexad::core {

class ReadPins {
 public:
  explicit ReadPins(io::Executor& executor) : mutex_(executor) {}

  // Holds one state until destroyed. Movable.
  class Pin {
   public:
    Pin() = default;
    Pin(Pin&& other) noexcept : pins_(other.pins_), lsn_(other.lsn_) { other.pins_ = nullptr; }
    Pin& operator=(Pin&& other) noexcept {
      std::swap(pins_, other.pins_);
      std::swap(lsn_, other.lsn_);
      return *this;
    }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin() {
      if (pins_ != nullptr) pins_->release(lsn_);
    }
    Lsn lsn() const { return lsn_; }

   private:
    friend class ReadPins;
    Pin(ReadPins* pins, Lsn lsn) : pins_(pins), lsn_(lsn) {}
    ReadPins* pins_ = nullptr;
    Lsn lsn_ = 0;
  };

  // `newest` is called under the lock, so that no reclaim() comes between choosing and pinning.
  Pin pin(const std::function<Lsn()>& newest) {
    const io::Lock lock(mutex_);
    const Lsn lsn = newest();
    lsns_.insert(lsn);
    return Pin(this, lsn);
  }
  // Calls `reclaim` with the smaller of `limit` and the oldest pinned LSN.
  void reclaim(Lsn limit, const std::function<void(Lsn)>& reclaim) {
    const io::Lock lock(mutex_);
    reclaim(lsns_.empty() || *lsns_.begin() > limit ? limit : *lsns_.begin());
  }

 private:
  void release(Lsn lsn) {
    const io::Lock lock(mutex_);
    lsns_.erase(lsns_.find(lsn));
  }

  io::Mutex mutex_;
  std::multiset<Lsn> lsns_;
};

}  // namespace hexad::core
