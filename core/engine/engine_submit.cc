// How transactions come in and are answered: commit(), submit(), sync(), the bytes in flight, and
// the sealing of what is buffered.
#include <optional>
#include <utility>

#include "base/refused_memory.h"
#include "core/engine/engine.h"
#include "io/no_unwinding.h"

namespace hexad::core {

namespace {

// Buffered commits are sealed so long after the first of them at the latest.
constexpr io::Nanos kBufferedDelay = 10'000'000;

}  // namespace

// In the order of asking: a large transaction is not passed by small ones for ever, and the wait of
// each grows with those before it and no more.
std::shared_ptr<void> Engine::take_budget(std::uint64_t bytes) {
  io::Lock lock(budget_mutex_);
  const std::uint64_t turn = budget_next_turn_++;
  // A single larger transaction passes alone.
  const auto admitted = [&] {
    return turn == budget_turn_ &&
           (budget_used_ == 0 || budget_used_ + bytes <= parts_.options.max_in_flight);
  };
  while (!admitted()) {
    if (turn == budget_turn_ && seal_wanted_.load(std::memory_order_relaxed)) {
      // Buffered commits hold some of it until they are durable.
      lock.unlock();
      seal_wanted_.store(false, std::memory_order_relaxed);
      lane_->want_all();
      lock.lock();
      continue;
    }
    budget_changed_.wait(lock);
  }
  budget_used_ += bytes;
  ++budget_turn_;
  if (budget_turn_ != budget_next_turn_) budget_changed_.notify_all();
  lock.unlock();  // where there is no memory for it, what is returned gives back at once
  return {nullptr, [this, bytes](void*) {
            const io::Lock inner(budget_mutex_);
            budget_used_ -= bytes;
            if (budget_turn_ != budget_next_turn_) budget_changed_.notify_all();
          }};
}

void Engine::seal_soon() {
  if (seal_wanted_.exchange(true, std::memory_order_acq_rel)) return;
  const io::Lock lock(seal_mutex_);
  seal_changed_.notify_all();
}

// Whatever was buffered when it was woken is sealed kBufferedDelay later at the latest.
void Engine::sealer() {
  io::Lock lock(seal_mutex_);
  for (;;) {
    seal_changed_.wait(
        lock, [this] { return seal_stopping_ || seal_wanted_.load(std::memory_order_relaxed); });
    const io::Nanos deadline = executor().clock().now() + kBufferedDelay;
    while (!seal_stopping_) {
      const io::Nanos left = deadline - executor().clock().now();
      if (left <= 0 || !seal_changed_.wait_for(lock, left)) break;
    }
    if (seal_stopping_) return;
    lock.unlock();
    // Before what it promises: who comes now asks again.
    seal_wanted_.store(false, std::memory_order_release);
    lane_->want_all();
    lock.lock();
  }
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
  if (error.code != ErrorCode::kReadOnly || durability != Durability::kDurable) return error;
  if (lane_ == nullptr) return error;
  const Status lost = lost_buffered();
  return lost.ok() ? error : lost.error();
}

Status Engine::sync() {
  if (lane_ == nullptr) return {};
  if (closed_.load(std::memory_order_acquire)) return writable();
  const Lsn last = lane_->stopped().has_value() ? lane_->durable() : lane_->next_lsn() - 1;
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
  return {};
}

Result<Lsn> Engine::commit(Transaction&& transaction, const CommitOptions& options) {
  const Durability durability = options.durability;
  HEXAD_TRY(acceptable(transaction, durability));
  const std::uint64_t payload = transaction.payload_bytes();
  const io::Nanos began = executor().clock().now();
  const std::shared_ptr<void> budget = take_budget(payload);
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
    // What is buffered stays in memory until it is durable.
    if (buffered) submission.budget = budget;
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
  parts_.counters->add(CounterId::kTransactionsFailed);
  if (rests_on > 0) {
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
  submission.budget = take_budget(payload);
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
