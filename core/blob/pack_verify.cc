#include "core/blob/pack_verify.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/units.h"
#include "ec/shard_subsets.h"

namespace hexad::core {

namespace {

// Ends of cells are rebuilt in multiples of this; every code's alignment divides it.
constexpr std::uint32_t kEndBlock = 512;
// Footers that are legible and still not accepted: more than a few is nobody's accident.
constexpr std::size_t kMaxFooters = 16;

bool has_bytes(ByteView a, ByteView b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

class Verifier {
 public:
  Verifier(std::span<const MutByteView> cells, ec::ShardSet read,
           std::span<const MutByteView> right, const PackIdentity& identity,
           std::span<const ExpectedBlob> expected, const StoreShape& shape, const ec::Codec& codec)
      : cells_(cells),
        right_(right),
        read_(read),
        data_(ec::ShardSet::first(shape.k())),
        last_(shape.k() - 1),
        identity_(identity),
        expected_(expected),
        shape_(shape),
        codec_(codec) {}

  Result<PackResult> run() {
    if (read_.contains(last_)) {
      HEXAD_TRY_ASSIGN(const bool done, consider_end_of(cells_[last_]));
      if (done) return std::move(result_);
    }
    // From all the others: a cell that is bad elsewhere may still give back the end.
    ec::ShardSet others = read_;
    others.remove(last_);
    int choices = 0;
    for (ec::ShardSubsets choice(others, shape_.k());
         !choice.done() && choices < kMaxFooterChoices && tried_.size() < kMaxFooters;
         choice.next(), ++choices) {
      HEXAD_TRY_ASSIGN(const bool done, rebuild_end(choice.get()));
      if (done) return std::move(result_);
    }
    if (!result_.footer.has_value()) {
      result_.problem = "none of the " + std::to_string(read_.size()) +
                        " cells that can be read, nor any choice of " + std::to_string(shape_.k()) +
                        ", gives the footer of this stripe" + other_;
    }
    return std::move(result_);
  }

 private:
  // The end of the last data cell as these k cells have it. Its length is in the last bytes.
  Result<bool> rebuild_end(ec::ShardSet from) {
    const std::size_t size = cells_[0].size();
    std::size_t length = kEndBlock;
    for (;;) {
      std::vector<MutByteView> ends;
      for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
        ends.push_back((role == last_ ? right_ : cells_)[role].last(length));
      }
      HEXAD_TRY(codec_.reconstruct_wanted(ends, from, ec::ShardSet{last_}));
      const std::optional<std::uint32_t> footer = pack_footer_length(ends[last_]);
      if (!footer.has_value() || *footer > size) return false;
      if (*footer <= length) return consider_end_of(right_[last_]);
      length = round_up(*footer, kEndBlock);
    }
  }

  // Only the footer of `cell` is looked at.
  Result<bool> consider_end_of(ByteView cell) {
    Result<PackFooter> footer = decode_pack_footer(cell, shape_.record);
    if (!footer.ok()) return false;
    if (!is_of_this_stripe(*footer)) {
      note_other(*footer);
      return false;
    }
    std::string bytes = encode_pack_footer(*footer, shape_.record);
    // Only what our own encoder writes is held against the cell's bytes.
    if (bytes.size() != footer->length || !tried_.insert(bytes).second) return false;
    return consider(std::move(footer).value(), as_bytes(bytes));
  }

  // J4.
  bool is_of_this_stripe(const PackFooter& footer) const {
    return footer.store == shape_.uuid && footer.where == identity_.where &&
           footer.crc == identity_.footer;
  }

  void note_other(const PackFooter& footer) {
    if (footer.store != shape_.uuid) {
      other_ = "; one of store " + to_string(footer.store) + " is there";
    } else if (footer.where != identity_.where) {
      other_ = "; one of the stripe at " + alloc::to_string(footer.where) + " is there";
    } else {
      other_ = "; one of a stripe that was there before is";
    }
  }

  Result<bool> consider(PackFooter footer, ByteView end) {
    ec::ShardSet good;
    for (const std::uint32_t role : read_& data_) {
      if (matches(role, cells_[role], footer, end)) good.add(role);
    }
    HEXAD_TRY_ASSIGN(const bool rebuilt, rebuild_data(good, footer, end));
    if (!rebuilt || !agrees_with_expected(good)) {
      keep_if_better(std::move(footer), good, rebuilt);
      return false;
    }
    for (const std::uint32_t role : good) copy_bytes(right_[role], cells_[role]);
    const std::vector<ByteView> data(right_.begin(), right_.begin() + shape_.k());
    HEXAD_TRY(codec_.encode(data, right_.subspan(shape_.k())));
    result_ = {true, std::move(footer), (read_ & data_) - good, ""};
    for (const std::uint32_t role : read_ - data_) {
      if (!has_bytes(cells_[role], right_[role])) result_.bad.add(role);
    }
    return true;
  }

  bool matches(std::uint32_t role, ByteView cell, const PackFooter& footer, ByteView end) const {
    const std::size_t summed = cell.size() - (role == last_ ? end.size() : 0);
    return checksum(shape_.record.checksum, cell.first(summed)) == footer.cell_sums[role] &&
           (role != last_ || has_bytes(cell.subspan(summed), end));
  }

  // The data cells that are not good, into `right_`, from the good ones and as much parity as it
  // takes: whichever gives the footer's sums.
  Result<bool> rebuild_data(ec::ShardSet good, const PackFooter& footer, ByteView end) {
    const ec::ShardSet lost = data_ - good;
    std::vector<MutByteView> shards;
    for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
      shards.push_back((lost.contains(role) ? right_ : cells_)[role]);
    }
    for (ec::ShardSubsets parity(read_ - data_, lost.size()); !parity.done(); parity.next()) {
      HEXAD_TRY(codec_.reconstruct_wanted(shards, good | parity.get(), lost));
      bool all = true;
      for (const std::uint32_t role : lost) {
        all = all && matches(role, right_[role], footer, end);
      }
      if (all) return true;
    }
    return false;
  }

