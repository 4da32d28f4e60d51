#include "core/log_blobs.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

Blob placed_blob(const Blob& young, const YoungPlace& place) {
  Blob blob = young;
  blob.placement = place.placement;
  blob.log = {};
  blob.where = place.where;
  blob.cell = place.cell;
  blob.cell_offset = place.cell_offset;
  if (place.placement == Placement::kPrivate) {
    blob.cell_bytes = place.cell_bytes;
    blob.cell_sums = place.cell_sums;
    blob.block_sums = place.block_sums;
  }
  return blob;
}

void LogBlobs::expect(const std::vector<YoungBlob>& blobs) {
  const io::Lock lock(mutex_);
  for (const YoungBlob& blob : blobs) {
    expected_.emplace_hint(expected_.end(), blob.place, blob.stored);
  }
}

bool LogBlobs::add_payload(YoungBlob blob) {
  const io::Lock lock(mutex_);
  const LogPlace place = blob.place;
  expected_.erase(place);
  const bool dead = early_deaths_.erase(place) > 0;
  if (!dead) count(blob, 1);
  entries_.insert_or_assign(entries_.end(), place, Entry{std::move(blob), {}, dead});
  return dead;
}

std::uint32_t LogBlobs::set_place(const YoungPlace& place) {
  const io::Lock lock(mutex_);
  expected_.erase(place.from);
  early_deaths_.erase(place.from);
  Entry& entry = entries_.try_emplace(entries_.end(), place.from)->second;
  const bool counted = entry.blob.stored != nullptr && !entry.dead;
  const std::uint32_t units = counted ? entry.blob.units : 0;
  if (counted) count(entry.blob, -1);
  entry.blob = {};
  entry.place = place;
  return units;
}

std::uint32_t LogBlobs::kill(const LogPlace& place) {
  const io::Lock lock(mutex_);
  const auto at = entries_.find(place);
  if (at == entries_.end()) {
    early_deaths_.insert(place);
    return 0;
  }
  Entry& entry = at->second;
  if (entry.place.has_value() || entry.dead) return 0;
  entry.dead = true;
  count(entry.blob, -1);
  return entry.blob.units;
}

std::optional<LogBlobs::Found> LogBlobs::find(const LogPlace& place) const {
  const io::Lock lock(mutex_);
  const auto at = entries_.find(place);
  if (at == entries_.end()) {
    const auto early = expected_.find(place);
    if (early == expected_.end()) return std::nullopt;
    return Found{std::nullopt, early->second, early_deaths_.count(place) > 0};
  }
  return Found{at->second.place, at->second.blob.stored, at->second.dead};
}

// Under the lock.
void LogBlobs::resolve_one(Blob& blob) const {
  if (blob.placement != Placement::kLog) return;
  const auto at = entries_.find(blob.log);
  if (at == entries_.end() || !at->second.place.has_value()) return;
  // The log says both; where they differ, the place belongs to something else.
  const YoungPlace& place = *at->second.place;
  if (place.stored == blob.stored) blob = placed_blob(blob, place);
}

Blob LogBlobs::resolve(Blob blob) const {
  if (blob.placement != Placement::kLog) return blob;
  const io::Lock lock(mutex_);
  resolve_one(blob);
  return blob;
}

ExtentList LogBlobs::resolve(ExtentList extents) const {
  resolve_all(extents);
  return extents;
}

void LogBlobs::resolve_all(ExtentList& extents) const {
  const bool any_young = std::any_of(extents.begin(), extents.end(), [](const Extent& extent) {
    return !extent.is_inline() && extent.blob.placement == Placement::kLog;
  });
  if (!any_young) return;
  const io::Lock lock(mutex_);
  for (Extent& extent : extents) {
    if (!extent.is_inline()) resolve_one(extent.blob);
  }
}

std::vector<YoungBlob> LogBlobs::take_payloads(std::uint64_t bytes, std::uint64_t record_bytes) {
  const io::Lock lock(mutex_);
  std::vector<YoungBlob> taken;
  std::uint64_t total = 0;
  std::uint64_t record = 0;
  for (auto& [place, entry] : entries_) {
    if (entry.dead || entry.place.has_value()) continue;
    total += entry.blob.stored->size();
    record += group_part_bound(entry.blob.stored->size(), shape_);
    if (!taken.empty() && (total > bytes || record > record_bytes)) break;
    taken.push_back(entry.blob);
    entry.blob.units = 0;
  }
  return taken;
}

std::uint64_t LogBlobs::hand_back(const std::vector<YoungBlob>& taken) {
  const io::Lock lock(mutex_);
  std::uint64_t units = 0;
  for (const YoungBlob& blob : taken) {
    Entry& entry = entries_.at(blob.place);
    HEXAD_ASSERT(!entry.place.has_value());
    if (entry.dead) {
      units += blob.units;
    } else {
      entry.blob.units = blob.units;
    }
  }
  return units;
}

std::uint64_t LogBlobs::payload_bytes() const {
  const io::Lock lock(mutex_);
  return payload_bytes_;
}

std::uint64_t LogBlobs::packing_bytes() const {
  const io::Lock lock(mutex_);
  return packing_bytes_;
}

void LogBlobs::count(const YoungBlob& blob, int sign) {
  const std::uint64_t bytes = blob.stored->size();
  const std::uint64_t packing = group_part_bound(bytes, shape_);
  payload_bytes_ += sign > 0 ? bytes : -bytes;
  packing_bytes_ += sign > 0 ? packing : -packing;
}

void LogBlobs::retire(Lsn covered, Lsn newest_reader) {
  const io::Lock lock(mutex_);
  retirements_.push_back({covered, newest_reader});
}

void LogBlobs::forget(Lsn limit) {
  const io::Lock lock(mutex_);
  while (!retirements_.empty() && retirements_.front().newest_reader < limit) {
    const auto end = entries_.upper_bound({retirements_.front().covered, ~0U});
    for (auto at = entries_.begin(); at != end; at = entries_.erase(at)) {
      // A payload that is forgotten would be lost.
      HEXAD_ASSERT(at->second.place.has_value() || at->second.dead);
    }
    retirements_.erase(retirements_.begin());
  }
}

}  // namespace hexad::core
