// Says what a verb waits for, when it waits long: a disk that does not answer, say.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/executor.h"

namespace hexad::tools {

class WaitWatch {
 public:
  // Both are called on a thread of the watch, and outlive it. `waits`: asked every second what
  // there is to wait for, a sentence each. `say`: told each of them when there are any, and as long
  // as there are, again after 2, 4, 8, ... seconds. Where the system refuses the thread nothing is
  // said.
  WaitWatch(io::Executor& executor, std::function<std::vector<std::string>()> waits,
            std::function<void(const std::string&)> say);
  WaitWatch(const WaitWatch&) = delete;
  WaitWatch& operator=(const WaitWatch&) = delete;
  ~WaitWatch();

 private:
  void watch();

  io::Executor& executor_;
  const std::function<std::vector<std::string>()> waits_;
  const std::function<void(const std::string&)> say_;
  io::Mutex mutex_;
  io::CondVar over_changed_;
  bool over_ = false;  // guarded by mutex_
  std::unique_ptr<io::Thread> thread_;
};

}  // namespace hexad::tools
