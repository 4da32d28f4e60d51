#include "core/check/stripe_check.h"

#include <utility>

#include "core/blob/blob_prepare.h"
#include "core/blob/fill_cells.h"

namespace hexad::core {

namespace {

std::string join(const std::vector<std::string>& problems) {
  std::string all;
  for (const std::string& problem : problems) all += (all.empty() ? "" : "; ") + problem;
  return all;
}

}  // namespace

Result<CheckedStripe> StripeCheck::check(const Blob& blob, BadCells bad_cells) const {
  constexpr auto kBounded = BlobReader::Wait::kBounded;
  CheckedStripe checked;
  const ec::ShardSet all = ec::ShardSet::first(shape_.cells());
  Result<BlobReader::Cells> read =
      reader_.read_cells(blob.where, blob.cell_bytes, blob.cell_sums, all, kBounded);
  if (!read.ok()) {
    if (read.error().code == ErrorCode::kFenced) return read.error();  // TO3
    checked.problems.push_back(read.error().message);
    return checked;
  }
  BlobReader::Cells cells = std::move(read).value();
  checked.checked = std::uint64_t{blob.cell_bytes} * cells.good.size();
  for (const std::uint32_t role : cells.silent) checked.silent.push_back(cells.places[role].id);
  ec::ShardSet absent;
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    if (!cells.places[role].readable) absent.add(role);
  }
  const ec::ShardSet bad = all - cells.good - absent;
  if (cells.good.size() < shape_.k()) {
    checked.problems.push_back(alloc::to_string(blob.where) + ": only " +
                               std::to_string(cells.good.size()) + " good cells, " +
                               std::to_string(shape_.k()) + " are needed (" + join(cells.problems) +
                               ")");
    return checked;
  }
  if (!bad.empty()) {
    checked.bad = bad;
    checked.problems.push_back(join(cells.problems));
    if (bad_cells == BadCells::kLeft) return checked;
    // It offers every cell to the map, which writes it back.
    const Status rebuilt = reader_.rebuild(blob.where, blob.cell_sums, cells);
    if (!rebuilt.ok()) {
      checked.problems.push_back(rebuilt.error().message);
      return checked;
    }
    const Result<BlobReader::Cells> again =
        reader_.read_cells(blob.where, blob.cell_bytes, blob.cell_sums, bad, kBounded);
    checked.repaired = again.ok() && again->good == bad;
    return checked;
  }
  if (!absent.empty()) return checked;
  std::vector<ByteView> shards;
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) shards.push_back(cells.cell(role));
  HEXAD_TRY_ASSIGN(const bool consistent, codec_.verify(shards));
  if (!consistent) {
    checked.problems.push_back(alloc::to_string(blob.where) +
                               ": parity is not the code of the data");
  }
  if (!fits_block_sums(blob, cells)) {
    checked.problems.push_back(alloc::to_string(blob.where) +
                               ": block checksums contradict the cell checksums");
  }
  return checked;
}

bool StripeCheck::fits_block_sums(const Blob& blob, BlobReader::Cells& cells) const {
  if (blob.block_sums.empty()) return true;
  SumList sums;
  for (std::uint32_t role = 0; role < shape_.k(); ++role) {
    append_block_sums(shape_.record.checksum, cells.cell(role), shape_.record.checksum_block, sums);
  }
  return sums == blob.block_sums;
}

}  // namespace hexad::core
