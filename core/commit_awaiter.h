// What Store::commit_async() returns: awaited at once, by one coroutine.
//
//   hexad::Result<hexad::Lsn> lsn = co_await store.commit_async(std::move(transaction));
//
// The transaction is submitted when it is awaited. The coroutine goes on where a callback of
// submit() would run, on a pool thread, or where `resume_on` takes it. It must not be destroyed
// while it waits. The awaiter lies in the coroutine's frame and allocates nothing besides what
// submit() does.
#pragma once

#include <coroutine>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/ids.h"
#include "core/api/commit_options.h"
#include "core/api/transaction.h"

namespace hexad {

namespace core {
class Engine;
}

// Called once, on a pool thread: resumes the coroutine, now or later, here or elsewhere.
using ResumeOn = std::function<void(std::coroutine_handle<>)>;

class [[nodiscard]] CommitAwaiter {
 public:
  // The engine outlives it.
  CommitAwaiter(core::Engine& engine, Transaction&& transaction, const CommitOptions& options,
                ResumeOn resume_on)
      : engine_(engine),
        transaction_(std::move(transaction)),
        options_(options),
        resume_on_(std::move(resume_on)) {}
  CommitAwaiter(const CommitAwaiter&) = delete;
  CommitAwaiter& operator=(const CommitAwaiter&) = delete;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting);
  Result<Lsn> await_resume() { return std::move(*result_); }

 private:
  core::Engine& engine_;
  Transaction transaction_;
  CommitOptions options_;
  ResumeOn resume_on_;
  std::coroutine_handle<> waiting_;
  std::optional<Result<Lsn>> result_;
};

}  // namespace hexad
