#include "core/record/blob_uses.h"

#include <algorithm>

namespace hexad::core {

namespace {

// Of the extents that are wanted.
template <typename Wanted>
std::vector<BlobUse> uses_of(const ExtentList& extents, const Wanted& wanted) {
  std::vector<BlobUse> uses;
  for (const Extent& extent : extents) {
    if (extent.is_inline() || extent.blob.share != 0) continue;
    if (wanted(extent)) uses.push_back({&extent.blob, extent.length});
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const BlobUse& a, const BlobUse& b) { return a.blob->id() < b.blob->id(); });
  std::vector<BlobUse> all;
  for (const BlobUse& use : uses) {
    if (!all.empty() && all.back().blob->id() == use.blob->id()) {
      all.back().shown += use.shown;
    } else {
      all.push_back(use);
    }
  }
  return all;
}

}  // namespace

std::uint64_t BlobUse::hidden() const {
  if (shown >= blob->raw) return 0;
  return (blob->raw - shown) * blob->stored / blob->raw;
}

void HiddenBytes::add(const BlobUse& use) {
  const std::uint64_t bytes = use.hidden();
  if (bytes == 0) return;
  of += use.blob->stored;
  hidden += bytes;
}

std::vector<BlobUse> blob_uses(const ExtentList& extents) {
  return uses_of(extents, [](const Extent&) { return true; });
}

// Most lists show all their blobs whole: what one extent shows whole needs no sorting.
HiddenBytes hidden_bytes(const ExtentList& extents) {
  HiddenBytes bytes;
  const auto in_part = [](const Extent& extent) { return extent.length < extent.blob.raw; };
  for (const BlobUse& use : uses_of(extents, in_part)) bytes.add(use);
  return bytes;
}

HiddenBytes spare_bytes(const ExtentList& extents, std::uint64_t stripe_bytes) {
  HiddenBytes bytes;
  const auto alone = [&](const Extent& extent) {
    const Blob& blob = extent.blob;
    return blob.placement == Placement::kPrivate &&
           is_lone(blob.stored, blob.where.units * stripe_bytes, kMostFilled);
  };
  for (const BlobUse& use : uses_of(extents, alone)) {
    if (use.shown < use.blob->raw) continue;
    const std::uint64_t stripe = use.blob->where.units * stripe_bytes;
    bytes.of += stripe;
    bytes.hidden += stripe - use.blob->stored;
  }
  return bytes;
}

}  // namespace hexad::core
