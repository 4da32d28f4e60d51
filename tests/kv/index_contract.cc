#include "tests/kv/index_contract.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/units.h"
#include "tests/kv/adversarial_keys.h"
#include "tests/kv/cursor_turns.h"

namespace hexad::kv::testing {

Status apply(Index& index, Lsn lsn, const IndexBatch& batch) {
  std::vector<IndexChange> changes;
  for (const auto& [key, value] : batch) {
    changes.push_back(
        {key, value.has_value() ? std::optional<std::string_view>(*value) : std::nullopt});
  }
  return index.apply(lsn, 1, changes);
}

void update(IndexModel& model, const IndexBatch& batch) {
  for (const auto& [key, value] : batch) {
    if (value.has_value()) {
      model[key] = *value;
    } else {
      model.erase(key);
    }
  }
}

std::string difference(Index& index, const IndexModel& model) {
  Result<std::unique_ptr<IndexReader>> reader = index.snapshot();
  if (!reader.ok()) return reader.error().to_string();
  return difference(**reader, model);
}

std::string difference(IndexReader& reader, const IndexModel& model) {
  Result<std::unique_ptr<IndexCursor>> opened = reader.cursor();
  if (!opened.ok()) return opened.error().to_string();
  IndexCursor& cursor = **opened;
  if (Status status = cursor.seek_to_first(); !status.ok()) return status.error().to_string();
  for (const auto& [key, value] : model) {
    if (!cursor.valid() || cursor.key() != key || cursor.value() != value) return "walk differs";
    const auto found = reader.get(key);
    if (!found.ok()) return found.error().to_string();
    if (*found != value) return "get differs";
    if (Status status = cursor.next(); !status.ok()) return status.error().to_string();
  }
  if (cursor.valid()) return "more entries than there should be";
  if (Status status = cursor.seek_to_last(); !status.ok()) return status.error().to_string();
  for (auto it = model.rbegin(); it != model.rend(); ++it) {
    if (!cursor.valid() || cursor.key() != it->first || cursor.value() != it->second) {
      return "walk backwards differs";
    }
    if (Status status = cursor.prev(); !status.ok()) return status.error().to_string();
  }
  return cursor.valid() ? "more entries backwards than there should be" : "";
}

IndexBatch random_batch(io::Rng& rng, int count, std::uint64_t value_limit) {
  IndexBatch batch;
  for (int i = 0; i < count; ++i) {
    std::string key =
        rng.chance(1, 3) ? adversarial_key(rng) : "key" + std::to_string(rng.below(2000));
    std::optional<std::string>& value = batch[key];
    if (!rng.chance(1, 4))
      value = std::string(rng.below(value_limit), static_cast<char>(rng.next()));
  }
  return batch;
}

void require_cursor_turns(Index& index, IndexModel& model, io::Rng& rng, int steps) {
  const std::unique_ptr<IndexReader> reader = std::move(index.snapshot()).value();
  const std::unique_ptr<IndexCursor> cursor = std::move(reader->cursor()).value();
  const auto probe = [&] {
    return rng.chance(1, 2) ? adversarial_key(rng) : "key" + std::to_string(rng.below(2500));
  };
  require_turns(*cursor, model, rng, probe, steps);
}

namespace {

Uuid store_of(std::uint8_t number) {
  Uuid uuid;
  uuid.bytes[0] = number;
  return uuid;
}

std::unique_ptr<Index> open(IndexWorld& world, io::OpenMode mode = io::OpenMode::kReadWrite) {
  Result<std::unique_ptr<Index>> index = world.home().open(world.directory(), store_of(1), mode);
  if (!index.ok()) FAIL(index.error().to_string());
  return std::move(index).value();
}

std::optional<ErrorCode> open_error(IndexWorld& world, io::OpenMode mode,
                                    const Uuid& store = store_of(1)) {
  const Result<std::unique_ptr<Index>> index = world.home().open(world.directory(), store, mode);
  return index.ok() ? std::nullopt : std::optional(index.error().code);
}

void random_batches_agree_with_a_map(IndexWorld& world) {
  const std::uint64_t seed = 3;
  CAPTURE(seed);
  io::Rng rng(seed);
  std::unique_ptr<Index> index = open(world);
  REQUIRE(index->applied_lsn() == 0);
  REQUIRE(difference(*index, {}) == "");
  IndexModel model;
  for (Lsn lsn = 1; lsn <= 60; ++lsn) {
    const IndexBatch batch = random_batch(rng, 200, lsn % 5 == 0 ? 20000 : 100);
    const Status applied = apply(*index, lsn, batch);
    if (!applied.ok()) FAIL(applied.error().to_string());
    update(model, batch);
    REQUIRE(index->applied_lsn() == lsn);
    if (lsn % 10 != 0) continue;
    REQUIRE(difference(*index, model) == "");
    REQUIRE(index->verify().ok());
    index.reset();
    index = open(world);
    REQUIRE(index->applied_lsn() == lsn);
    REQUIRE(index->applied_epoch() == 1);
    REQUIRE(difference(*index, model) == "");
  }
  IndexStats stats = *index->stats();
  REQUIRE(stats.entries >= model.size());
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : model) bytes += key.size() + value.size();
  REQUIRE(stats.bytes_used + stats.bytes_free <= stats.file_bytes);
  REQUIRE(stats.bytes_used > bytes / 8);  // heads of keys may be shared
  // Nothing is left of what is removed, however it was cut up.
  IndexBatch all;
  for (const auto& [key, value] : model) all[key] = std::nullopt;
  REQUIRE(apply(*index, 61, all).ok());
  REQUIRE(difference(*index, {}) == "");
  REQUIRE(index->verify().ok());
  stats = *index->stats();
  REQUIRE(stats.entries == 0);
  REQUIRE(apply(*index, 62, {{"again", "x"}}).ok());
  REQUIRE(difference(*index, {{"again", "x"}}) == "");
}

void a_cursor_turns_round_anywhere(IndexWorld& world) {
  const std::uint64_t seed = 6;
  CAPTURE(seed);
  io::Rng rng(seed);
  const std::unique_ptr<Index> index = open(world);
  IndexModel model;
  for (Lsn lsn = 1; lsn <= 5; ++lsn) {
    const IndexBatch batch = random_batch(rng, 300, 50);
    REQUIRE(apply(*index, lsn, batch).ok());
    update(model, batch);
    require_cursor_turns(*index, model, rng, 3000);
  }
}

void a_reader_keeps_its_state(IndexWorld& world) {
  const std::unique_ptr<Index> index = open(world);
  REQUIRE(apply(*index, 1, {{"a", "1"}}).ok());
  std::unique_ptr<IndexReader> reader = std::move(*index->snapshot());
  REQUIRE(index->apply(2, 7, std::vector<IndexChange>{{"a", "2"}, {"b", "x"}}).ok());
  REQUIRE(reader->applied_lsn() == 1);
  REQUIRE(reader->applied_epoch() == 1);
  REQUIRE(difference(*reader, {{"a", "1"}}) == "");
  REQUIRE_FALSE(reader->get("b")->has_value());
  reader.reset();
  reader = std::move(*index->snapshot());
  REQUIRE(reader->applied_lsn() == 2);
  REQUIRE(reader->applied_epoch() == 7);
  REQUIRE(**reader->get("a") == "2");
  REQUIRE(reader->get("").error().code == ErrorCode::kInvalidArgument);
  REQUIRE(reader->get(std::string(kMaxIndexKey + 1, 'k')).error().code ==
          ErrorCode::kInvalidArgument);
  REQUIRE_FALSE(reader->get(std::string(kMaxIndexKey, 'k'))->has_value());
}

// Several states at once, each as it was, while changes go on over all of them and the index grows:
// all of it in one thread, which would wait for itself if growing waited for readers.
void many_readers_keep_many_states(IndexWorld& world) {
  const std::uint64_t seed = 9;
  CAPTURE(seed);
  io::Rng rng(seed);
  const std::unique_ptr<Index> index = open(world);
  IndexModel model;
  std::vector<std::pair<std::unique_ptr<IndexReader>, IndexModel>> kept;
  for (Lsn lsn = 1; lsn <= 10; ++lsn) {
    IndexBatch batch = random_batch(rng, 100, 60);
    batch["room"] = std::string(lsn * 1_MiB, 'r');
    REQUIRE(apply(*index, lsn, batch).ok());
    update(model, batch);
    kept.emplace_back(std::move(*index->snapshot()), model);
    for (auto& [reader, state] : kept) REQUIRE(difference(*reader, state) == "");
  }
}

void readers_on_other_threads_see_whole_states(IndexWorld& world) {
  const std::unique_ptr<Index> index = open(world);
  REQUIRE(apply(*index, 1, {{"a", "1"}, {"z", "1"}}).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::unique_ptr<io::Thread>> threads;
  for (int t = 0; t < 3; ++t) {
    threads.push_back(world.executor().start("reader", [&] {
      Lsn last = 0;
      while (!stop) {
        auto reader = index->snapshot();
        if (!reader.ok()) {
          ++wrong;
          continue;
        }
        const std::string lsn = std::to_string((*reader)->applied_lsn());
        if ((*reader)->get("a").value() != lsn || (*reader)->get("z").value() != lsn) ++wrong;
        if ((*reader)->applied_lsn() < last) ++wrong;
        last = (*reader)->applied_lsn();
      }
    }));
  }
  for (Lsn lsn = 2; lsn < 30; ++lsn) {
    // Grows all the time.
    REQUIRE(apply(*index, lsn,
                  {{"a", std::to_string(lsn)},
                   {"b" + std::to_string(lsn), std::string(400000, 'x')},
                   {"z", std::to_string(lsn)}})
                .ok());
  }
  stop = true;
  for (auto& thread : threads) thread->join();
  REQUIRE(wrong == 0);
}

// Each of more than a thousand threads has a reader, all at the same time and of ten states, while
// the index goes on and grows.
void any_number_of_threads_read_at_once(IndexWorld& world) {
  constexpr int kStates = 10;
  constexpr int kThreadsEach = 110;
  const std::unique_ptr<Index> index = open(world);
  std::mutex mutex;
  std::condition_variable changed;
  int reading = 0;
  bool go = false;
  int right = 0;
  std::vector<std::unique_ptr<io::Thread>> threads;
  Lsn lsn = 0;
  const auto next = [&] {
    ++lsn;
    return apply(*index, lsn, {{"a", std::to_string(lsn)}, {"b", std::string(500000, 'x')}});
  };
  for (int state = 0; state < kStates; ++state) {
    REQUIRE(next().ok());
    for (int t = 0; t < kThreadsEach; ++t) {
      threads.push_back(world.executor().start("reader", [&, at = lsn] {
        const auto reader = index->snapshot();
        std::unique_lock<std::mutex> lock(mutex);
        ++reading;
        changed.notify_all();
        changed.wait(lock, [&] { return go; });
        lock.unlock();
        const bool mine = reader.ok() && (*reader)->applied_lsn() == at &&
                          (*reader)->get("a").value() == std::to_string(at);
        lock.lock();
        right += mine ? 1 : 0;
      }));
    }
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return reading == (state + 1) * kThreadsEach; });
  }
  REQUIRE(next().ok());
  REQUIRE(next().ok());
  {
    const std::unique_lock<std::mutex> lock(mutex);
    go = true;
  }
  changed.notify_all();
  for (auto& thread : threads) thread->join();
  REQUIRE(right == kStates * kThreadsEach);
}

