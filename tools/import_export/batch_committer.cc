#include "tools/import_export/batch_committer.h"

#include <utility>

namespace hexad::tools {

namespace {

void add(BatchCommitter::Counts& to, const BatchCommitter::Counts& counts) {
  to.objects += counts.objects;
  to.bytes += counts.bytes;
  to.metadata += counts.metadata;
}

}  // namespace

BatchCommitter::BatchCommitter(Store& store, io::Executor& executor)
    : store_(store), open_(std::make_shared<Batch>()), mutex_(executor), changed_(executor) {}

BatchCommitter::~BatchCommitter() { wait_for_in_flight(0); }

ByteView BatchCommitter::keep(Bytes data) {
  open_->payloads.push_back(std::move(data));
  return open_->payloads.back();
}

Status BatchCommitter::added(const Counts& counts) {
  add(open_->counts, counts);
  const bool full = open_->counts.bytes >= kMaxBatchBytes ||
                    open_->counts.objects >= kMaxBatchObjects ||
                    open_->counts.metadata >= kMaxBatchMetadata;
  return full ? submit() : ok_status();
}

Status BatchCommitter::submit() {
  if (open_->transaction.empty()) return {};
  const std::shared_ptr<Batch> batch = std::exchange(open_, std::make_shared<Batch>());
  wait_for_in_flight(kMaxInFlight - 1);
  {
    const io::Lock lock(mutex_);
    if (!first_error_.ok()) return first_error_;
    ++in_flight_;
  }
  store_.submit(std::move(batch->transaction),
                [this, batch](const Result<Lsn>& result) { completed(*batch, result.status()); });
  return {};
}

Status BatchCommitter::commit_alone(Transaction&& transaction, const Counts& counts) {
  HEXAD_TRY(submit());
  HEXAD_TRY(store_.commit(std::move(transaction)).status());
  const io::Lock lock(mutex_);
  add(acknowledged_, counts);
  return {};
}

void BatchCommitter::completed(const Batch& batch, const Status& status) {
  const io::Lock lock(mutex_);
  --in_flight_;
  if (status.ok()) {
    add(acknowledged_, batch.counts);
  } else if (first_error_.ok()) {
    first_error_ = status;
  }
  // Under the lock: the committer may be gone as soon as it is released.
  changed_.notify_all();
}

void BatchCommitter::wait_for_in_flight(std::uint64_t at_most) {
  io::Lock lock(mutex_);
  changed_.wait(lock, [&] { return in_flight_ <= at_most; });
}

Status BatchCommitter::finish() {
  const Status status = submit();
  wait_for_in_flight(0);
  const io::Lock lock(mutex_);
  return first_error_.ok() ? status : first_error_;
}

BatchCommitter::Counts BatchCommitter::acknowledged() {
  const io::Lock lock(mutex_);
  return acknowledged_;
}

}  // namespace hexad::tools
