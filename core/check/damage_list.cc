#include "core/check/damage_list.h"

#include <algorithm>

namespace hexad::core {

namespace {

constexpr std::size_t kMostSuspects = 10'000;

}  // namespace

void DamageList::load(const DamagedBlob& blob, DamageRecord record) {
  const io::Lock lock(mutex_);
  if (kept_.size() >= kMostDamage) return;
  kept_.insert_or_assign(blob, Kept{std::move(record), ++editions_, true, false});
}

bool DamageList::note(const DamagedBlob& blob, DamageRecord record) {
  std::map<DamagedBlob, Kept> one;
  one.emplace(blob, Kept{std::move(record), 0, false, false});
  const io::Lock lock(mutex_);
  const auto known = kept_.find(blob);
  if (known != kept_.end()) {
    Kept& kept = known->second;
    if (!kept.gone) return false;
    // It was there again for a while; what it was acknowledged for is over.
    std::swap(kept, one.begin()->second);
    kept.edition = ++editions_;
    return true;
  }
  if (kept_.size() >= kMostDamage) {
    ++dropped_;
    return false;
  }
  one.begin()->second.edition = ++editions_;
  kept_.insert(one.extract(one.begin()));
  return true;
}

std::vector<DamageList::Entry> DamageList::entries() const {
  std::vector<Entry> entries;
  entries.reserve(kMostDamage);
  const io::Lock lock(mutex_);
  for (const auto& [blob, kept] : kept_) {
    if (!kept.gone) entries.emplace_back(blob, kept.record);
  }
  return entries;
}

bool DamageList::drop(std::span<const DamagedBlob> gone) {
  const io::Lock lock(mutex_);
  bool changed = false;
  for (const DamagedBlob& blob : gone) {
    const auto known = kept_.find(blob);
    if (known == kept_.end() || known->second.gone) continue;
    Kept& kept = known->second;
    kept.gone = true;
    kept.written = false;
    kept.edition = ++editions_;
    changed = true;
  }
  return changed;
}

bool DamageList::acknowledge(std::span<const DamagedBlob> blobs) {
  const io::Lock lock(mutex_);
  bool changed = false;
  for (const DamagedBlob& blob : blobs) {
    const auto known = kept_.find(blob);
    if (known == kept_.end() || known->second.gone || known->second.record.acknowledged) continue;
    Kept& kept = known->second;
    kept.record.acknowledged = true;
    kept.written = false;
    kept.edition = ++editions_;
    changed = true;
  }
  return changed;
}

std::vector<DamageList::Change> DamageList::changes(std::size_t most) const {
  std::vector<Change> changes;
  const io::Lock lock(mutex_);
  for (const auto& [blob, kept] : kept_) {
    if (kept.written) continue;
    if (changes.size() == most) break;
    Change change{blob, std::nullopt, kept.edition};
    if (!kept.gone) change.record = kept.record;
    changes.push_back(std::move(change));
  }
  return changes;
}

void DamageList::note_written(std::span<const Change> changes) {
  const io::Lock lock(mutex_);
  for (const Change& change : changes) {
    const auto known = kept_.find(change.blob);
    if (known == kept_.end() || known->second.edition != change.edition) continue;  // DN3
    if (known->second.gone) {
      kept_.erase(known);
    } else {
      known->second.written = true;
    }
  }
}

DamageList::Count DamageList::count() const {
  const io::Lock lock(mutex_);
  Count count;
  for (const auto& [blob, kept] : kept_) {
    if (!kept.written) ++count.unwritten;
    if (!kept.gone && !kept.record.acknowledged) ++count.open;
  }
  count.dropped = dropped_;
  return count;
}

bool DamageList::empty() const {
  const io::Lock lock(mutex_);
  return std::all_of(kept_.begin(), kept_.end(),
                     [](const auto& entry) { return entry.second.gone; });
}

void DamageList::suspect(const alloc::Extent& stripe) {
  const io::Lock lock(mutex_);
  if (suspects_.size() < kMostSuspects) suspects_.emplace(stripe.zone, stripe.unit);
}

bool DamageList::is_suspect(const alloc::Extent& stripe) const {
  const io::Lock lock(mutex_);
  return suspects_.count({stripe.zone, stripe.unit}) != 0;
}

void DamageList::clear_suspects() {
  const io::Lock lock(mutex_);
  suspects_.clear();
}

}  // namespace hexad::core
