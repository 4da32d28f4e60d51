#include "core/runs/index_rebuild.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hexad::core {

namespace {

constexpr std::uint64_t kBytesAtOnce = 4 << 20;

// Changes that are handed to the index together.
class Batch {
 public:
  explicit Batch(kv::Index& index) : index_(index) {}

  void add(std::string_view key, std::optional<std::string_view> value) {
    bytes_ += key.size() + (value.has_value() ? value->size() : 0);
    entries_.push_back({std::string(key), value.has_value()
                                              ? std::optional<std::string>(std::string(*value))
                                              : std::nullopt});
  }
  std::uint64_t bytes() const { return bytes_; }
  Status apply(Lsn lsn, Epoch epoch) {
    std::vector<kv::IndexChange> changes;
    changes.reserve(entries_.size());
    for (const Entry& entry : entries_) {
      changes.push_back({entry.key, entry.value.has_value()
                                        ? std::optional<std::string_view>(*entry.value)
                                        : std::nullopt});
    }
    HEXAD_TRY(index_.apply(lsn, epoch, changes));
    entries_.clear();
    bytes_ = 0;
    return {};
  }

 private:
  struct Entry {
    std::string key;
    std::optional<std::string> value;
  };
  kv::Index& index_;
  std::vector<Entry> entries_;
  std::uint64_t bytes_ = 0;
};

Status apply_run(kv::Index& index, const kv::RunReader& run, Epoch epoch) {
  const std::unique_ptr<kv::RunReader::Cursor> cursor = run.cursor();
  Batch batch(index);
  HEXAD_TRY(cursor->seek_to_first());
  while (cursor->valid()) {
    batch.add(cursor->key(), cursor->value());
    if (batch.bytes() >= kBytesAtOnce) {
      HEXAD_TRY(batch.apply(index.applied_lsn(), index.applied_epoch()));
    }
    HEXAD_TRY(cursor->next());
  }
  return batch.apply(run.info().last_lsn, epoch);
}

}  // namespace

Result<bool> follow_runs(kv::Index& index, const kv::RunSet& now) {
  const Lsn have = index.applied_lsn();
  std::size_t count = 0;  // runs with something newer, from the newest on
  while (count < now.runs().size() && now.runs()[count]->info().last_lsn > have) ++count;
  // A run that holds everything has no tombstones of what it does not hold.
  if (count > 0 && now.runs()[count - 1]->info().first_lsn == 0) return false;
  for (std::size_t i = count; i-- > 0;) {
    HEXAD_TRY(apply_run(index, *now.runs()[i], now.epoch()));
  }
  return true;
}

IndexRebuild::IndexRebuild(std::unique_ptr<kv::Index> fresh, std::shared_ptr<const kv::RunSet> from)
    : from_(std::move(from)), index_(std::move(fresh)) {}

Result<bool> IndexRebuild::step(std::uint64_t bytes) {
  if (cursor_ == nullptr) {
    if (index_->applied_lsn() == from_->lsn()) return true;
    reader_ = from_->snapshot(from_);
    HEXAD_TRY_ASSIGN(cursor_, reader_->cursor());
    HEXAD_TRY(cursor_->seek_to_first());
  }
  std::uint64_t copied = 0;
  Batch batch(*index_);
  while (cursor_->valid() && copied + batch.bytes() < bytes) {
    batch.add(cursor_->key(), cursor_->value());
    if (batch.bytes() >= kBytesAtOnce) {
      copied += batch.bytes();
      HEXAD_TRY(batch.apply(0, 0));
    }
    HEXAD_TRY(cursor_->next());
  }
  if (cursor_->valid()) {
    HEXAD_TRY(batch.apply(0, 0));
    return false;
  }
  HEXAD_TRY(batch.apply(from_->lsn(), from_->epoch()));
  cursor_.reset();
  reader_.reset();
  return true;
}

Result<bool> IndexRebuild::follow(const kv::RunSet& now) { return follow_runs(*index_, now); }

std::unique_ptr<kv::Index> IndexRebuild::take() { return std::move(index_); }

}  // namespace hexad::core
