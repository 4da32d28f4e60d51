#include "kv/tiered/tiered_index.h"

#include <string>
#include <utility>

#include "base/assert.h"

namespace hexad::kv {

namespace {

// Whether the index itself is at fault, and not what it was asked.
bool is_damage(const Status& status) {
  return !status.ok() &&
         (status.error().code == ErrorCode::kCorruption || status.error().code == ErrorCode::kIo);
}

}  // namespace

template <typename Ask>
auto TieredIndex::counted(const Ask& ask) {
  const bool timed = answers_.fetch_add(1, std::memory_order_relaxed) % kTimedOneOf == 0;
  if (!timed) return ask();
  const io::Nanos began = clock_.now();
  auto answer = ask();
  nanos_.fetch_add(clock_.now() - began, std::memory_order_relaxed);
  timed_.fetch_add(1, std::memory_order_relaxed);
  return answer;
}

TieredIndex::Tally TieredIndex::tally() const {
  return {answers_.load(std::memory_order_relaxed), timed_.load(std::memory_order_relaxed),
          nanos_.load(std::memory_order_relaxed)};
}

// Of the fast index, and of the runs of the same state from the first damage on.
class TieredReader final : public IndexReader {
 public:
  TieredReader(TieredIndex& owner, std::shared_ptr<Index> index,
               std::unique_ptr<IndexReader> reader, std::shared_ptr<const RunSet> runs)
      : owner_(owner), index_(std::move(index)), fast_(std::move(reader)), runs_(std::move(runs)) {}

  Result<std::optional<std::string_view>> get(std::string_view key) override {
    if (!slow_) {
      Result<std::optional<std::string_view>> found =
          owner_.counted([&] { return fast_->get(key); });
      if (!is_damage(found.status()) || !may_fall_back()) return found;
    }
    return slow().get(key);
  }
  Result<std::unique_ptr<IndexCursor>> cursor() override { return cursor(Reading::kAnything); }
  Result<Peeked> peek(std::string_view key) override {
    if (!slow_) {
      Result<Peeked> found = owner_.counted([&] { return fast_->peek(key); });
      if (!is_damage(found.status()) || !may_fall_back()) return found;
    }
    return slow().peek(key);
  }
  Result<std::unique_ptr<IndexCursor>> memory_cursor() override { return cursor(Reading::kMemory); }
  void read_ahead(std::span<const std::string_view> keys) override {
    (slow_ ? *slow_ : *fast_).read_ahead(keys);
  }
  Lsn applied_lsn() const override { return fast_->applied_lsn(); }
  Epoch applied_epoch() const override { return fast_->applied_epoch(); }

  // False: there are no runs that could answer.
  bool may_fall_back() {
    if (runs_->lsn() == 0) return false;
    owner_.drop(index_.get());
    return true;
  }
  enum class Reading : std::uint8_t { kAnything, kMemory };
  Result<std::unique_ptr<IndexCursor>> slow_cursor(Reading reading) {
    return reading == Reading::kMemory ? slow().memory_cursor() : slow().cursor();
  }
  IndexReader& slow() {
    if (!slow_) slow_ = runs_->snapshot(runs_);
    return *slow_;
  }

 private:
  Result<std::unique_ptr<IndexCursor>> cursor(Reading reading);

  TieredIndex& owner_;
  std::shared_ptr<Index> index_;  // outlives the reader
  std::unique_ptr<IndexReader> fast_;
  std::shared_ptr<const RunSet> runs_;
  std::unique_ptr<IndexReader> slow_;
};

namespace {

class TieredCursor final : public IndexCursor {
 public:
  TieredCursor(TieredReader& reader, std::unique_ptr<IndexCursor> cursor,
               TieredReader::Reading reading)
      : reader_(reader), cursor_(std::move(cursor)), reading_(reading) {}

  Status seek(std::string_view key) override {
    return run([key](IndexCursor& cursor) { return cursor.seek(key); });
  }
  Status seek_before(std::string_view key) override {
    return run([key](IndexCursor& cursor) { return cursor.seek_before(key); });
  }
  Status seek_to_first() override {
    return run([](IndexCursor& cursor) { return cursor.seek_to_first(); });
  }
  Status seek_to_last() override {
    return run([](IndexCursor& cursor) { return cursor.seek_to_last(); });
  }
  Status next() override {
    if (fallen_back_) return cursor_->next();
    from_.assign(cursor_->key());
    Status status = cursor_->next();
    if (!is_damage(status) || !reader_.may_fall_back()) return status;
    HEXAD_TRY(fall_back());
    return seek_behind(from_);
  }
  Status prev() override {
    if (fallen_back_) return cursor_->prev();
    from_.assign(cursor_->key());
    Status status = cursor_->prev();
    if (!is_damage(status) || !reader_.may_fall_back()) return status;
    HEXAD_TRY(fall_back());
    return cursor_->seek_before(from_);
  }
  Result<std::size_t> advance(Direction direction, std::span<KeyValue> into) override {
    if (fallen_back_) return cursor_->advance(direction, into);
    from_.assign(cursor_->key());
    Result<std::size_t> passed = cursor_->advance(direction, into);
    if (!is_damage(passed.status()) || !reader_.may_fall_back()) return passed;
    HEXAD_TRY(fall_back());
    HEXAD_TRY(direction == Direction::kForward ? seek_behind(from_) : cursor_->seek_before(from_));
    if (!cursor_->valid()) return std::size_t{0};
    into[0] = {cursor_->key(), cursor_->value()};
    return std::size_t{1};
  }
  bool valid() const override { return cursor_->valid(); }
  std::string_view key() const override { return cursor_->key(); }
  std::string_view value() const override { return cursor_->value(); }

