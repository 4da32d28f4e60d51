// Calls of the kernel for paths that somebody has named, which may not come back: opening a device
// on a file system that is gone, making a directory there. Nothing ends them, so whoever else wants
// to change devices is told, and so is who asks for the status.
#pragma once

#include <cstdint>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/clock.h"
#include "io/executor.h"

namespace hexad::core {

class Openings {
 public:
  // Whether who is in the call keeps others from changing devices meanwhile.
  enum class Turn : std::uint8_t { kFree, kHeld };

  explicit Openings(io::Executor& executor) : executor_(executor), mutex_(executor) {}

  // For as long as it lasts. Outlives none of the engine's parts.
  class Call {
   public:
    Call(Openings& openings, const std::string& path, Turn turn);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    struct Entry {
      std::string path;
      io::Nanos since;
      Turn turn;
    };
    friend class Openings;

    Openings& openings_;
    std::list<Entry>::iterator at_;
  };

  // Of a path that is to become a device, from before it is opened until it is one, or is nobody's
  // again: who finds it meanwhile, and made it or not, would take another one's file for its own.
  class Claim {
   public:
    Claim(Openings& openings, std::string path);
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    // Errors: kBusy (somebody else has it).
    Status check() const;

   private:
    Openings& openings_;
    const std::string path_;
    bool ours_ = false;
  };

  // Of calls that have lasted for `limit`, what to say.
  std::vector<std::string> lasting(io::Nanos limit) const;
  // Errors: kUnavailable, one that keeps others waiting has lasted for `limit`.
  Status check_turn(io::Nanos limit) const;
  bool any() const;

 private:
  static std::string describe(const Call::Entry& entry, io::Nanos now);

  io::Executor& executor_;
  mutable io::Mutex mutex_;  // a leaf
  std::list<Call::Entry> calls_ HEXAD_GUARDED_BY(mutex_);
  std::set<std::string> claimed_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
