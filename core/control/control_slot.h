// Whether an open store has a control socket, and why not.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/thread_annotations.h"
#include "core/api/types.h"
#include "core/control/control_server.h"
#include "io/executor.h"

namespace hexad::core {

// Any thread.
class ControlSlot {
 public:
  // `executor` outlives it.
  explicit ControlSlot(io::Executor& executor) : mutex_(executor) {}

  // Null: there is none.
  std::shared_ptr<ControlServer> server();
  // Makes one, unless there is one. `may_serve` and `make` are called under the lock, which whoever
  // asks for the server meanwhile waits for. Errors: theirs; that of `make` is shown from then on.
  Status serve(const std::function<Status()>& may_serve,
               const std::function<Result<std::shared_ptr<ControlServer>>()>& make);
  // Where others may ask, or why nowhere, and the scrub that they have asked for.
  void show(StoreStatus& status);
  // Waits for the step that an answer or a scrub is at.
  void end();

 private:
  io::Mutex mutex_;
  std::shared_ptr<ControlServer> server_ HEXAD_GUARDED_BY(mutex_);
  std::string why_none_ HEXAD_GUARDED_BY(mutex_);  // where one has been asked for
};

}  // namespace hexad::core
