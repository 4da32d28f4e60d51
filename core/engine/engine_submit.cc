// How transactions come in and are answered: commit(), submit(), sync().
#include <optional>
#include <utility>

#include "base/refused_memory.h"
#include "core/engine/engine.h"
#include "io/no_unwinding.h"
#include "io/recall.h"

namespace hexad::core {

void Engine::seal_soon() {
  if (seal_job_->want()) jobs_->wake(*seal_job_);
}

Status Engine::lost_buffered() const {
  const std::optional<Lane::Lost> lost = lane_->lost_buffered();
  if (!lost.has_value()) return {};
  return Error{ErrorCode::kIo,
               "the store has turned read-only before commits were durable that may have been "
               "answered: LSN " +
                   std::to_string(lost->first) + " to " + std::to_string(lost->last) +
                   " may be lost (" + lane_->stopped()->message + ")",
               "Close the store, check its devices, open it again, and see which are there."};
}

// A durable commit that is refused is the first to learn of lost buffered ones, for all it knows.
Error Engine::told(const Error& error, Durability durability) const {
  const bool stopped = error.code == ErrorCode::kReadOnly || error.code == ErrorCode::kFenced;
  if (!stopped || durability != Durability::kDurable) return error;
  if (lane_ == nullptr) return error;
  const Status lost = lost_buffered();
  return lost.ok() ? error : lost.error();
}

Status Engine::sync() {
  if (lane_ == nullptr) return {};
  if (closing_.is_closed()) return writable();
  const Lsn last = lane_->stopped().has_value() ? lane_->durable() : Lsn{lane_->next_lsn() - 1};
  Status durable = lane_->wait_durable(last);
  HEXAD_TRY(lost_buffered());
  return durable;
}

// Before anything is done for it.
Status Engine::acceptable(const Transaction& transaction, Durability durability) const {
  if (const Status ready = writable(); !ready.ok()) return told(ready.error(), durability);
  HEXAD_TRY(transaction.problem());
  const std::uint64_t payload = transaction.payload_bytes();
  if (payload > parts_.options.max_transaction) {
    return Error{ErrorCode::kTooBig,
                 "a transaction of " + format_size(payload) + ", the limit is " +
                     format_size(parts_.options.max_transaction),
                 "Write large objects with Store::open_writer() and publish them together."};
  }
  for (const TransactionOp& op : transaction.ops()) {
    if (op.staged == nullptr || op.staged->home == home_) continue;
    return Error{ErrorCode::kInvalidArgument,
                 "publish of \"" + printable(op.collection) + "/" + printable(op.name) +
                     "\": the writer is of another store",
                 "Publish it in a transaction that is committed to the store that opened it."};
  }
  return {};
}

Result<Lsn> Engine::commit(Transaction&& transaction, const CommitOptions& options) {
  const Durability durability = options.durability;
  HEXAD_TRY(acceptable(transaction, durability));
  const std::uint64_t payload = transaction.payload_bytes();
  const io::Nanos began = executor().clock().now();
  HEXAD_TRY_ASSIGN(const std::shared_ptr<void> budget, budget_->take(payload));
  const io::Nanos admitted = executor().clock().now();
  const bool buffered = durability == Durability::kBuffered;
  Lsn rests_on = 0;
  Lsn lsn = 0;
  // Whoever is told kExhausted is told that nothing has happened.
  std::optional<io::NoUnwinding> none;
  const Status status = [&]() -> Status {
    HEXAD_TRY_ASSIGN(PreparedOps prepared, prepare(transaction));
    Submission submission;
    submission.began = began;
    submission.admitted = admitted;
    submission.durability = durability;
    // What is buffered, or may be left, stays in memory until it is durable.
    if (buffered || io::Recall::here() != nullptr) submission.budget = budget;
    Submission* kept = &submission;
    HEXAD_TRY(sequence(transaction, prepared, *kept, &rests_on));
    none.emplace("the answer of a commit");
    lsn = submission.lsn;
    if (!buffered) return lane_->wait_durable(lsn, LsnWaiters::Until::kAnswered);
    HEXAD_TRY(lane_->make_visible(lsn));
    return {};
  }();
  if (status.ok()) {
    if (buffered) {
      parts_.counters->add(CounterId::kTransactionsBuffered);
      lane_->pump_beside();
      seal_soon();
    }
    parts_.counters->add(CounterId::kBytesWritten, transaction.written_bytes());
    return lsn;
  }
  // It has been left, and goes on.
  if (lsn > 0 && io::Recall::has_come() && !lane_->stopped().has_value()) {
    io::Recall::note_left_commit();
    return status.error();
  }
  parts_.counters->add(CounterId::kTransactionsFailed);
  if (rests_on > 0) {
    if (!buffered) lane_->hurry(rests_on);
    HEXAD_TRY(buffered ? lane_->make_visible(rests_on)
                       : lane_->wait_durable(rests_on, LsnWaiters::Until::kAnswered));
  }
  return told(status.error(), durability);
}

void Engine::submit(Transaction&& transaction, const CommitCallback& done,
                    const CommitOptions& options) {
  // There is no other thread that could tell of these.
  Status submitted = here();
  if (submitted.ok()) {
    submitted = without_bad_alloc([&]() -> Status {
      submit_here(std::move(transaction), done, options);
      return {};
    });
  }
  if (!submitted.ok()) done(submitted.error());
}

// What it throws, it throws before `done` may have run, and before anything has a place.
void Engine::submit_here(Transaction&& transaction, const CommitCallback& done,
                         const CommitOptions& options) {
  const auto fail = [this](const CommitCallback& callback, const Error& error) {
    const io::Task task = [callback, error] { callback(error); };
    if (lane_ == nullptr) {
      executor().post(task);
    } else {
      lane_->post(task);
    }
  };
  const Durability durability = options.durability;
  const bool buffered = durability == Durability::kBuffered;
  if (const Status ready = acceptable(transaction, durability); !ready.ok()) {
    fail(done, ready.error());
    return;
  }
  const std::uint64_t payload = transaction.payload_bytes();
  // Shared with the callback, which outlives this call: it may have borrowed payloads.
  auto kept = std::make_shared<Transaction>(std::move(transaction));
  Submission submission;
  submission.began = executor().clock().now();
  Result<std::shared_ptr<void>> budget = budget_->take(payload);
  if (!budget.ok()) {
    fail(done, budget.error());
    return;
  }
  submission.budget = std::move(budget).value();
  submission.admitted = executor().clock().now();
  submission.durability = durability;
  const CommitCallback finish = [this, kept, done](Result<Lsn> result) {
    parts_.counters->add(result.ok() ? CounterId::kBytesWritten : CounterId::kTransactionsFailed,
                         result.ok() ? kept->written_bytes() : 1);
    done(std::move(result));
  };
  if (!buffered) submission.done = finish;
  Lsn rests_on = 0;
  Result<PreparedOps> prepared = prepare(*kept);
  Status status =
      prepared.ok() ? sequence(*kept, *prepared, submission, &rests_on) : prepared.status();
  std::optional<io::NoUnwinding> none;
  if (status.ok()) none.emplace("the answer of a commit");
  if (buffered && status.ok()) {
    status = lane_->make_visible(submission.lsn);
  } else if (buffered && rests_on > 0) {
    const Status visible = lane_->make_visible(rests_on);
    if (!visible.ok()) status = visible;
    rests_on = 0;
  } else if (!status.ok() && rests_on == 0) {
    status = told(status.error(), durability);
  }
  if (buffered && status.ok()) {
    parts_.counters->add(CounterId::kTransactionsBuffered);
    lane_->post([finish, lsn = submission.lsn] { finish(lsn); });
    lane_->pump_beside();
    seal_soon();
  } else if (status.ok()) {
    lane_->pump();
  } else if (rests_on > 0) {
    lane_->pump();
    lane_->when_durable(rests_on, [finish, error = status.error()](const Status& durable) {
      finish(durable.ok() ? error : durable.error());
    });
  } else {
    fail(finish, status.error());
  }
}

}  // namespace hexad::core
