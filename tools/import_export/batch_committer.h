// Many small objects per transaction, several transactions in flight.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hexad.h"
#include "io/executor.h"

namespace hexad::tools {

// One thread at a time. Memory: about kMaxInFlight + 1 batches.
class BatchCommitter {
 public:
  static constexpr std::uint64_t kMaxBatchBytes = 8 << 20;
  static constexpr std::uint64_t kMaxBatchObjects = 256;
  static constexpr std::uint64_t kMaxInFlight = 4;  // batches

  // Both outlive the committer.
  BatchCommitter(Store& store, io::Executor& executor);
  BatchCommitter(const BatchCommitter&) = delete;
  BatchCommitter& operator=(const BatchCommitter&) = delete;
  // Waits for what is in flight; what was not submitted is dropped.
  ~BatchCommitter();

  struct Object {
    std::string_view collection;
    std::string_view name;
    std::vector<std::pair<std::string, std::string>> attributes;
  };
  // The data is kept until its commit has completed. Errors: that of the first commit that failed.
  Status put(const Object& object, Bytes data);
  // Publishes the writer together with the objects collected so far, and submits.
  Status publish(const Object& object, ObjectWriter& writer);
  // Submits the rest and waits for all. Errors: that of the first commit that failed.
  Status finish();

  struct Acknowledged {
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
  };
  // What is durable by now.
  Acknowledged acknowledged();

 private:
  struct Batch {
    Transaction transaction;
    std::vector<Bytes> payloads;  // borrowed by the transaction
    Acknowledged counts;
  };

  void set_attributes(const Object& object);
  Status submit();
  void completed(const Batch& batch, const Status& status);
  void wait_for_in_flight(std::uint64_t at_most);

  Store& store_;
  std::shared_ptr<Batch> open_;
  io::Mutex mutex_;
  io::CondVar changed_;
  std::uint64_t in_flight_ = 0;  // batches; guarded by mutex_, as all below
  Acknowledged acknowledged_;
  Status first_error_;
};

}  // namespace hexad::tools
