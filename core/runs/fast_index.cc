#include "core/runs/fast_index.h"

#include <utility>

#include "base/codec.h"
#include "core/record/keys.h"
#include "core/runs/index_rebuild.h"

namespace hexad::core {

namespace {

constexpr std::uint8_t kWriterKind = 0x0f;

std::string lsns(const kv::Index& index, const kv::RunSet& runs) {
  return "is as of LSN " + std::to_string(index.applied_lsn()) + ", the checkpoint is LSN " +
         std::to_string(runs.lsn());
}

Result<std::string> writer_of(kv::IndexReader& reader) {
  HEXAD_TRY_ASSIGN(const auto value, reader.get(meta_key(kCheckpointWriter)));
  return std::string(value.value_or(""));
}

}  // namespace

std::string encode_checkpoint_writer(std::uint64_t nonce) {
  std::string bytes;
  Encoder out(bytes);
  out.u8(kWriterKind);
  out.le64(nonce);
  return bytes;
}

std::optional<std::string> checkpoint_writer(const std::shared_ptr<const kv::RunSet>& runs) {
  if (runs->lsn() == 0) return "";
  Result<std::string> writer = writer_of(*runs->snapshot(runs));
  return writer.ok() ? std::optional<std::string>(std::move(*writer)) : std::nullopt;
}

Status check_checkpoint_writer(kv::Index& index, const std::optional<std::string>& writer) {
  // At LSN 0 whatever it has is of a copy that was not finished.
  if (!writer.has_value() || index.applied_lsn() == 0) return {};
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexReader> reader, index.snapshot());
  HEXAD_TRY_ASSIGN(const std::string there, writer_of(*reader));
  if (there == *writer) return {};
  return Error{ErrorCode::kCorruption, "another opening for writing wrote it than the runs", ""};
}

Result<FastIndex> open_fast_index(kv::IndexHome& indexes, const std::string& directory,
                                  const Uuid& store, io::OpenMode mode, const kv::RunSet& runs,
                                  const std::optional<std::string>& writer) {
  FastIndex fast;
  // Looked at for reading first: opening for writing would create what is not there.
  Result<std::unique_ptr<kv::Index>> index =
      indexes.open(directory, store, io::OpenMode::kReadOnly);
  if (!index.ok()) {
    if (index.error().code == ErrorCode::kBusy) return index.error();
    fast.problem = index.error().code == ErrorCode::kNotFound
                       ? "is missing"
                       : "cannot be used: " + index.error().message;
    return fast;
  }
  const Lsn lsn = (*index)->applied_lsn();
  if (runs.lsn() > 0 && lsn > runs.lsn()) {
    fast.ahead = lsn;
    fast.problem = lsns(**index, runs);
    return fast;
  }
  const bool current =
      runs.lsn() == 0 || (lsn == runs.lsn() && (*index)->applied_epoch() == runs.epoch());
  if (!current && (lsn == runs.lsn() || mode == io::OpenMode::kReadOnly)) {
    fast.problem = lsns(**index, runs) + (lsn == runs.lsn() ? " of another epoch" : "");
    return fast;
  }
  const Result<kv::IndexStats> stats = (*index)->stats();
  if (!stats.ok()) {
    fast.problem = "cannot be read: " + stats.error().message;
    return fast;
  }
  // Without runs nobody could answer until later.
  fast.verified = runs.lsn() == 0 || stats->file_bytes <= kVerifiedAtOpening;
  if (fast.verified) {
    const Status sound = (*index)->verify();
    if (!sound.ok()) {
      fast.problem = "is damaged: " + sound.error().message;
      return fast;
    }
    const Status same = runs.lsn() > 0 ? check_checkpoint_writer(**index, writer) : Status();
    if (!same.ok()) {
      fast.problem = "cannot be used: " + same.error().message;
      return fast;
    }
  }
  if (mode == io::OpenMode::kReadOnly) {
    fast.index = std::move(index).value();
    return fast;
  }
  const std::string before = lsns(**index, runs);
  index->reset();
  index = indexes.open(directory, store, io::OpenMode::kReadWrite);
  if (!index.ok()) {
    if (index.error().code == ErrorCode::kBusy) return index.error();
    fast.problem = "cannot be written: " + index.error().message;
    return fast;
  }
  if (!current && fast.verified) {
    const Result<bool> followed = follow_runs(**index, runs);
    if (!followed.ok() || !*followed) {
      fast.problem = before + (followed.ok() ? "" : "; " + followed.error().message);
      return fast;
    }
  }
  fast.index = std::move(index).value();
  return fast;
}

}  // namespace hexad::core