  // J2, when all data is known.
  bool agrees_with_expected(ec::ShardSet good) const {
    return std::all_of(expected_.begin(), expected_.end(), [&](const ExpectedBlob& one) {
      const ByteView cell = (good.contains(one.cell) ? cells_ : right_)[one.cell];
      return checksum(shape_.record.checksum, cell.subspan(one.cell_offset, one.stored)) == one.sum;
    });
  }

  void keep_if_better(PackFooter footer, ec::ShardSet good, bool rebuilt) {
    if (result_.footer.has_value() && good.size() <= agreeing_) return;
    agreeing_ = good.size();
    result_.footer = std::move(footer);
    result_.bad = (read_ & data_) - good;
    result_.problem =
        rebuilt
            ? "its cells fit its footer, but not the blobs that are said to lie in it"
            : std::to_string(good.size()) + " of " + std::to_string(shape_.k()) +
                  " data cells have the footer's checksum, and " +
                  (shape_.m() == 0 ? "without parity nothing gives back the rest"
                                   : "no choice of the " + std::to_string((read_ - data_).size()) +
                                         " parity cells that can be read gives back the rest");
  }

  std::span<const MutByteView> cells_;
  std::span<const MutByteView> right_;
  ec::ShardSet read_;
  ec::ShardSet data_;
  std::uint32_t last_;
  const PackIdentity& identity_;
  std::span<const ExpectedBlob> expected_;
  const StoreShape& shape_;
  const ec::Codec& codec_;
  std::set<std::string> tried_;  // footers, encoded
  std::uint32_t agreeing_ = 0;   // data cells, with result_.footer
  std::string other_;            // of footers that are not this stripe's, for people
  PackResult result_;
};

}  // namespace

ExpectedBlob expected_blob_of(const Blob& blob) {
  return {blob.cell, blob.cell_offset, blob.stored, blob.cell_sums[0]};
}

Result<PackResult> verify_pack(std::span<const MutByteView> cells, ec::ShardSet read,
                               std::span<const MutByteView> right, const PackIdentity& identity,
                               std::span<const ExpectedBlob> expected, const StoreShape& shape,
                               const ec::Codec& codec) {
  return Verifier(cells, read, right, identity, expected, shape, codec).run();
}

}  // namespace hexad::core
