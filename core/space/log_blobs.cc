#include "core/space/log_blobs.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

Blob placed_blob(const Blob& unplaced, const UnplacedPlace& place) {
  Blob blob = unplaced;
  blob.placement = place.placement;
  blob.log = {};
  blob.where = place.where;
  blob.cell = place.cell;
  blob.cell_offset = place.cell_offset;
  if (place.placement == Placement::kPrivate) {
    blob.cell_bytes = place.cell_bytes;
    blob.cell_sums = place.cell_sums;
    blob.block_sums = place.block_sums;
    blob.forward = Forward::kNone;  // nobody looks for the owner of a private stripe
  }
  return blob;
}

UnplacedBlob* LogBlobs::Entry::payload() {
  auto* const own = std::get_if<std::unique_ptr<UnplacedBlob>>(&state);
  return own == nullptr ? nullptr : own->get();
}

// Blobs of a transaction come in the order of their indexes, but for those of a log that lies.
LogBlobs::Entry& LogBlobs::entry_in(Entries& entries, std::uint32_t index) {
  auto at = entries.end();
  if (!entries.empty() && entries.back().index >= index) {
    at = std::lower_bound(entries.begin(), entries.end(), index,
                          [](const Entry& entry, std::uint32_t i) { return entry.index < i; });
    if (at->index == index) return *at;
  }
  return *entries.insert(at, Entry{index, false, {}, 0});
}

const LogBlobs::Entry* LogBlobs::find_entry(const LogPlace& place) const {
  const auto transaction = transactions_.find(place.lsn);
  if (transaction == transactions_.end()) return nullptr;
  const Entries& entries = transaction->second;
  const auto at =
      std::lower_bound(entries.begin(), entries.end(), place.index,
                       [](const Entry& entry, std::uint32_t i) { return entry.index < i; });
  return at == entries.end() || at->index != place.index ? nullptr : &*at;
}

std::optional<UnplacedPlace> LogBlobs::place_of(const LogPlace& place, const Entry& entry) {
  if (const auto* own = std::get_if<std::unique_ptr<UnplacedPlace>>(&entry.state)) return **own;
  const auto* const packed = std::get_if<PackedAt>(&entry.state);
  if (packed == nullptr) return std::nullopt;
  UnplacedPlace found;
  found.from = place;
  found.stored = packed->stored;
  found.where = {packed->zone, packed->unit, 0};
  found.cell = packed->cell;
  found.cell_offset = packed->cell_offset;
  return found;
}

void LogBlobs::expect(const std::vector<UnplacedBlob>& blobs) {
  const io::Lock lock(mutex_);
  for (std::size_t i = 0; i < blobs.size();) {
    const Lsn lsn = blobs[i].place.lsn;
    Entries& entries = transactions_.try_emplace(transactions_.end(), lsn)->second;
    entries.reserve(entries.size() + blobs.size() - i);
    for (; i < blobs.size() && blobs[i].place.lsn == lsn; ++i) {
      entry_in(entries, blobs[i].place.index).state = blobs[i].stored;
    }
  }
}

bool LogBlobs::add_payload(UnplacedBlob blob) {
  const io::Lock lock(mutex_);
  Entry& entry = entry_in(transactions_[blob.place.lsn], blob.place.index);
  // Twice: in a log that lies.
  if (const UnplacedBlob* before = entry.payload(); before != nullptr && !entry.dead) {
    count(*before, -1);
  }
  if (!entry.dead) count(blob, 1);
  entry.state = std::make_unique<UnplacedBlob>(std::move(blob));
  return entry.dead;
}

// In the order of the blobs, whatever that of the stripes is: then each is found, or made, at the
// end of what is known of its transaction.
PromisedUnits LogBlobs::set_places(const std::vector<UnplacedPlace>& places) {
  if (places.empty()) return {};
  std::vector<const UnplacedPlace*> sorted;
  sorted.reserve(places.size());
  for (const UnplacedPlace& place : places) sorted.push_back(&place);
  std::sort(sorted.begin(), sorted.end(),
            [](const UnplacedPlace* a, const UnplacedPlace* b) { return a->from < b->from; });

  const io::Lock lock(mutex_);
  ++moment_;
  PromisedUnits promised;
  Lsn lsn = 0;
  Entries* entries = nullptr;
  for (const UnplacedPlace* place : sorted) {
    if (entries == nullptr || place->from.lsn != lsn) {
      lsn = place->from.lsn;
      entries = &transactions_[lsn];
    }
    Entry& entry = entry_in(*entries, place->from.index);
    if (const UnplacedBlob* payload = entry.payload(); payload != nullptr && !entry.dead) {
      promised += PromisedUnits(payload->units);
      count(*payload, -1);
    }
    if (!entry.has_place()) entry.placed = moment_;
    if (place->placement == Placement::kPacked) {
      entry.state = PackedAt{place->where.zone, place->where.unit, place->cell, place->cell_offset,
                             place->stored};
    } else {
      entry.state = std::make_unique<UnplacedPlace>(*place);
    }
  }
  return promised;
}

