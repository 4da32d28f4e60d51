#include "core/plan/owners.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

// `none`: what it means that there is no record.
Result<std::uint64_t> owners_under(PlanSource& source, const std::string& key, std::uint64_t none) {
  HEXAD_TRY_ASSIGN(const auto value, source.get(key));
  if (!value.has_value()) return none;
  return decode_owners(*value);
}

Error too_few(const std::string& what, std::uint64_t before, std::int64_t change) {
  return Error{ErrorCode::kCorruption,
               what + ": " + std::to_string(before) + " owners are counted, and " +
                   std::to_string(-change) + " have gone",
               "Run hexad fsck POOL."};
}

}  // namespace

BlobOwners::Change& BlobOwners::change_of(const Blob& blob) {
  Change& change = changes_.try_emplace(blob.share, Change{blob}).first->second;
  // The place says more than the transaction.
  if (change.blob.placement == Placement::kLog) change.blob = blob;
  return change;
}

void BlobOwners::note(const ExtentList& before) {
  for (const Extent& extent : before) {
    if (extent.blob.share != 0) change_of(extent.blob).existed = true;
  }
}

void BlobOwners::mark_forwarded(Before whose, const ExtentList& before,
                                const std::vector<Blob>& added, ExtentList& now) {
  std::map<BlobId, Forward> marks;
  for (const Extent& extent : before) {
    if (extent.is_inline() || extent.blob.placement == Placement::kPrivate) continue;
    marks[extent.blob.id()] = whose == Before::kOfSameList ? extent.blob.forward : Forward::kDue;
  }
  for (const Blob& blob : added) {
    if (blob.placement == Placement::kPrivate) continue;
    const bool own = blob.placement == Placement::kLog && blob.log.lsn == own_;
    const bool first = own && owned_.insert(blob.log).second;
    marks[blob.id()] = first ? Forward::kNone : Forward::kDue;
  }
  for (Extent& extent : now) {
    if (extent.is_inline()) continue;
    const auto mark = marks.find(extent.blob.id());
    if (mark != marks.end()) extent.blob.forward = mark->second;
  }
}

void BlobOwners::give_up(const ListName& was, const ExtentList& before, LogRecord& record) {
  ExtentList nothing;
  change(was, before, {}, nothing, record);
}

void BlobOwners::keep(const ListName& name, ExtentList& list) {
  const ExtentList before = list;
  forwards_.change(name, before, name, list);
}

void BlobOwners::change(const ListName& was, const ExtentList& before, const ListName& is,
                        ExtentList& now, LogRecord& record) {
  note(before);
  for (const Blob* const blob : released_from(before, now)) {
    if (blob->share == 0) {
      add_release(record, *blob);
    } else {
      --change_of(*blob).owners;
    }
  }
  const bool any_shared = std::any_of(now.begin(), now.end(),
                                      [](const Extent& extent) { return extent.blob.share != 0; });
  const bool same_list = was == is;
  const bool renamed = !same_list && !before.empty() && !now.empty();
  if (any_shared || renamed) {
    std::vector<Blob> added;  // that others show, too
    for (Blob& blob : blobs_released(now, before)) {
      if (blob.share == 0) continue;
      ++change_of(blob).owners;
      added.push_back(std::move(blob));
    }
    mark_forwarded(same_list ? Before::kOfSameList : Before::kOfAnother, before, added, now);
  }
  forwards_.change(was, before, is, now);
}

Status BlobOwners::finish(PlanSource& source, LogRecord& record) {
  for (const auto& [share, change] : changes_) {
    if (change.owners == 0) continue;
    const std::string key = share_key(share);
    std::uint64_t before = 0;
    if (change.existed) {
      HEXAD_TRY_ASSIGN(before, owners_under(source, key, 1));
    }
    if (change.owners < 0 && before < static_cast<std::uint64_t>(-change.owners)) {
      return too_few("shared blob " + std::to_string(share), before, change.owners);
    }
    const std::uint64_t after = before + static_cast<std::uint64_t>(change.owners);
    if (after == 0) add_release(record, change.blob);
    if (after > 1) {
      record.images.push_back({key, encode_owners(after)});
    } else if (before > 1) {
      record.images.push_back({key, std::nullopt});
    }
  }
  forwards_.write(record.images);
  return {};
}

bool give_share_ids(ExtentList& extents, const std::function<ShareId()>& draw) {
  std::map<BlobId, ShareId> drawn;
  for (Extent& extent : extents) {
    if (extent.is_inline() || extent.blob.share != 0) continue;
    const auto [at, fresh] = drawn.try_emplace(extent.blob.id(), 0);
    if (fresh) at->second = draw();
    extent.blob.share = at->second;
  }
  return !drawn.empty();
}

void LayerOwners::change(const std::vector<OmapId>& layers, int owners) {
  for (const OmapId layer : layers) changes_[layer] += owners;
}

Result<std::vector<OmapId>> LayerOwners::finish(PlanSource& source, LogRecord& record) {
  std::vector<OmapId> gone;
  for (const auto& [layer, owners] : changes_) {
    if (owners == 0) continue;
    const std::string key = layer_key(layer);
    HEXAD_TRY_ASSIGN(const std::uint64_t before, owners_under(source, key, 0));
    if (owners < 0 && before < static_cast<std::uint64_t>(-owners)) {
      return too_few("omap layer " + std::to_string(layer), before, owners);
    }
    const std::uint64_t after = before + static_cast<std::uint64_t>(owners);
    if (after > 0) {
      record.images.push_back({key, encode_owners(after)});
      continue;
    }
    record.images.push_back({key, std::nullopt});
    record.images.push_back({writer_key(layer), std::string()});
    gone.push_back(layer);
  }
  return gone;
}

}  // namespace hexad::core
