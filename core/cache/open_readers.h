// Who keeps an old version readable: readers of objects, so that what space they hold can be named.
//
// A reader may be open for days, and all that it could reach when it came stays where it is
// (core/cache/read_pins.h). Whoever finds the space missing is told which object, since when, and
// how much.
#pragma once

#include <iterator>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "alloc/zone_set.h"
#include "io/clock.h"
#include "io/executor.h"

namespace hexad::core {

class OpenReaders {
 public:
  struct Reader {
    std::string collection;
    std::string name;
    io::Nanos opened = 0;     // wall time
    alloc::ReadRange needed;  // what is held for it
  };

  explicit OpenReaders(io::Executor& executor) : mutex_(executor) {}

  // A reader is listed as long as this is there. Movable.
  class Entry {
   public:
    Entry() = default;
    Entry(Entry&& other) noexcept
        : readers_(std::exchange(other.readers_, nullptr)), at_(other.at_) {}
    Entry& operator=(Entry&& other) noexcept {
      std::swap(readers_, other.readers_);
      std::swap(at_, other.at_);
      return *this;
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      if (readers_ == nullptr) return;
      const io::Lock lock(readers_->mutex_);
      readers_->readers_.erase(at_);
    }

   private:
    friend class OpenReaders;
    Entry(OpenReaders* readers, std::list<Reader>::iterator at) : readers_(readers), at_(at) {}
    OpenReaders* readers_ = nullptr;
    std::list<Reader>::iterator at_;
  };

  Entry add(Reader reader) {
    std::list<Reader> one;
    one.push_back(std::move(reader));
    const io::Lock lock(mutex_);
    readers_.splice(readers_.end(), one);
    return Entry(this, std::prev(readers_.end()));
  }
  // In the order in which they were opened.
  std::vector<Reader> all() {
    const io::Lock lock(mutex_);
    return {readers_.begin(), readers_.end()};
  }

 private:
  io::Mutex mutex_;
  std::list<Reader> readers_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
