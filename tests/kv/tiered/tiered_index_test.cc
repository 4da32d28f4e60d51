#include "kv/tiered/tiered_index.h"

#include <catch2/catch.hpp>

#include "kv/memory/memory_index.h"
#include "tests/kv/forwarding_index.h"
#include "tests/kv/index_contract.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

IndexBatch batch_of(const RunModel& model) { return {model.begin(), model.end()}; }

// A fast index and a run that hold the same.
struct Fixture {
  explicit Fixture(std::size_t count = 300) {
    io::Rng rng(1);
    model = random_run(rng, count);
    for (auto it = model.begin(); it != model.end();) {
      it = it->second.has_value() ? std::next(it) : model.erase(it);
    }
    update(values, batch_of(model));
    runs = std::make_shared<const RunSet>(
        std::vector<std::shared_ptr<RunReader>>{write_run(model, 0, 5).open()}, 5, 1);
  }
  std::unique_ptr<Index> fast() {
    std::unique_ptr<Index> index =
        home->open("index", run_store(), io::OpenMode::kReadWrite).value();
    if (index->applied_lsn() == 0) REQUIRE(apply(*index, 5, batch_of(model)).ok());
    return index;
  }

  std::unique_ptr<IndexHome> home = make_memory_index_home(run_executor());
  RunModel model;
  IndexModel values;
  std::shared_ptr<const RunSet> runs;
};

// Of an index whose entries are sound up to some number of steps.
class BrokenIndex final : public hexad::testing::ForwardingIndex {
 public:
  using ForwardingIndex::ForwardingIndex;

  Result<std::unique_ptr<IndexReader>> snapshot() override {
    if (good_snapshots_-- == 0) return damage();
    HEXAD_TRY_ASSIGN(std::unique_ptr<IndexReader> reader, ForwardingIndex::snapshot());
    return std::unique_ptr<IndexReader>(std::make_unique<Reader>(std::move(reader), left_));
  }
  static Error damage() { return {ErrorCode::kCorruption, "a damaged entry", ""}; }

  int good_snapshots_ = 1000;
  std::shared_ptr<int> left_ = std::make_shared<int>(0);

 private:
  class Cursor final : public IndexCursor {
   public:
    Cursor(std::unique_ptr<IndexCursor> inner, std::shared_ptr<int> left)
        : inner_(std::move(inner)), left_(std::move(left)) {}
    Status seek(std::string_view key) override { return run(inner_->seek(key)); }
    Status seek_before(std::string_view key) override { return run(inner_->seek_before(key)); }
    Status seek_to_first() override { return run(inner_->seek_to_first()); }
    Status seek_to_last() override { return run(inner_->seek_to_last()); }
    Status next() override { return run(inner_->next()); }
    Status prev() override { return run(inner_->prev()); }
    bool valid() const override { return inner_->valid(); }
    std::string_view key() const override { return inner_->key(); }
    std::string_view value() const override { return inner_->value(); }

   private:
    Status run(Status status) {
      if ((*left_)-- == 0) return damage();
      return status;
    }
    std::unique_ptr<IndexCursor> inner_;
    std::shared_ptr<int> left_;
  };
  class Reader final : public IndexReader {
   public:
    Reader(std::unique_ptr<IndexReader> inner, std::shared_ptr<int> left)
        : inner_(std::move(inner)), left_(std::move(left)) {}
    Result<std::optional<std::string_view>> get(std::string_view key) override {
      if ((*left_)-- == 0) return damage();
      return inner_->get(key);
    }
    Result<std::unique_ptr<IndexCursor>> cursor() override {
      HEXAD_TRY_ASSIGN(std::unique_ptr<IndexCursor> cursor, inner_->cursor());
      return std::unique_ptr<IndexCursor>(std::make_unique<Cursor>(std::move(cursor), left_));
    }
    Lsn applied_lsn() const override { return inner_->applied_lsn(); }
    Epoch applied_epoch() const override { return inner_->applied_epoch(); }