PromisedUnits LogBlobs::release(const LogPlace& place) {
  const io::Lock lock(mutex_);
  Entry& entry = entry_in(transactions_[place.lsn], place.index);
  if (entry.has_place() || entry.dead) return {};
  entry.dead = true;
  const UnplacedBlob* payload = entry.payload();
  if (payload == nullptr) return {};
  count(*payload, -1);
  return PromisedUnits(payload->units);
}

std::optional<LogBlobs::Found> LogBlobs::find(const LogPlace& place) const {
  const io::Lock lock(mutex_);
  const Entry* const entry = find_entry(place);
  if (entry == nullptr) return std::nullopt;
  Found found;
  found.dead = entry->dead;
  found.place = place_of(place, *entry);
  if (const auto* bytes = std::get_if<SharedBytes>(&entry->state)) {
    if (bytes->empty()) return std::nullopt;
    found.stored = *bytes;
  } else if (const auto* payload = std::get_if<std::unique_ptr<UnplacedBlob>>(&entry->state)) {
    found.stored = (*payload)->stored;
  }
  return found;
}

void LogBlobs::resolve_one(Blob& blob, Moment as_of) const {
  if (blob.placement != Placement::kLog) return;
  const Entry* const entry = find_entry(blob.log);
  if (entry == nullptr || entry->placed > as_of) return;
  // The log says both; where they differ, the place belongs to something else.
  const std::optional<UnplacedPlace> place = place_of(blob.log, *entry);
  if (place.has_value() && place->stored == blob.stored) blob = placed_blob(blob, *place);
}

LogBlobs::Moment LogBlobs::moment() const {
  const io::Lock lock(mutex_);
  return moment_;
}

Blob LogBlobs::resolve(Blob blob, Moment as_of) const {
  if (blob.placement != Placement::kLog) return blob;
  const io::Lock lock(mutex_);
  resolve_one(blob, as_of);
  return blob;
}

ExtentList LogBlobs::resolve(ExtentList extents, Moment as_of) const {
  resolve_all(extents, as_of);
  return extents;
}

void LogBlobs::resolve_all(ExtentList& extents, Moment as_of) const {
  if (!any_unplaced(extents)) return;
  const io::Lock lock(mutex_);
  for (Extent& extent : extents) {
    if (!extent.is_inline()) resolve_one(extent.blob, as_of);
  }
}

std::vector<UnplacedBlob> LogBlobs::take_payloads(std::uint64_t bytes, std::uint64_t record_bytes) {
  const io::Lock lock(mutex_);
  std::vector<UnplacedBlob> taken;
  std::uint64_t total = 0;
  std::uint64_t record = 0;
  for (auto& [lsn, entries] : transactions_) {
    for (Entry& entry : entries) {
      UnplacedBlob* const blob = entry.payload();
      if (blob == nullptr || entry.dead) continue;
      total += blob->stored.size();
      record += group_part_bound(blob->stored.size(), shape_);
      if (!taken.empty() && (total > bytes || record > record_bytes)) return taken;
      taken.push_back(*blob);
      blob->units = 0;
    }
  }
  return taken;
}

PromisedUnits LogBlobs::return_payloads(const std::vector<UnplacedBlob>& taken) {
  const io::Lock lock(mutex_);
  PromisedUnits promised;
  for (const UnplacedBlob& blob : taken) {
    Entry& entry = entry_in(transactions_.at(blob.place.lsn), blob.place.index);
    UnplacedBlob* const payload = entry.payload();
    HEXAD_ASSERT(payload != nullptr);
    if (entry.dead) {
      promised += PromisedUnits(blob.units);
    } else {
      payload->units = blob.units;
    }
  }
  return promised;
}

std::vector<LogPlace> LogBlobs::payloads() const {
  const io::Lock lock(mutex_);
  std::vector<LogPlace> found;
  for (const auto& [lsn, entries] : transactions_) {
    for (const Entry& entry : entries) {
      if (!entry.has_place()) found.push_back({lsn, entry.index});
    }
  }
  return found;
}

std::uint64_t LogBlobs::payload_bytes() const {
  const io::Lock lock(mutex_);
  return payload_bytes_;
}

std::uint64_t LogBlobs::packing_bytes() const {
  const io::Lock lock(mutex_);
  return packing_bytes_;
}

void LogBlobs::count(const UnplacedBlob& blob, int sign) {
  const std::uint64_t bytes = blob.stored.size();
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
    const auto end = transactions_.upper_bound(retirements_.front().covered);
    for (auto at = transactions_.begin(); at != end; at = transactions_.erase(at)) {
      // A payload that is forgotten would be lost.
      const auto is_over = [](const Entry& entry) { return entry.has_place() || entry.dead; };
      HEXAD_ASSERT(std::all_of(at->second.begin(), at->second.end(), is_over));
    }
    retirements_.erase(retirements_.begin());
  }
}

}  // namespace hexad::core
