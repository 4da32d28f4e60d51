// Many small objects per transaction, several transactions in flight.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/hexad.h"
#include "io/executor.h"

namespace hexad::tools {

// Transactions are applied in the order in which they were collected, so later ops see what earlier
// ones have made. One thread at a time. Memory: about kMaxInFlight + 1 batches.
class BatchCommitter {
 public:
  static constexpr std::uint64_t kMaxBatchBytes = 8 << 20;
  static constexpr std::uint64_t kMaxBatchObjects = 256;
  // What a batch may need in its log record beside that: attributes, and where data is. A record
  // has room for it in the smallest of logs.
  static constexpr std::uint64_t kMaxBatchMetadata = 64 << 10;
  static constexpr std::uint64_t kMaxInFlight = 4;  // batches

  // Both outlive the committer.
  BatchCommitter(Store& store, io::Executor& executor);
  BatchCommitter(const BatchCommitter&) = delete;
  BatchCommitter& operator=(const BatchCommitter&) = delete;
  // Waits for what is in flight; what was not submitted is dropped.
  ~BatchCommitter();

  // What is being collected; ops may be added to it.
  Transaction& transaction() { return open_->transaction; }
  // Keeps the data for ops of transaction() that borrow it.
  ByteView keep(Bytes data);

  struct Counts {
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;     // of data
    std::uint64_t metadata = 0;  // bytes
  };
  // Says what has been added to transaction(), and submits it when it is full. Errors: that of the
  // first commit that failed.
  Status added(const Counts& counts);
  // Submits what is collected. Errors: as added().
  Status submit();
  // A transaction of its own, behind all that is collected. Returns when it is durable, with its
  // error, which does not count as one of the others.
  Status commit_alone(Transaction&& transaction, const Counts& counts);
  // Submits the rest and waits for all. Errors: that of the first commit that failed.
  Status finish();

  // What is durable by now.
  Counts acknowledged();

 private:
  struct Batch {
    Transaction transaction;
    std::vector<Bytes> payloads;  // borrowed by the transaction
    Counts counts;
  };

  void completed(const Batch& batch, const Status& status);
  void wait_for_in_flight(std::uint64_t at_most);

  Store& store_;
  std::shared_ptr<Batch> open_;
  io::Mutex mutex_;
  io::CondVar changed_;
  std::uint64_t in_flight_ = 0;  // batches; guarded by mutex_, as all below
  Counts acknowledged_;
  Status first_error_;
};

}  // namespace hexad::tools