   private:
    std::unique_ptr<IndexReader> inner_;
    std::shared_ptr<int> left_;
  };
};

TEST_CASE("tiered index: the fast index answers, and without one the runs do") {
  Fixture f;
  TieredIndex index(run_executor(), f.runs, f.fast());
  CHECK(index.has_fast());
  CHECK(difference(index, f.values) == "");
  CHECK(index.stats()->entries > 0);
  std::unique_ptr<IndexReader> reader = index.snapshot().value();
  index.detach();
  CHECK_FALSE(index.has_fast());
  CHECK_FALSE(index.detached_is_gone());
  CHECK(reader->get(f.values.begin()->first)->has_value());
  reader.reset();
  CHECK(index.detached_is_gone());
  CHECK(difference(index, f.values) == "");
  CHECK(index.applied_lsn() == 5);
  CHECK(index.stats()->entries == 0);
  CHECK(index.verify().ok());
  CHECK(apply(index, 6, {}).ok());
  index.attach(f.fast());
  CHECK(index.has_fast());
  CHECK(difference(index, f.values) == "");
}

TEST_CASE("tiered index: an index from before there were runs is what counts") {
  Fixture f;
  const auto none = std::make_shared<const RunSet>(std::vector<std::shared_ptr<RunReader>>(), 0, 0);
  TieredIndex index(run_executor(), none, f.fast());
  CHECK(index.applied_lsn() == 5);
  CHECK(difference(index, f.values) == "");
}

TEST_CASE("tiered index: readers keep the runs that they began with") {
  Fixture f;
  TieredIndex index(run_executor(), f.runs, nullptr);
  const std::unique_ptr<IndexReader> reader = index.snapshot().value();
  RunModel removed;
  for (const auto& [key, value] : f.model) removed[key] = std::nullopt;
  std::vector<std::shared_ptr<RunReader>> runs = f.runs->runs();
  runs.insert(runs.begin(), write_run(removed, 5, 9).open());
  index.advance(std::make_shared<const RunSet>(runs, 9, 2));
  CHECK(index.applied_lsn() == 9);
  CHECK(index.applied_epoch() == 2);
  CHECK(difference(index, {}) == "");
  for (const auto& [key, value] : f.values) REQUIRE(*reader->get(key).value() == value);
}

TEST_CASE("tiered index: whoever meets damage goes on in the runs, from where it was") {
  Fixture f(120);
  const auto broken_after = [&](int steps) {
    auto broken = std::make_unique<BrokenIndex>(f.fast());
    *broken->left_ = steps;
    return broken;
  };
  for (int steps = 0; steps < 130; ++steps) {
    CAPTURE(steps);
    const int found = static_cast<int>(f.values.size());
    {
      TieredIndex index(run_executor(), f.runs, broken_after(steps));
      const std::unique_ptr<IndexReader> reader = index.snapshot().value();
      const std::unique_ptr<IndexCursor> cursor = reader->cursor().value();
      REQUIRE(cursor->seek_to_first().ok());
      for (const auto& [key, value] : f.values) {
        REQUIRE(cursor->valid());
        REQUIRE((cursor->key() == key && cursor->value() == value));
        REQUIRE(cursor->next().ok());
      }
      REQUIRE_FALSE(cursor->valid());
      REQUIRE(index.has_fast() == (steps > found));
      REQUIRE(index.damages() == (steps > found ? 0 : 1));
    }
    {
      TieredIndex index(run_executor(), f.runs, broken_after(steps));
      const std::unique_ptr<IndexReader> reader = index.snapshot().value();
      const std::unique_ptr<IndexCursor> cursor = reader->cursor().value();
      REQUIRE(cursor->seek_to_last().ok());
      for (auto it = f.values.rbegin(); it != f.values.rend(); ++it) {
        REQUIRE(cursor->valid());
        REQUIRE((cursor->key() == it->first && cursor->value() == it->second));
        REQUIRE(cursor->prev().ok());
      }
      REQUIRE_FALSE(cursor->valid());
    }
    {
      TieredIndex index(run_executor(), f.runs, broken_after(steps));
      REQUIRE(difference(index, f.values) == "");
    }
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      const bool forward = direction == Direction::kForward;
      TieredIndex index(run_executor(), f.runs, broken_after(steps));
      const std::unique_ptr<IndexReader> reader = index.snapshot().value();
      const std::unique_ptr<IndexCursor> cursor = reader->cursor().value();
      REQUIRE((forward ? cursor->seek_to_first() : cursor->seek_to_last()).ok());
      IndexModel walked;
      std::array<KeyValue, 7> entries{{{cursor->key(), cursor->value()}}};
      for (std::size_t passed = 1; passed > 0;) {
        for (std::size_t i = 0; i < passed; ++i) walked.emplace(entries[i].key, entries[i].value);
        passed = cursor->advance(direction, entries).value();
      }
      REQUIRE_FALSE(cursor->valid());
      REQUIRE(walked == f.values);
    }
  }
}

