#include "core/commit_awaiter.h"

#include <utility>

#include "core/engine/engine.h"

namespace hexad {

void CommitAwaiter::await_suspend(std::coroutine_handle<> waiting) {
  waiting_ = waiting;
  const CommitOptions options = options_;
  // The coroutine may be gone, and this with it, before submit() returns.
  engine_.submit(
      std::move(transaction_),
      [this](Result<Lsn> result) {
        result_ = std::move(result);
        const std::coroutine_handle<> coroutine = waiting_;
        const ResumeOn resume_on = std::move(resume_on_);
        if (resume_on) {
          resume_on(coroutine);
        } else {
          coroutine.resume();
        }
      },
      options);
}

}  // namespace hexad