void arguments_that_cannot_be_applied_are_refused(IndexWorld& world) {
  const std::unique_ptr<Index> index = open(world);
  const std::string long_key(kMaxIndexKey + 1, 'k');
  const IndexChange unsorted[] = {{"b", "1"}, {"a", "1"}};
  const IndexChange twice[] = {{"b", "1"}, {"b", "2"}};
  const IndexChange empty[] = {{"", "1"}};
  const IndexChange too_long[] = {{long_key, "1"}};
  REQUIRE(index->apply(5, 1, unsorted).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(index->apply(5, 1, twice).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(index->apply(5, 1, empty).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(index->apply(5, 1, too_long).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(index->applied_lsn() == 0);
  REQUIRE(difference(*index, {}) == "");
  REQUIRE(index->apply(5, 1, {}).ok());
  REQUIRE(index->apply(5, 1, {}).ok());  // not back
  REQUIRE(index->apply(4, 1, {}).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(apply(*index, 6, {{std::string(kMaxIndexKey, 'k'), ""}}).ok());
  REQUIRE(difference(*index, {{std::string(kMaxIndexKey, 'k'), ""}}) == "");
}

void reading_alone_changes_nothing(IndexWorld& world) {
  REQUIRE(open_error(world, io::OpenMode::kReadOnly) == ErrorCode::kNotFound);
  {
    const std::unique_ptr<Index> index = open(world);
    REQUIRE(apply(*index, 1, {{"a", "1"}}).ok());
    REQUIRE(open_error(world, io::OpenMode::kReadWrite) == ErrorCode::kBusy);
    REQUIRE(open_error(world, io::OpenMode::kReadOnly) == ErrorCode::kBusy);
  }
  {
    const std::unique_ptr<Index> index = open(world, io::OpenMode::kReadOnly);
    REQUIRE(index->applied_lsn() == 1);
    REQUIRE(difference(*index, {{"a", "1"}}) == "");
    REQUIRE(index->apply(2, 1, {}).error().code == ErrorCode::kReadOnly);
    const std::unique_ptr<Index> second = open(world, io::OpenMode::kReadOnly);  // readers share
    REQUIRE(difference(*second, {{"a", "1"}}) == "");
    REQUIRE(open_error(world, io::OpenMode::kReadWrite) == ErrorCode::kBusy);
  }
  REQUIRE(apply(*open(world), 2, {{"a", "2"}}).ok());
}

void an_index_belongs_to_one_store_until_it_is_removed(IndexWorld& world) {
  REQUIRE(world.home().remove(world.directory()).ok());  // missing
  REQUIRE(apply(*open(world), 1, {{"a", "1"}}).ok());
  REQUIRE(open_error(world, io::OpenMode::kReadWrite, store_of(2)) == ErrorCode::kCorruption);
  REQUIRE(open_error(world, io::OpenMode::kReadOnly, store_of(2)) == ErrorCode::kCorruption);
  REQUIRE(difference(*open(world), {{"a", "1"}}) == "");
  REQUIRE(world.home().remove(world.directory()).ok());
  REQUIRE(open_error(world, io::OpenMode::kReadOnly) == ErrorCode::kNotFound);
  REQUIRE(open_error(world, io::OpenMode::kReadWrite, store_of(2)) == std::nullopt);
  const std::unique_ptr<Index> fresh =
      world.home().open(world.directory(), store_of(2), io::OpenMode::kReadWrite).value();
  REQUIRE(fresh->applied_lsn() == 0);
  REQUIRE(difference(*fresh, {}) == "");
}

void the_size_limit_leaves_the_index_usable(IndexWorld& world) {
  const std::unique_ptr<Index> index = open(world);
  REQUIRE(apply(*index, 1, {{"a", "1"}}).ok());
  const Status full = apply(*index, 2, {{"a", "2"}, {"b", std::string(3_MiB, 'x')}});
  REQUIRE(full.error().code == ErrorCode::kNoSpace);
  REQUIRE_FALSE(full.error().hint.empty());
  REQUIRE(index->applied_lsn() == 1);
  REQUIRE(difference(*index, {{"a", "1"}}) == "");
  REQUIRE(index->verify().ok());
  REQUIRE(apply(*index, 2, {{"b", "small"}}).ok());
  REQUIRE(difference(*index, {{"a", "1"}, {"b", "small"}}) == "");
  // What is removed makes room again.
  REQUIRE(apply(*index, 3, {{"b", std::string(500000, 'x')}}).ok());
  REQUIRE(apply(*index, 4, {{"b", std::nullopt}}).ok());
  REQUIRE(apply(*index, 5, {{"c", std::string(500000, 'y')}}).ok());
  REQUIRE(difference(*index, {{"a", "1"}, {"c", std::string(500000, 'y')}}) == "");
}

}  // namespace

void run_index_contract(const IndexWorldMaker& make) {
  struct Clause {
    const char* name;
    void (*test)(IndexWorld&);
    std::uint64_t max_size = 1_GiB;
  };
  static constexpr Clause kClauses[] = {
      {"random batches agree with a map, also after reopening", random_batches_agree_with_a_map},
      {"a cursor turns round anywhere, at both ends too", a_cursor_turns_round_anywhere},
      {"a reader keeps its state while the index moves on", a_reader_keeps_its_state},
      {"many readers keep many states", many_readers_keep_many_states},
      {"readers on other threads see whole states, while it grows too",
       readers_on_other_threads_see_whole_states},
      {"any number of threads read at once", any_number_of_threads_read_at_once},
      {"arguments that cannot be applied are refused, and change nothing",
       arguments_that_cannot_be_applied_are_refused},
      {"reading alone changes nothing, and one writer excludes all others",
       reading_alone_changes_nothing},
      {"an index belongs to one store until it is removed",
       an_index_belongs_to_one_store_until_it_is_removed},
      {"the size limit is kNoSpace and leaves the index usable",
       the_size_limit_leaves_the_index_usable, 2_MiB},
  };
  for (const Clause& clause : kClauses) {
    SECTION(clause.name) {
      const std::unique_ptr<IndexWorld> world = make(clause.max_size);
      REQUIRE(world != nullptr);
      clause.test(*world);
    }
  }
}

}  // namespace hexad::kv::testing
