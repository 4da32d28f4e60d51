#include "core/check/pack_scrub.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

std::string describe_pack(const PackIdentity& stripe) {
  return "pack stripe at zone " + std::to_string(stripe.where.zone) + " unit " +
         std::to_string(stripe.where.unit);
}

}  // namespace

PackScrub::PackScrub(ScrubRun& run, DamageList& damage)
    : run_(run), parts_(run.parts()), damage_(damage), packs_(parts_.packs()) {}

Status PackScrub::note_unchecked(const PackIdentity& stripe, const Error& error) {
  if (error.code == ErrorCode::kFenced) return error;  // TO3
  damage_.suspect(stripe.where);
  run_.find({describe_pack(stripe), error.message, false});
  return {};
}

Status PackScrub::look_at(MetaView& view, const PackIdentity& stripe) {
  run_.count_step();
  if (!run_.concerns(stripe.where)) return {};
  run_.count_stripe();
  if (run_.scope() == ScrubScope::kMissing) {
    HEXAD_TRY_ASSIGN(const bool filled, fill_from_enough(view, stripe));
    if (filled) return {};
  }
  Result<CheckedPack> checked = packs_.check(stripe, {});
  if (!checked.ok()) return note_unchecked(stripe, checked.error());
  run_.count_bytes(checked->checked);
  for (const std::uint32_t role : checked->silent) run_.note_silent(checked->places[role].id);
  std::vector<ExpectedBlob> expected;
  if (checked->result.footer.has_value()) {
    HEXAD_TRY_ASSIGN(expected, expected_blobs_in(view, stripe.where, *checked->result.footer));
  }
  if (checked->result.whole && checked->bad.empty() && agree(expected, *checked)) {
    fill(stripe, *checked);
    return {};
  }
  // Once more, so that what they say counts when it is decided which cells are the bad ones.
  checked = packs_.check(stripe, expected);
  if (!checked.ok()) return note_unchecked(stripe, checked.error());
  if (checked->result.whole && checked->bad.empty()) {
    fill(stripe, *checked);
    return {};
  }
  const bool repaired = checked->result.whole && parts_.space.may_heal() && packs_.repair(*checked);
  if (!checked->result.whole) damage_.suspect(stripe.where);
  run_.find({describe_pack(stripe), checked->problems, repaired});
  if (repaired) fill(stripe, *checked);
  return {};
}

// U6. False: all cells have to be looked at.
Result<bool> PackScrub::fill_from_enough(MetaView& view, const PackIdentity& stripe) {
  const Result<CheckedPack> checked = packs_.check(stripe, {}, PackChecker::Cells::kEnough);
  if (!checked.ok()) return false;
  run_.count_bytes(checked->checked);
  if (!checked->result.whole || !checked->bad.empty() || !checked->silent.empty()) return false;
  HEXAD_TRY_ASSIGN(const std::vector<ExpectedBlob> expected,
                   expected_blobs_in(view, stripe.where, *checked->result.footer));
  if (!agree(expected, *checked)) return false;
  fill(stripe, *checked);
  return true;
}

// U5. Precondition: the result is whole.
void PackScrub::fill(const PackIdentity& stripe, const CheckedPack& pack) {
  for (std::uint32_t role = 0; role < parts_.shape.cells(); ++role) {
    const Status filled = run_.fill(stripe.where, pack.places[role], pack.right[role]);
    if (!filled.ok()) run_.find({describe_pack(stripe), filled.error().message, false});
  }
}

bool PackScrub::agree(const std::vector<ExpectedBlob>& expected, const CheckedPack& pack) const {
  const ChecksumType type = parts_.shape.record.checksum;
  return std::all_of(expected.begin(), expected.end(), [&](const ExpectedBlob& one) {
    const ByteView cell = pack.right[one.cell];
    return hexad::checksum(type, cell.subspan(one.cell_offset, one.stored)) == one.sum;
  });
}

// The blobs of the footer that the metadata has there. Those of objects that have another name by
// now, or of clones alone, are not found.
Result<std::vector<ExpectedBlob>> PackScrub::expected_blobs_in(MetaView& view,
                                                               const alloc::Extent& stripe,
                                                               const PackFooter& footer) {
  std::vector<ExpectedBlob> expected;
  for (const PackEntry& entry : footer.entries) {
    HEXAD_TRY_ASSIGN(const ExtentList extents, extents_at(view, entry.owner, entry.offset));
    for (const Blob& blob : blobs_of(parts_.log_blobs.resolve(extents))) {
      const bool here = blob.placement == Placement::kPacked && blob.where.zone == stripe.zone &&
                        blob.where.unit == stripe.unit && blob.cell == entry.cell &&
                        blob.cell_offset == entry.cell_offset && blob.stored == entry.stored;
      if (here) expected.push_back(expected_blob_of(blob));
    }
  }
  return expected;
}

// Of the object, page or omap entry, those around the offset. None where the metadata has none
// that can be read: whether it is sound is not asked here.
Result<ExtentList> PackScrub::extents_at(MetaView& view, const std::string& key,
                                         std::uint64_t offset) {
  const RecordShape& shape = parts_.shape.record;
  if (const Result<PageKey> page = parse_page_key(key); page.ok()) {
    HEXAD_TRY_ASSIGN(const auto value, view.get(key));
    if (!value.has_value()) return ExtentList();
    Result<ExtentList> extents = decode_page(*value, page->page, shape);
    return extents.ok() ? std::move(extents).value() : ExtentList();
  }
  if (!key.starts_with(kObjectKeys) && !key.starts_with(kOmapKeys)) return ExtentList();
  HEXAD_TRY_ASSIGN(const auto value, view.get(key));
  if (!value.has_value() || is_hidden_entry(*value)) return ExtentList();
  Result<ObjectRecord> record = decode_object(*value, shape);
  if (!record.ok()) return ExtentList();
  if (record->body == 0) return std::move(record->extents);
  const auto page = static_cast<std::uint32_t>(offset / kPageSpan);
  HEXAD_TRY_ASSIGN(const auto paged, view.get(page_key(record->body, page)));
  if (!paged.has_value()) return ExtentList();
  Result<ExtentList> extents = decode_page(*paged, page, shape);
  return extents.ok() ? std::move(extents).value() : ExtentList();
}

}  // namespace hexad::core
