// What a transaction has to know before it has its place in the order, found on the caller's
// thread. Guards on bytes read devices here, so that nobody waits for that under the sequencer's
// lock; the planner believes the result only if the object still has the version that was read
// (core/plan/plan_guards.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/short_list.h"
#include "compression/policy.h"
#include "core/api/transaction.h"
#include "core/blob/blob_prepare.h"
#include "core/commit/commit_pipeline.h"
#include "core/metadata/metadata.h"
#include "core/plan/prepared.h"
#include "core/read/store_reader.h"
#include "core/record/record.h"
#include "core/transact/order.h"
#include "core/transact/page_copier.h"
#include "core/transact/write_gate.h"

namespace hexad::core {

class OpPreparer {
 public:
  // All outlive it.
  struct Parts {
    Order& order;
    const WriteGate& gate;
    CommitPipeline& pipeline;
    Metadata& metadata;
    StoreReader& reads;
    const BlobPreparer& blobs;
    const compression::Policy& default_compression;  // of new collections
    PageCopier& copier;
  };
  explicit OpPreparer(const Parts& parts) : parts_(parts) {}

  Result<PreparedOps> prepare(const Transaction& transaction);
  // These ops once more. `most_units`: of a stripe.
  Status prepare_again(const Transaction& transaction, const std::vector<Redo>& redo_ops,
                       std::uint32_t most_units, PreparedOps& prepared);
  // Those once more of which some piece has a longer stripe than `most_units`.
  Status cut(const Transaction& transaction, std::uint32_t most_units, PreparedOps& prepared);

  // The hint for data that comes without one: the object's own, where the policy heeds it.
  Result<Hint> stored_hint(std::string_view collection, std::string_view name,
                           const compression::Policy& policy);

 private:
  // What the ops of one transaction have in common while they are prepared.
  struct Preparing {
    static constexpr std::size_t kMostPolicies = 4;
    // Of collections, as they are met; with more of them some are looked up again.
    ShortList<std::pair<std::string_view, compression::Policy>, kMostPolicies> policies;
    SharedCopies copies;
    std::uint32_t most_units = kAnyUnits;  // of a stripe
  };
  // The op of `how`, for its base.
  Status prepare_op(const Transaction& transaction, const Redo& how, Preparing& preparing,
                    PreparedOps& prepared);
  Result<compression::Policy> policy_of(std::string_view collection);
  // Takes hints of the transaction to the later ops that bring data for the same objects.
  static void propagate_hints(const Transaction& transaction, PreparedOps& prepared);
  // The object in the newest state, pending commits included; nothing: there is none.
  Result<std::optional<ObjectSummary>> newest_summary(std::string_view collection,
                                                      std::string_view name);
  // Until commits up to `lsn` can be read, or the store cannot be written any more.
  Status wait_until_read(Lsn lsn);
  // For a split_collection.
  Result<std::shared_ptr<CountedNames>> count_names(const TransactionOp& op);
  Result<std::shared_ptr<CountedNames>> count_names(std::vector<NameRange> ranges);
  // For an expect_bytes. May wait until commits in flight can be read.
  Result<ComparedBytes> compare_bytes(const TransactionOp& op);

  const Parts parts_;
};

}  // namespace hexad::core
