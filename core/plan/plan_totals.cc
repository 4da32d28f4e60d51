#include "core/plan/plan_totals.h"

#include <map>
#include <memory_resource>

#include "core/record/keys.h"

namespace hexad::core {

namespace {

// Of one collection.
struct Change {
  CollectionTotals gone;  // objects that were there before and have changed, as they were
  CollectionTotals come;  // the same ones and new ones, as they are
};

// Collections that the transaction removes have no name any more.
struct Named {
  std::string text;
  Quota quota;
};

Named name_of(const PlanState& state, CollectionId id) {
  for (const auto& [name, slot] : state.collections()) {
    if (slot.current.has_value() && slot.current->id == id) {
      return {"collection " + printable(name), slot.current->quota};
    }
  }
  return {"collection number " + std::to_string(id), {}};
}

Status check_quota(const Named& collection, std::string_view what, std::uint64_t before,
                   std::uint64_t after, std::uint64_t quota) {
  if (quota == 0 || after <= quota || after <= before) return {};
  return Error{ErrorCode::kNoSpace,
               collection.text + ": " + std::to_string(after) + " " + std::string(what) +
                   ", its quota is " + std::to_string(quota) + " " + std::string(what),
               "Remove objects, or raise the quota."};
}

}  // namespace

Status plan_totals(PlanState& state, Plan& plan) {
  std::pmr::map<CollectionId, Change> changes(state.memory());
  for (const auto& [key, slot] : state.objects()) {
    if (slot.omap != 0) continue;  // is no object
    const bool was = slot.was_there();
    const bool is = slot.current != nullptr;
    const std::uint64_t size = is ? slot.current->record.size : 0;
    if (was == is && slot.original_size == size) continue;
    Change& change = changes[slot.collection];
    if (was) add_to(change.gone, slot.original_size);
    if (is) add_to(change.come, size);
  }
  for (const auto& [id, totals] : state.known_totals()) changes[id];
  for (const CollectionId id : plan.removed_whole) {
    changes.erase(id);
    plan.totals.push_back({totals_key(id), std::nullopt});
  }
  for (const auto& [id, change] : changes) {
    HEXAD_TRY_ASSIGN(const PlanState::Totals* totals, state.totals(id));
    const CollectionTotals& before = totals->before;
    const CollectionTotals& moved = totals->moved;
    const Named collection = name_of(state, id);
    if (change.gone.objects > moved.objects || change.gone.bytes > moved.bytes) {
      return Error{ErrorCode::kCorruption,
                   collection.text + ": " + std::to_string(moved.objects) + " objects and " +
                       std::to_string(moved.bytes) + " bytes are counted, and there are more",
                   "Run hexad fsck POOL --repair."};
    }
    const CollectionTotals after{moved.objects - change.gone.objects + change.come.objects,
                                 moved.bytes - change.gone.bytes + change.come.bytes};
    if (after.bytes > kMaxCollectionBytes) {
      return Error{ErrorCode::kTooBig,
                   collection.text + ": objects of " + std::to_string(after.bytes) +
                       " bytes, the limit is " + std::to_string(kMaxCollectionBytes),
                   "Sizes count with their holes. Use several collections."};
    }
    HEXAD_TRY(check_quota(collection, "objects", before.objects, after.objects,
                          collection.quota.objects));
    HEXAD_TRY(check_quota(collection, "bytes", before.bytes, after.bytes, collection.quota.bytes));
    if (after == before) continue;
    std::optional<std::string> image;
    if (after.objects > 0) image = encode_totals(after);
    plan.totals.push_back({totals_key(id), std::move(image)});
  }
  return {};
}

}  // namespace hexad::core
