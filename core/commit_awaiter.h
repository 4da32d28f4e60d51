// Commits from coroutines: what Store::commit_async() returns.
//
//   hexad::Result<hexad::Lsn> lsn = co_await store.commit_async(std::move(transaction));
//
// The transaction is submitted when it is awaited.
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

// Is called once with the coroutine when the commit has its result, on a thread of the store; it
// resumes the coroutine, now or later, on that thread or another one.
using ResumeOn = std::function<void(std::coroutine_handle<>)>;

// The awaitable that Store::commit_async() returns; one coroutine awaits it, once.
//
// The transaction is submitted when it is awaited. The coroutine resumes on a thread of the store,
// where a callback of Store::submit() would run, or where ResumeOn takes it. The coroutine must not
// be destroyed while it waits, and the store must not be either.
//
// Cost: the awaiter is part of the frame of the coroutine, and allocates nothing besides what
// Store::submit() does.
class [[nodiscard]] CommitAwaiter {
 public:
  // Makes an awaiter of a transaction that is not submitted yet. For Store::commit_async(); the
  // engine has to outlive it.
  CommitAwaiter(core::Engine& engine, Transaction&& transaction, const CommitOptions& options,
                ResumeOn resume_on)
      : engine_(engine),
        transaction_(std::move(transaction)),
        options_(options),
        resume_on_(std::move(resume_on)) {}
  CommitAwaiter(const CommitAwaiter&) = delete;
  CommitAwaiter& operator=(const CommitAwaiter&) = delete;

  // Returns false: the transaction is submitted only when it is awaited.
  bool await_ready() const noexcept { return false; }
  // Submits the transaction; the coroutine may be resumed before this returns.
  void await_suspend(std::coroutine_handle<> waiting);
  // Returns the result of Store::commit(), moved out of the awaiter.
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
