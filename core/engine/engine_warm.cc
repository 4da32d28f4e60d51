// What a transaction will need of the metadata, read before it asks for its place in the order:
// while there is no index on the fast tier the runs are asked, which lie on the devices of the
// pool, and nobody may wait for those under the sequencer's lock (C12 of core/commit/sequencer.h).
#include <map>
#include <string>
#include <vector>

#include "core/engine/attempt.h"
#include "core/engine/engine.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

// The metadata as a plan reads it, without the sequencer's lock: it waits for devices, and what it
// has read of the index is there for the plan that counts.
class Rehearsal final : public PlanSource {
 public:
  Rehearsal(Metadata& metadata, NewestState& newest, WarmKeys& warm)
      : metadata_(metadata), newest_(newest), warm_(warm) {}

  Result<std::optional<std::string>> get(std::string_view key) override {
    const std::string own(key);
    HEXAD_TRY(metadata_.warm({&own, 1}, warm_));
    HEXAD_TRY_ASSIGN(Metadata::Peeked found, metadata_.peek_latest(key, warm_));
    if (found.known) return std::move(found.value);
    return metadata_.get_latest(key);  // a checkpoint has ended in between
  }
  Status scan(std::string_view prefix, const Visit& visit) override {
    return scan_from(prefix, prefix, visit);
  }
  Status scan_from(std::string_view prefix, std::string_view from, const Visit& visit) override {
    return newest_.scan_within(prefix, from, visit, walked_);
  }

 private:
  Metadata& metadata_;
  NewestState& newest_;  // only what wants no lock
  WarmKeys& warm_;
  MetadataWalk walked_ = {kMostDeleted};
};

}  // namespace

Status Engine::warm_names(const Transaction& transaction, WarmKeys& warm) {
  std::map<std::string_view, std::optional<CollectionRecord>> collections;
  std::vector<std::string> keys;
  const auto add = [&](const std::string& collection, const std::string& name) -> Status {
    auto known = collections.find(collection);
    if (known == collections.end()) {
      known = collections.emplace(collection, std::nullopt).first;
      HEXAD_TRY_ASSIGN(const auto value, parts_.metadata->get_latest(collection_key(collection)));
      if (value.has_value()) {
        HEXAD_TRY_ASSIGN(known->second, decode_collection(*value));
        keys.push_back(totals_key(known->second->id));
      }
    }
    if (known->second.has_value()) keys.push_back(known->second->key_of(name));
    return {};
  };
  for (const TransactionOp& op : transaction.ops()) {
    if (!op.name.empty()) HEXAD_TRY(add(op.collection, op.name));
    // Where a rename or clone goes to.
    if (!op.other_collection.empty() && !op.other.empty()) {
      HEXAD_TRY(add(op.other_collection, op.other));
    }
  }
  return parts_.metadata->warm(keys, warm);
}

void Engine::rehearse(const Transaction& transaction, const PreparedOps& prepared, WarmKeys& warm) {
  BodyId bodies = 0;
  PlanContext context;
  context.lsn = lane_->next_lsn();
  context.time = parts_.system->clock().wall_time();
  context.shape = parts_.shape->record;
  context.default_compression = parts_.compression;
  // Nothing of the plan is kept.
  context.new_body = [&bodies] { return ~BodyId{0} - ++bodies; };
  context.ranges_at_once = parts_.ranges_at_once;
  context.log_blobs = parts_.log_blobs.get();
  Rehearsal source(*parts_.metadata, newest_, warm);
  const ReadPins::Pin pin = reads_->pin_visible();  // YB4 of core/space/log_blobs.h
  // What is wrong with the transaction its next attempt says.
  plan_transaction(transaction, prepared, context, source).status().ignore();
}

}  // namespace hexad::core
