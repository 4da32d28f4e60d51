// Commits that are answered on the engine's threads, waiting for the one Python thread that fetches
// the answers. The engine's threads never wait for the GIL, and touch no Python object.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "python/native/changes.h"
#include "python/native/ids.h"  // IWYU pragma: keep

namespace hexad::python {

struct Completion {
  std::uint64_t token;  // what Python knows the commit by
  Result<Lsn> result;
  std::shared_ptr<Kept> kept;  // let go with the GIL held
};

class Completions {
 public:
  // Without the GIL, or with it: nothing here waits for long.
  void push(Completion completion);
  // Returns what has come, at once or when something does; nothing: stop() was called and nothing
  // is left. Without the GIL.
  std::vector<Completion> wait();
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Completion> done_;
  bool stopping_ = false;
};

void bind_completions(nanobind::module_& module);

}  // namespace hexad::python
