#include "core/check/stripe_scrub.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/blob/enough_cells.h"
#include "ec/shard_set.h"

namespace hexad::core {

StripeScrub::StripeScrub(ScrubRun& run)
    : run_(run), parts_(run.parts()), stripes_(parts_.shape, parts_.codec, parts_.blobs) {}

Result<CheckedStripe> StripeScrub::look_at(const Blob& blob) {
  run_.count_stripe();
  if (run_.scope() == ScrubScope::kMissing && parts_.space.may_heal()) {
    if (fill_from_enough(blob)) return CheckedStripe();
  }
  using BadCells = StripeCheck::BadCells;
  HEXAD_TRY_ASSIGN(
      CheckedStripe checked,
      stripes_.check(blob, parts_.space.may_heal() ? BadCells::kRebuilt : BadCells::kLeft));
  run_.count_bytes(checked.checked);
  for (const DeviceId device : checked.silent) run_.note_silent(device);
  if (parts_.space.lacks_cells(blob.where) && parts_.space.may_heal()) {
    const Status filled = fill(blob);
    if (!filled.ok()) checked.problems.push_back(filled.error().message);
  }
  return checked;
}

// U6: every cell has its checksum in the record. False: all cells have to be looked at.
bool StripeScrub::fill_from_enough(const Blob& blob) {
  const Result<std::vector<CellPlace>> places = parts_.space.locate(blob.where);
  if (!places.ok()) return false;
  ec::ShardSet missing;
  for (std::uint32_t role = 0; role < places->size(); ++role) {
    if ((*places)[role].missing) missing.add(role);
  }
  const std::optional<ec::ShardSet> enough = enough_cells(*places, parts_.shape.k());
  if (!enough.has_value()) return false;
  const BlobReader& reader = parts_.blobs;
  Result<BlobReader::Cells> cells = reader.read_cells(blob.where, blob.cell_bytes, blob.cell_sums,
                                                      *enough, BlobReader::Wait::kBounded);
  if (!cells.ok()) return false;
  run_.count_bytes(std::uint64_t{blob.cell_bytes} * cells->good.size());
  if (cells->good != *enough) return false;
  if (!reader.rebuild(blob.where, blob.cell_sums, *cells, missing).ok()) return false;
  return std::all_of(missing.begin(), missing.end(), [&](std::uint32_t role) {
    return run_.fill(blob.where, (*places)[role], cells->cell(role)).ok();
  });
}

// U5: every cell has its checksum in the record.
Status StripeScrub::fill(const Blob& blob) {
  const std::uint32_t count = parts_.shape.cells();
  const BlobReader& reader = parts_.blobs;
  HEXAD_TRY_ASSIGN(BlobReader::Cells cells,
                   reader.read_cells(blob.where, blob.cell_bytes, blob.cell_sums,
                                     ec::ShardSet::first(count), BlobReader::Wait::kBounded));
  HEXAD_TRY(reader.rebuild(blob.where, blob.cell_sums, cells));
  for (std::uint32_t role = 0; role < count; ++role) {
    HEXAD_TRY(run_.fill(blob.where, cells.places[role], cells.cell(role)));
  }
  return {};
}

}  // namespace hexad::core
