#include "core/transact/plan_rehearsal.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/record/keys.h"
#include "core/transact/attempt.h"

namespace hexad::core {

namespace {

// One state of the metadata, as a plan reads it, without the sequencer's lock: it waits for
// devices, and notes what it was asked for. Others commit meanwhile, and a plan takes it for a fact
// that what it reads fits together.
class Rehearsal final : public PlanSource {
 public:
  Rehearsal(MetaView& view, std::vector<std::string>& keys) : view_(view), keys_(keys) {}

  Result<std::optional<std::string>> get(std::string_view key) override {
    keys_.emplace_back(key);
    return view_.get(key);
  }
  Status scan(std::string_view prefix, const Visit& visit) override {
    return scan_from(prefix, prefix, visit);
  }
  Status scan_from(std::string_view prefix, std::string_view from, const Visit& visit) override {
    return NewestState::scan_view(view_, prefix, from, visit, walked_);
  }

 private:
  MetaView& view_;
  std::vector<std::string>& keys_;
  MetadataWalk walked_ = {kMostDeleted};
};

// What other threads change of prepared ops under the sequencer's lock, in the place of which the
// ops have it as it was for a while: made under that lock, ends without it.
class SharedParts {
 public:
  explicit SharedParts(PreparedOps& prepared) : prepared_(prepared) {
    for (std::size_t i = 0; i < prepared.size(); ++i) {
      PreparedOp& op = prepared[i];
      if (op.counted == nullptr && op.copied == nullptr) continue;
      own_.push_back({i, op.counted, op.copied});
      if (op.counted != nullptr) op.counted = std::make_shared<CountedNames>(*op.counted);
      if (op.copied != nullptr) op.copied = as_it_is(*op.copied);
    }
  }
  ~SharedParts() {
    for (Own& own : own_) {
      prepared_[own.op].counted = std::move(own.counted);
      prepared_[own.op].copied = std::move(own.copied);
    }
  }
  SharedParts(const SharedParts&) = delete;
  SharedParts& operator=(const SharedParts&) = delete;

 private:
  struct Own {
    std::size_t op = 0;
    std::shared_ptr<CountedNames> counted;
    std::shared_ptr<CopiedPages> copied;
  };
  // With more stale pages than a transaction copies itself it is of no use, as if it were lost.
  static std::shared_ptr<CopiedPages> as_it_is(const CopiedPages& copied) {
    auto now = std::make_shared<CopiedPages>();
    now->from = copied.from;
    now->to = copied.to;
    now->range = copied.range;
    now->until = copied.until;
    now->lost = copied.lost || copied.stale.size() > kFewStalePages;
    if (!now->lost) now->stale = copied.stale;
    return now;
  }

  PreparedOps& prepared_;
  std::vector<Own> own_;
};

// The attempt before has named blobs by the LSN that it would have had, and given some of them
// places, both of which others have by now perhaps. These nobody has.
void name_blobs(const Transaction& transaction, PreparedOps& prepared, Lsn lsn) {
  constexpr alloc::ZoneId kNoZone = ~alloc::ZoneId{0};
  std::uint32_t index = 0;
  std::uint32_t unit = 1;
  for (PayloadPiece* piece : blob_pieces(transaction, prepared)) {
    Blob& blob = piece->prepared.blob;
    if (piece->prepared.is_unplaced()) {
      blob.log = {lsn, index};
    } else {
      blob.where = {kNoZone, unit, piece->prepared.units};
      unit += piece->prepared.units;
    }
    ++index;
  }
}

}  // namespace

Status PlanRehearsal::warm_names(const Transaction& transaction, WarmKeys& warm) {
  std::map<std::string_view, std::optional<CollectionRecord>> collections;
  std::vector<std::string> keys;
  const auto add = [&](const std::string& collection, const std::string& name) -> Status {
    auto known = collections.find(collection);
    if (known == collections.end()) {
      known = collections.emplace(collection, std::nullopt).first;
      HEXAD_TRY_ASSIGN(const auto value, parts_.metadata.get_latest(collection_key(collection)));
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
  return parts_.metadata.warm(keys, warm);
}

void PlanRehearsal::rehearse(const Transaction& transaction, PreparedOps& prepared,
                             WarmKeys& warm) {
  const ReadPins::Pin pin = parts_.reads.pin_visible();  // YB4 of core/space/log_blobs.h
  Lsn lsn = 0;
  std::unique_ptr<MetaView> view;
  std::optional<SharedParts> shared;
  {
    if (!parts_.order.sequencer.lock_unless_recalled()) return;
    const SequencerLock lock(parts_.order.sequencer, std::adopt_lock);
    lsn = parts_.pipeline.next_lsn();
    Result<std::unique_ptr<MetaView>> newest = parts_.metadata.view(lsn - 1);
    if (!newest.ok()) return;
    view = std::move(newest).value();
    shared.emplace(prepared);
  }
  name_blobs(transaction, prepared, lsn);
  BodyId bodies = 0;
  PlanContext context = parts_.basis.context(lsn);
  // Nothing of the plan is kept.
  context.new_body = [&bodies] { return ~BodyId{0} - ++bodies; };
  std::vector<std::string> keys;
  Rehearsal source(*view, keys);
  // What is wrong with the transaction, or with the index, its next attempt says.
  plan_transaction(transaction, prepared, context, source).status().ignore();
  view.reset();  // a thread has one reader at a time
  parts_.metadata.warm(keys, warm).ignore();
}

}  // namespace hexad::core
