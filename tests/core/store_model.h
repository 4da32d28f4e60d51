// What a store should hold, in plain maps: the naive reading of core/transaction.h, op by op.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/store.h"
#include "core/transaction.h"
#include "io/rng.h"

namespace hexad::testing {

struct ModelObject {
  std::shared_ptr<const std::string> data = std::make_shared<const std::string>();
  Attributes attributes;
  Lsn version = 0;
  Hint hint = Hint::kNone;
  bool changed = false;  // by the transaction that is being applied
};

struct Model {
  using Objects = std::map<std::string, ModelObject>;
  std::map<std::string, Objects> collections;
  std::map<std::string, Quota> quotas;
  std::map<std::string, compression::Policy> policies;  // those that were set

  // Applies all ops or none. Nothing when all went well; then stamp() gives the changed objects
  // their version.
  std::optional<ErrorCode> apply(const Transaction& transaction);
  void stamp(Lsn lsn);

  std::uint64_t bytes_of(const std::string& collection) const;

 private:
  std::optional<ErrorCode> apply_op(const TransactionOp& op);
  // Of the state after a transaction that made the collections in `made`.
  bool within_quotas(const Model& before, const std::set<std::string>& made) const;
};

// The page that a listing should give.
ListPage list_of(const Model::Objects& objects, const ListOptions& options);

// Compares everything there is, data, attributes, versions, listings; fails the test with what
// differs. `rng` picks ranges to read and pages to list.
void require_equal(Store& store, const Model& model, io::Rng& rng);

}  // namespace hexad::testing
