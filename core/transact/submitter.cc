#include "core/transact/submitter.h"

#include <optional>
#include <utility>

#include "base/units.h"
#include "io/no_unwinding.h"
#include "io/recall.h"

namespace hexad::core {

Submitter::Submitter(const Parts& parts)
    : parts_(parts),
      budget_(parts.executor, parts.options.max_in_flight,
              [&sealing = parts.sealing] { return sealing.seal_now(); }) {}

void Submitter::seal_soon() {
  if (parts_.sealing.want()) parts_.jobs.wake(parts_.sealing);
}

Status Submitter::sync() {
  if (parts_.gate.is_closed()) return parts_.gate.check();
  const Lsn last = parts_.pipeline.stopped().has_value() ? parts_.pipeline.durable()
                                                         : Lsn{parts_.pipeline.next_lsn() - 1};
  Status durable = parts_.pipeline.wait_durable(last);
  HEXAD_TRY(parts_.gate.lost_buffered());
  return durable;
}

// Before anything is done for it.
Status Submitter::acceptable(const Transaction& transaction, Durability durability) const {
  if (const Status ready = parts_.gate.check(); !ready.ok())
    return parts_.gate.told(ready.error(), durability);
  HEXAD_TRY(transaction.problem());
  const std::uint64_t payload = transaction.payload_bytes();
  if (payload > parts_.options.max_transaction) {
    return Error{ErrorCode::kTooBig,
                 "a transaction of " + format_size(payload) + ", the limit is " +
                     format_size(parts_.options.max_transaction),
                 "Write large objects with Store::open_writer() and publish them together."};
  }
  for (const TransactionOp& op : transaction.ops()) {
    if (op.staged == nullptr || op.staged->home.get() == &parts_.home) continue;
    return Error{ErrorCode::kInvalidArgument,
                 "publish of \"" + printable(op.collection) + "/" + printable(op.name) +
                     "\": the writer is of another store",
                 "Publish it in a transaction that is committed to the store that opened it."};
  }
  return {};
}

Result<Lsn> Submitter::commit(Transaction&& transaction, const CommitOptions& options) {
  const Durability durability = options.durability;
  HEXAD_TRY(acceptable(transaction, durability));
  const std::uint64_t payload = transaction.payload_bytes();
  const io::Nanos began = parts_.executor.clock().now();
  HEXAD_TRY_ASSIGN(const std::shared_ptr<void> budget, budget_.take(payload));
  const io::Nanos admitted = parts_.executor.clock().now();
  const bool buffered = durability == Durability::kBuffered;
  Lsn depends_on = 0;
  Lsn lsn = 0;
  // Whoever is told kExhausted is told that nothing has happened.
  std::optional<io::NoUnwinding> none;
  const Status status = [&]() -> Status {
    HEXAD_TRY_ASSIGN(PreparedOps prepared, parts_.preparer.prepare(transaction));
    Submission submission;
    submission.began = began;
    submission.admitted = admitted;
    submission.durability = durability;
    // What is buffered, or may be left, stays in memory until it is durable.
    if (buffered || io::Recall::here() != nullptr) submission.budget = budget;
    Submission* kept = &submission;
    HEXAD_TRY(parts_.committer.sequence(transaction, prepared, *kept, &depends_on));
    none.emplace("the answer of a commit");
    lsn = submission.lsn;
    if (!buffered) return parts_.pipeline.wait_durable(lsn, LsnWaiters::Until::kAnswered);
    HEXAD_TRY(parts_.pipeline.make_visible(lsn));
    return {};
  }();
  if (status.ok()) {
    if (buffered) {
      parts_.counters.add(CounterId::kTransactionsBuffered);
      parts_.pipeline.pump_beside();
      seal_soon();
    }
    parts_.counters.add(CounterId::kBytesWritten, transaction.written_bytes());
    return lsn;
  }
  // It has been left, and goes on.
  if (lsn > 0 && io::Recall::has_come() && !parts_.pipeline.stopped().has_value()) {
    io::Recall::note_left_commit();
    return status.error();
  }
  parts_.counters.add(CounterId::kTransactionsFailed);
  if (depends_on > 0) {
    if (!buffered) parts_.pipeline.hurry(depends_on);
    HEXAD_TRY(buffered ? parts_.pipeline.make_visible(depends_on)
                       : parts_.pipeline.wait_durable(depends_on, LsnWaiters::Until::kAnswered));
  }
  return parts_.gate.told(status.error(), durability);
}

void Submitter::submit(Transaction&& transaction, const CommitCallback& done,
                       const CommitOptions& options) {
  const auto fail = [this](const CommitCallback& callback, const Error& error) {
    const io::Task task = [callback, error] { callback(error); };
    parts_.pipeline.post(task);
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
  submission.began = parts_.executor.clock().now();
  Result<std::shared_ptr<void>> budget = budget_.take(payload);
  if (!budget.ok()) {
    fail(done, budget.error());
    return;
  }
  submission.budget = std::move(budget).value();
  submission.admitted = parts_.executor.clock().now();
  submission.durability = durability;
  const CommitCallback finish = [this, kept, done](Result<Lsn> result) {
    parts_.counters.add(result.ok() ? CounterId::kBytesWritten : CounterId::kTransactionsFailed,
                        result.ok() ? kept->written_bytes() : 1);
    done(std::move(result));
  };
  if (!buffered) submission.done = finish;
  Lsn depends_on = 0;
  Result<PreparedOps> prepared = parts_.preparer.prepare(*kept);
  Status status = prepared.ok()
                      ? parts_.committer.sequence(*kept, *prepared, submission, &depends_on)
                      : prepared.status();
  std::optional<io::NoUnwinding> none;
  if (status.ok()) none.emplace("the answer of a commit");
  if (buffered && status.ok()) {
    status = parts_.pipeline.make_visible(submission.lsn);
  } else if (buffered && depends_on > 0) {
    const Status visible = parts_.pipeline.make_visible(depends_on);
    if (!visible.ok()) status = visible;
    depends_on = 0;
  } else if (!status.ok() && depends_on == 0) {
    status = parts_.gate.told(status.error(), durability);
  }
  if (buffered && status.ok()) {
    parts_.counters.add(CounterId::kTransactionsBuffered);
    parts_.pipeline.post([finish, lsn = submission.lsn] { finish(lsn); });
    parts_.pipeline.pump_beside();
    seal_soon();
  } else if (status.ok()) {
    parts_.pipeline.pump();
  } else if (depends_on > 0) {
    parts_.pipeline.pump();
    parts_.pipeline.when_durable(depends_on,
                                 [finish, error = status.error()](const Status& durable) {
                                   finish(durable.ok() ? error : durable.error());
                                 });
  } else {
    fail(finish, status.error());
  }
}

}  // namespace hexad::core
