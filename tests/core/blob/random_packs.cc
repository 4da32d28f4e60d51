#include "tests/core/blob/random_packs.h"

#include "core/record/keys.h"
#include "tests/core/random_records.h"

namespace hexad::core {

StoreShape shape_for(ec::Profile profile, ChecksumType checksum, std::uint64_t unit) {
  StoreShape shape;
  shape.profile = profile;
  shape.record = {profile.k, profile.m, checksum, 16384};
  shape.unit = unit;
  shape.max_pack_units = static_cast<std::uint32_t>(kMaxCellBytes / unit / 4);
  return shape;
}

std::vector<UnplacedBlob> random_unplaced(io::Rng& rng, std::size_t count, std::uint32_t largest) {
  std::vector<UnplacedBlob> blobs(count);
  for (std::size_t i = 0; i < count; ++i) {
    UnplacedBlob& blob = blobs[i];
    blob.place = {1 + (rng.next() >> rng.below(64)) / 2, static_cast<std::uint32_t>(i)};
    blob.stored = SharedBytes::copy_of(as_bytes(random_bytes(rng, 1 + rng.below(largest))));
    blob.owner =
        object_key(static_cast<CollectionId>(rng.below(300)),
                   random_bytes(rng, 1 + rng.below(rng.chance(1, 20) ? kMaxNameSize : 20)));
    blob.offset = rng.below(kMaxObjectSize + 1);
  }
  return blobs;
}

PlacementPlan plan_for(const std::vector<UnplacedBlob>& blobs, const StoreShape& shape) {
  PlacementRules rules;
  rules.k = shape.k();
  rules.cells = shape.cells();
  rules.unit = static_cast<std::uint32_t>(shape.unit);
  rules.max_pack_units = shape.max_pack_units;
  rules.footer = pack_footer_base(shape.record);
  std::vector<PlacementItem> items;
  for (const UnplacedBlob& blob : blobs) {
    items.push_back({static_cast<std::uint32_t>(blob.stored.size()), pack_footer_entry(blob)});
  }
  return plan_placement(items, rules);
}

}  // namespace hexad::core
