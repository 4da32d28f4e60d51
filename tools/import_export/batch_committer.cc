#include "tools/import_export/batch_committer.h"

namespace hexad::tools {

BatchCommitter::BatchCommitter(Store& store, io::Executor& executor)
    : store_(store), open_(std::make_shared<Batch>()), mutex_(executor), changed_(executor) {}

BatchCommitter::~BatchCommitter() { wait_for_in_flight(0); }

Status BatchCommitter::put(const Object& object, Bytes data) {
  Batch& batch = *open_;
  batch.counts.objects += 1;
  batch.counts.bytes += data.size();
  batch.payloads.push_back(std::move(data));
  batch.transaction.put_borrowed(object.collection, object.name, batch.payloads.back());
  set_attributes(object);
  const bool full =
      batch.counts.bytes >= kMaxBatchBytes || batch.counts.objects >= kMaxBatchObjects;
  return full ? submit() : ok_status();
}

Status BatchCommitter::publish(const Object& object, ObjectWriter& writer) {
  open_->counts.objects += 1;
  open_->counts.bytes += writer.size();
  open_->transaction.publish(writer);
  set_attributes(object);
  return submit();
}

void BatchCommitter::set_attributes(const Object& object) {
  for (const auto& [name, value] : object.attributes) {
    open_->transaction.set_attr(object.collection, object.name, name, value);
  }
}

Status BatchCommitter::submit() {
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

void BatchCommitter::completed(const Batch& batch, const Status& status) {
  const io::Lock lock(mutex_);
  --in_flight_;
  if (status.ok()) {
    acknowledged_.objects += batch.counts.objects;
    acknowledged_.bytes += batch.counts.bytes;
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
  Status status;
  if (!open_->transaction.empty()) status = submit();
  wait_for_in_flight(0);
  const io::Lock lock(mutex_);
  return first_error_.ok() ? status : first_error_;
}

BatchCommitter::Acknowledged BatchCommitter::acknowledged() {
  const io::Lock lock(mutex_);
  return acknowledged_;
}

}  // namespace hexad::tools