 private:
  template <typename Seek>
  Status run(const Seek& seek) {
    Status status = seek(*cursor_);
    if (fallen_back_ || !is_damage(status) || !reader_.may_fall_back()) return status;
    HEXAD_TRY(fall_back());
    return seek(*cursor_);
  }
  Status seek_behind(std::string_view key) {
    HEXAD_TRY(cursor_->seek(key));
    return cursor_->valid() && cursor_->key() == key ? cursor_->next() : Status();
  }
  Status fall_back() {
    HEXAD_TRY_ASSIGN(cursor_, reader_.slow_cursor(reading_));
    fallen_back_ = true;
    return {};
  }

  TieredReader& reader_;
  std::unique_ptr<IndexCursor> cursor_;
  const TieredReader::Reading reading_;
  bool fallen_back_ = false;
  std::string from_;
};

}  // namespace

Result<std::unique_ptr<IndexCursor>> TieredReader::cursor(Reading reading) {
  if (slow_) return slow_cursor(reading);
  Result<std::unique_ptr<IndexCursor>> cursor =
      reading == Reading::kMemory ? fast_->memory_cursor() : fast_->cursor();
  if (!cursor.ok()) {
    if (!is_damage(cursor.status()) || !may_fall_back()) return cursor;
    return slow_cursor(reading);
  }
  return std::unique_ptr<IndexCursor>(
      std::make_unique<TieredCursor>(*this, std::move(cursor).value(), reading));
}

TieredIndex::TieredIndex(io::Executor& executor, std::shared_ptr<const RunSet> runs,
                         std::unique_ptr<Index> fast)
    : mutex_(executor), runs_(std::move(runs)), fast_(std::move(fast)), clock_(executor.clock()) {}

std::shared_ptr<Index> TieredIndex::fast() const {
  const io::Lock lock(mutex_);
  return fast_;
}

std::shared_ptr<const RunSet> TieredIndex::runs() const {
  const io::Lock lock(mutex_);
  return runs_;
}

bool TieredIndex::has_fast() const { return fast() != nullptr; }

void TieredIndex::advance(std::shared_ptr<const RunSet> runs) {
  {
    const io::Lock lock(mutex_);
    HEXAD_ASSERT(runs->lsn() >= runs_->lsn());
    std::swap(runs_, runs);
  }
  // Here the runs of before go, unless somebody reads them.
}

Status TieredIndex::apply(Lsn lsn, Epoch epoch, std::span<const IndexChange> changes) {
  const std::shared_ptr<Index> index = fast();
  if (index == nullptr) return {};
  const std::uint64_t before = index->bytes_written();
  Status applied = index->apply(lsn, epoch, changes);
  written_.fetch_add(index->bytes_written() - before, std::memory_order_relaxed);
  return applied;
}

void TieredIndex::detach() {
  std::shared_ptr<Index> index;
  const io::Lock lock(mutex_);
  if (fast_ == nullptr) return;  // a reader has dropped it, and perhaps reads it yet
  detached_ = fast_;
  std::swap(index, fast_);
}

void TieredIndex::drop(const Index* index) {
  std::shared_ptr<Index> gone;
  const io::Lock lock(mutex_);
  if (fast_.get() != index) return;
  damages_.fetch_add(1, std::memory_order_relaxed);
  detached_ = fast_;
  std::swap(gone, fast_);
}

bool TieredIndex::detached_is_gone() const {
  const io::Lock lock(mutex_);
  return detached_.expired();
}

void TieredIndex::attach(std::unique_ptr<Index> fast) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(fast_ == nullptr && fast->applied_lsn() == runs_->lsn());
  fast_ = std::move(fast);
}

Result<std::unique_ptr<IndexReader>> TieredIndex::snapshot() {
  std::shared_ptr<Index> index;
  std::shared_ptr<const RunSet> runs;
  {
    const io::Lock lock(mutex_);
    index = fast_;
    runs = runs_;
  }
  // Without the lock, which is held for moments only: this looks at the file.
  if (index == nullptr) return runs->snapshot(runs);
  Result<std::unique_ptr<IndexReader>> reader = index->snapshot();
  if (!reader.ok()) {
    if (!is_damage(reader.status()) || runs->lsn() == 0) return reader.error();
    drop(index.get());
    return runs->snapshot(runs);
  }
  return std::unique_ptr<IndexReader>(std::make_unique<TieredReader>(
      *this, std::move(index), std::move(reader).value(), std::move(runs)));
}

Lsn TieredIndex::applied_lsn() const {
  const io::Lock lock(mutex_);
  return runs_->lsn() > 0 || fast_ == nullptr ? runs_->lsn() : fast_->applied_lsn();
}

Epoch TieredIndex::applied_epoch() const {
  const io::Lock lock(mutex_);
  return runs_->lsn() > 0 || fast_ == nullptr ? runs_->epoch() : fast_->applied_epoch();
}

Result<IndexStats> TieredIndex::stats() {
  const std::shared_ptr<Index> index = fast();
  return index == nullptr ? Result<IndexStats>(IndexStats()) : index->stats();
}

Status TieredIndex::verify() {
  const std::shared_ptr<Index> index = fast();
  return index == nullptr ? Status() : index->verify();
}

}  // namespace hexad::kv
