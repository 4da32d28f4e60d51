#include "kv/run/run_writer.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "kv/index_changes.h"

namespace hexad::kv {
namespace {

constexpr std::uint64_t kFormTrial = 16;  // blocks of data

// The shortest of the keys s with last <= s < next that are a head of `next`, else `last`.
std::string_view separator_of(std::string_view last, std::string_view next) {
  const auto differ = std::mismatch(last.begin(), last.end(), next.begin(), next.end());
  const auto head = static_cast<std::size_t>(differ.second - next.begin()) + 1;
  // When `last` is a head of `next`, nothing is shorter.
  if (differ.first == last.end() || head >= next.size() || head >= last.size()) return last;
  return next.substr(0, head);
}

Error refuse(std::string what) {
  return Error{ErrorCode::kInvalidArgument, "run: " + std::move(what), ""};
}

}  // namespace

RunWriter::RunWriter(RunSink& sink, const Uuid& store, Lsn first_lsn, Lsn last_lsn,
                     RunFilterBits filter_bits)
    : sink_(sink), filter_(filter_bits) {
  footer_.store = store;
  footer_.info.first_lsn = first_lsn;
  footer_.info.last_lsn = last_lsn;
  if (first_lsn > last_lsn) {
    failed_ =
        refuse("of LSNs from " + std::to_string(first_lsn) + " to " + std::to_string(last_lsn));
  }
}

Status RunWriter::add(std::string_view key, std::optional<std::string_view> value) {
  if (failed_.has_value()) return *failed_;
  Status status = check(key, value);
  if (status.ok()) status = add_checked(key, value);
  if (!status.ok()) failed_ = status.error();
  return status;
}

Result<RunInfo> RunWriter::finish() {
  if (failed_.has_value()) return *failed_;
  Result<RunInfo> info = finish_all();
  failed_ = info.ok() ? refuse("written to its end already") : info.error();
  return info;
}

Status RunWriter::check(std::string_view key, std::optional<std::string_view> value) const {
  HEXAD_TRY(check_index_key(key));
  if (value.has_value() && value->size() > kMaxIndexValue) {
    return refuse("a value of " + format_size(value->size()));
  }
  if (key <= last_key_) {
    return refuse("key " + printable(key, 64) + " after " + printable(last_key_, 64));
  }
  return {};
}

Status RunWriter::add_checked(std::string_view key, std::optional<std::string_view> value) {
  // A value longer than a block has one of its own.
  if (!data_.empty() && data_.size() + RunBlockBuilder::growth(key, value) > kRunBlockTarget) {
    HEXAD_TRY(end_data_block(separator_of(last_key_, key)));
  }
  data_.add(key, value);
  filter_.add(key);
  last_key_.assign(key);
  ++footer_.info.entries;
  if (!value.has_value()) ++footer_.info.tombstones;
  return {};
}

Result<RunBlockAddress> RunWriter::write(RunPieceKind kind, std::string raw, RunPacking packing) {
  HEXAD_TRY_ASSIGN(const StoredRunBlock block,
                   store_run_block(std::move(raw), footer_.info.bytes, packing));
  return append(kind, block);
}

Result<RunBlockAddress> RunWriter::append(RunPieceKind kind, const StoredRunBlock& block) {
  HEXAD_TRY(sink(kind, block.address, as_bytes(block.bytes), nullptr));
  return block.address;
}

Result<RunBlockAddress> RunWriter::append_as_is(RunPieceKind kind, const RunBlockAddress& from,
                                                ByteView stored) {
  const RunBlockAddress address = move_run_block(from, stored, footer_.info.bytes);
  HEXAD_TRY(sink(kind, address, stored, &from));
  taken_over_ += stored.size();
  return address;
}

Status RunWriter::sink(RunPieceKind kind, const RunBlockAddress& address, ByteView stored,
                       const RunBlockAddress* from) {
  HEXAD_TRY(sink_.append(stored));
  footer_.info.bytes += stored.size();
  if (watcher_) watcher_(kind, address, stored, from);
  return {};
}

Status RunWriter::take_over(const RunLeaf& leaf) {
  if (failed_.has_value()) return *failed_;
  Status status = take_over_checked(leaf);
  if (!status.ok()) failed_ = status.error();
  return status;
}

Status RunWriter::take_over_checked(const RunLeaf& leaf) {
  HEXAD_ASSERT(!leaf.data.empty());
  const std::string& last = leaf.data.back().separator;
  if (leaf.first_key <= last_key_ || last < leaf.first_key) {
    return refuse("a leaf from " + printable(leaf.first_key, 64) + " to " + printable(last, 64) +
                  " after " + printable(last_key_, 64));
  }
  if (!data_.empty()) HEXAD_TRY(end_data_block(separator_of(last_key_, leaf.first_key)));
  if (!index_.empty() && !index_[0].empty()) {
    const std::string before = index_[0].last_key();
    HEXAD_TRY_ASSIGN(const RunChild ended, end_index_block(0));
    HEXAD_TRY(add_child(1, before, ended));
  }
  if (index_.empty()) index_.emplace_back();
  RunChild child;
  for (const RunLeaf::Data& data : leaf.data) {
    HEXAD_TRY_ASSIGN(child.block,
                     append_as_is(RunPieceKind::kData, data.address, leaf.stored_at(data.address)));
    index_[0].add(data.separator, encode_run_child(child));
  }
  HEXAD_TRY_ASSIGN(child.filter,
                   append_as_is(RunPieceKind::kFilter, leaf.filter, leaf.stored_at(leaf.filter)));
  HEXAD_TRY_ASSIGN(child.block, write_index_block(0));
  last_key_ = last;
  return add_child(1, last, child);
}

void RunWriter::count_taken_over(std::uint64_t entries, std::uint64_t tombstones) {
  footer_.info.entries += entries;
  footer_.info.tombstones += tombstones;
}

// Neighbours are alike, so what form is shorter is tried now and then only.
Result<RunBlockAddress> RunWriter::write_data() {
  constexpr RunPieceKind kData = RunPieceKind::kData;
  if (data_.count() == 1) {
    return write(kData, data_.encode(RunBlockForm::kRows), RunPacking::kCompress);
  }
  if (untried_ > 0) {
    --untried_;
    return write(kData, data_.encode(form_), RunPacking::kCompress);
  }
  untried_ = kFormTrial - 1;
  const std::uint64_t at = footer_.info.bytes;
  HEXAD_TRY_ASSIGN(const StoredRunBlock rows,
                   store_run_block(data_.encode(RunBlockForm::kRows), at, RunPacking::kCompress));
  HEXAD_TRY_ASSIGN(
      const StoredRunBlock columns,
      store_run_block(data_.encode(RunBlockForm::kColumns), at, RunPacking::kCompress));
  const bool by_columns = columns.bytes.size() < rows.bytes.size();
  form_ = by_columns ? RunBlockForm::kColumns : RunBlockForm::kRows;
  return append(kData, by_columns ? columns : rows);
}

Status RunWriter::end_data_block(std::string_view separator) {
  HEXAD_TRY_ASSIGN(const RunBlockAddress address, write_data());
  data_.clear();
  return add_child(0, separator, {address, std::nullopt});
}

// `separator`: at least every key below `child`, and below every later one.
Status RunWriter::add_child(std::size_t level, std::string_view separator, const RunChild& child) {
  if (level == index_.size()) index_.emplace_back();
  index_[level].add(separator, encode_run_child(child));
  const bool full =
      index_[level].size() >= kRunBlockTarget || (level == 0 && filter_.count() >= kRunFilterKeys);
  if (!full) return {};
  const std::string last(separator);
  HEXAD_TRY_ASSIGN(const RunChild ended, end_index_block(level));
  return add_child(level + 1, last, ended);
}

Result<RunChild> RunWriter::end_index_block(std::size_t level) {
  RunChild child;
  if (level == 0) {
    HEXAD_TRY_ASSIGN(child.filter,
                     write(RunPieceKind::kFilter, filter_.finish(), RunPacking::kPlain));
  }
  HEXAD_TRY_ASSIGN(child.block, write_index_block(level));
  return child;
}

Result<RunBlockAddress> RunWriter::write_index_block(std::size_t level) {
  HEXAD_TRY_ASSIGN(const RunBlockAddress address,
                   write(RunPieceKind::kIndex, index_[level].encode(RunBlockForm::kRows),
                         RunPacking::kCompress));
  index_[level].clear();
  return address;
}

Result<RunInfo> RunWriter::finish_all() {
  if (!data_.empty()) HEXAD_TRY(end_data_block(last_key_));
  // Bottom up: what is open goes into the level above, until one block names everything.
  for (std::size_t level = 0; level < index_.size(); ++level) {
    if (index_[level].empty()) continue;  // ended just now, and named above
    const std::string last = index_[level].last_key();
    const bool top = level + 1 == index_.size();
    HEXAD_TRY_ASSIGN(footer_.root, end_index_block(level));
    footer_.levels = static_cast<unsigned>(level + 1);
    if (!top) HEXAD_TRY(add_child(level + 1, last, footer_.root));
  }
  footer_.info.bytes += kRunFooterSize;
  HEXAD_TRY(sink_.append(as_bytes(encode_run_footer(footer_))));
  return footer_.info;
}

}  // namespace hexad::kv
