// What a store should hold, in plain maps: the naive reading of core/api/transaction.h, op by op.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/api/transaction.h"
#include "core/store.h"
#include "io/rng.h"
#include "tests/core/omap_model.h"

namespace hexad::testing {

struct ModelObject {
  std::shared_ptr<const std::string> data = std::make_shared<const std::string>();
  Attributes attributes;
  Lsn version = 0;
  Hint hint = Hint::kNone;
  ModelOmapRef omap;
  bool changed = false;  // by the transaction that is being applied
};

// What an ObjectWriter was given.
struct ModelStream {
  std::shared_ptr<const std::string> data = std::make_shared<const std::string>();
  Attributes attributes;
  std::optional<Hint> hint;
};

struct Model {
  using Objects = std::map<std::string, ModelObject>;
  std::map<std::string, Objects> collections;
  std::map<std::string, Quota> quotas;
  std::map<std::string, compression::Policy> policies;  // those that were set
  // What the writers hold that transactions to come publish.
  std::map<const core::StagedObject*, ModelStream> streams;

  // Applies all ops or none. Nothing when all went well; then stamp() gives the changed objects
  // their version.
  std::optional<ErrorCode> apply(const Transaction& transaction);
  void stamp(Lsn lsn);
  // One op that is no guard, without a look at quotas. When it fails nothing has changed.
  std::optional<ErrorCode> apply_op(const TransactionOp& op);
  // Precondition: the op is a guard.
  bool holds(const TransactionOp& op) const;

  const ModelObject* find(const std::string& collection, const std::string& name) const;
  std::uint64_t bytes_of(const std::string& collection) const;

 private:
  static std::optional<ErrorCode> split(const TransactionOp& op, Objects& from, Objects& to);
  std::optional<ErrorCode> merge(const TransactionOp& op, Objects& from, Objects& into);
  // Of the state after a transaction that made the collections in `made`.
  bool within_quotas(const Model& before, const std::set<std::string>& made) const;
};

// The page that a listing should give.
ListPage list_of(const Model::Objects& objects, const ListOptions& options);

// Compares everything there is, data, attributes, versions, listings. "" or the first thing that
// differs. `rng` picks ranges to read and pages to list.
std::string difference(Store& store, const Model& model, io::Rng& rng);
// Of one object, there or not.
std::string object_difference(Store& store, const Model& model, const std::string& collection,
                              const std::string& name, io::Rng& rng);

}  // namespace hexad::testing