TEST_CASE("tiered index: one that is dropped twice is not gone before its readers are") {
  Fixture f;
  auto broken = std::make_unique<BrokenIndex>(f.fast());
  TieredIndex index(run_executor(), f.runs, std::move(broken));
  std::unique_ptr<IndexReader> reader = index.snapshot().value();
  CHECK(reader->get(f.values.begin()->first)->has_value());  // it meets damage
  CHECK_FALSE(index.has_fast());
  // A checkpoint that had begun to apply to it meets that, too.
  index.detach();
  CHECK_FALSE(index.detached_is_gone());
  reader.reset();
  CHECK(index.detached_is_gone());
}

TEST_CASE(
    "tiered index: an index that gives no snapshot is dropped, and one without runs reports") {
  Fixture f;
  auto broken = std::make_unique<BrokenIndex>(f.fast());
  broken->good_snapshots_ = 0;
  TieredIndex index(run_executor(), f.runs, std::move(broken));
  CHECK(difference(index, f.values) == "");
  CHECK_FALSE(index.has_fast());
  const auto none = std::make_shared<const RunSet>(std::vector<std::shared_ptr<RunReader>>(), 0, 0);
  TieredIndex alone(run_executor(), none, std::make_unique<BrokenIndex>(f.fast()));
  const std::unique_ptr<IndexReader> reader = alone.snapshot().value();
  CHECK(reader->get("a").error().code == ErrorCode::kCorruption);
  CHECK(alone.has_fast());
}

// Writes 100 bytes for each apply().
class PagedIndex final : public hexad::testing::ForwardingIndex {
 public:
  using ForwardingIndex::ForwardingIndex;
  Status apply(Lsn lsn, Epoch epoch, std::span<const IndexChange> changes) override {
    written_ += 100;
    return ForwardingIndex::apply(lsn, epoch, changes);
  }
  std::uint64_t bytes_written() const override { return written_; }

 private:
  std::uint64_t written_ = 7000;  // before it was attached
};

TEST_CASE("tiered index: what was written is that of all fast indexes, since each was there") {
  Fixture f;
  TieredIndex index(run_executor(), f.runs, std::make_unique<PagedIndex>(f.fast()));
  CHECK(index.bytes_written() == 0);
  REQUIRE(apply(index, 5, {}).ok());
  REQUIRE(apply(index, 5, {}).ok());
  CHECK(index.bytes_written() == 200);
  index.detach();
  REQUIRE(apply(index, 5, {}).ok());  // there is none
  CHECK(index.bytes_written() == 200);
  index.attach(std::make_unique<PagedIndex>(f.fast()));
  REQUIRE(apply(index, 5, {}).ok());
  CHECK(index.bytes_written() == 300);
}

}  // namespace
}  // namespace hexad::kv
