// What is under way on pool threads and on threads that complete groups: the pipeline does not end
// before it is over.
//
// All under the pipeline's lock.
#pragma once

#include <cstdint>

namespace hexad::core {

class PipelineTasks {
 public:
  // Tasks that were posted and have not run yet.
  void post() { ++posted_; }
  void run() { --posted_; }
  // Threads that complete a group.
  void enter() { ++completing_; }
  void leave() { --completing_; }
  bool none() const { return posted_ == 0 && completing_ == 0; }

  // The task of pump_beside() was posted, has begun; has_pump(): between the two.
  void post_pump() { pump_posted_ = true; }
  void begin_pump() { pump_posted_ = false; }
  bool has_pump() const { return pump_posted_; }

 private:
  std::uint64_t posted_ = 0;
  std::uint64_t completing_ = 0;
  bool pump_posted_ = false;
};

}  // namespace hexad::core
