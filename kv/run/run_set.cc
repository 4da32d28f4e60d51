#include "kv/run/run_set.h"

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "kv/index_changes.h"
#include "kv/run/run_ahead.h"
#include "kv/run/run_merge_cursor.h"

namespace hexad::kv {
namespace {

class RunSetCursor final : public IndexCursor {
 public:
  RunSetCursor(const RunSet& set, RunCaching caching) : cursor_(set.runs(), caching) {}
  Status seek(std::string_view key) override { return shown_from(cursor_.seek(key)); }
  Status seek_before(std::string_view key) override {
    return shown_up_to(cursor_.seek_before(key));
  }
  Status seek_to_first() override { return shown_from(cursor_.seek_to_first()); }
  Status seek_to_last() override { return shown_up_to(cursor_.seek_to_last()); }
  Status next() override { return shown_from(cursor_.next()); }
  Status prev() override { return shown_up_to(cursor_.prev()); }
  bool valid() const override { return cursor_.valid(); }
  std::string_view key() const override { return cursor_.key(); }
  std::string_view value() const override { return *cursor_.value(); }

 private:
  // The first entry from here on that is not a tombstone.
  Status shown_from(Status status) {
    while (status.ok() && cursor_.valid() && !cursor_.value().has_value()) status = cursor_.next();
    return status;
  }
  Status shown_up_to(Status status) {
    while (status.ok() && cursor_.valid() && !cursor_.value().has_value()) status = cursor_.prev();
    return status;
  }

  RunMergeCursor cursor_;
};

class RunSetReader final : public IndexReader {
 public:
  explicit RunSetReader(std::shared_ptr<const RunSet> set) : set_(std::move(set)) {}

  Result<std::optional<std::string_view>> get(std::string_view key) override {
    HEXAD_TRY(check_index_key(key));
    bool known = false;
    HEXAD_TRY_ASSIGN(auto value, look_up(key, RunReader::Reads::kDataOnly, known));
    if (known) return value;
    // All filters that are missing, and what leads to them, at once.
    RunAhead(set_->runs()).get({&key, 1});
    return look_up(key, RunReader::Reads::kAll, known);
  }
  Result<std::unique_ptr<IndexCursor>> cursor() override {
    return std::unique_ptr<IndexCursor>(
        std::make_unique<RunSetCursor>(*set_, RunCaching::kThrough));
  }
  Result<Peeked> peek(std::string_view key) override {
    HEXAD_TRY(check_index_key(key));
    Peeked peeked;
    HEXAD_TRY_ASSIGN(peeked.value, look_up(key, RunReader::Reads::kNone, peeked.known));
    return peeked;
  }
  Result<std::unique_ptr<IndexCursor>> memory_cursor() override {
    return std::unique_ptr<IndexCursor>(std::make_unique<RunSetCursor>(*set_, RunCaching::kWithin));
  }
  void read_ahead(std::span<const std::string_view> keys) override {
    RunAhead(set_->runs()).get(keys);
  }
  Lsn applied_lsn() const override { return set_->lsn(); }
  Epoch applied_epoch() const override { return set_->epoch(); }

 private:
  // `known`: whether the answer is one; not when something that it needs was not read.
  Result<std::optional<std::string_view>> look_up(std::string_view key, RunReader::Reads reads,
                                                  bool& known) {
    known = true;
    for (const std::shared_ptr<RunReader>& run : set_->runs()) {
      HEXAD_TRY_ASSIGN(RunReader::Found found, run->get(key, reads));
      known = found.known;
      if (!known) break;
      if (!found.there) continue;
      if (!found.value.has_value()) break;  // removed
      if (holders_.size() < kMostHeld) {
        holders_.push_back(std::move(found.holder));
        return found.value;
      }
      values_.emplace_back(*found.value);
      return std::optional<std::string_view>(values_.back());
    }
    return std::optional<std::string_view>();
  }

  const std::shared_ptr<const RunSet> set_;
  // What callers have views of: in their blocks, as long as those are few.
  static constexpr std::size_t kMostHeld = 4;
  std::vector<std::shared_ptr<const RunBlock>> holders_;
  std::deque<std::string> values_;
};

}  // namespace

std::unique_ptr<IndexReader> RunSet::snapshot(std::shared_ptr<const RunSet> self) const {
  HEXAD_ASSERT(self.get() == this);
  return std::make_unique<RunSetReader>(std::move(self));
}

}  // namespace hexad::kv
