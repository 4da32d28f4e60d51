// The recorder is complete, and every crash of a checkpoint leaves the index as it was before or
// after it.
#include "tests/kv/lmdb_recorder.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/units.h"
#include "io/rng.h"
#include "kv/lmdb/lmdb_index.h"
#include "tests/io/file_bytes.h"
#include "tests/io/temporary.h"
#include "tests/kv/adversarial_keys.h"

namespace hexad::kv {
namespace {

using testing::FileEvent;
using Model = std::map<std::string, std::string>;

struct History {
  std::vector<FileEvent> events;
  std::vector<std::size_t> acknowledged;  // [lsn]: events when apply(lsn) had returned
  std::vector<Model> states;              // [lsn]
  std::string file;                       // at the end
};

struct World {
  io::testing::TemporaryDirectory temporary;
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);

  LmdbOptions options(const std::string& name) const {
    LmdbOptions options;
    options.dir = temporary.path(name);
    options.initial_size = 256_KiB;
    return options;
  }
};

// Checkpoints from an empty index on: short and long keys, overflow pages, deletes, growth.
History record(World& world, std::uint64_t seed, int checkpoints, std::uint32_t pages_per_slice) {
  History history;
  LmdbOptions options = world.options("recorded");
  options.pages_per_slice = pages_per_slice;
  std::filesystem::create_directory(options.dir);
  testing::start_recording(options.dir + "/data.mdb",
                           [&](FileEvent event) { history.events.push_back(std::move(event)); });
  {
    std::unique_ptr<Index> index = std::move(*open_lmdb_index(options, *world.executor));
    history.acknowledged.push_back(history.events.size());
    history.states.emplace_back();
    io::Rng rng(seed);
    for (Lsn lsn = 1; lsn <= static_cast<Lsn>(checkpoints); ++lsn) {
      std::map<std::string, std::optional<std::string>> batch;
      for (std::uint64_t i = rng.below(25); i > 0; --i) {
        const std::string key =
            rng.chance(1, 4) ? testing::adversarial_key(rng) : "k" + std::to_string(rng.below(60));
        batch[key];
        if (rng.chance(3, 4)) {
          batch[key] = std::string(rng.below(rng.chance(1, 12) ? 60000 : 300), 'a' + lsn % 26);
        }
      }
      Model next = history.states.back();
      std::vector<IndexChange> changes;
      for (const auto& [key, value] : batch) {
        changes.push_back({key, value});
        next.erase(key);
        if (value.has_value()) next[key] = *value;
      }
      REQUIRE(index->apply(lsn, 1, changes).ok());
      history.acknowledged.push_back(history.events.size());
      history.states.push_back(std::move(next));
    }
  }
  testing::stop_recording();
  history.file = io::testing::file_bytes(options.dir + "/data.mdb");
  return history;
}

bool holds(Index& index, const Model& model) {
  const std::unique_ptr<IndexReader> reader = std::move(*index.snapshot());
  const std::unique_ptr<IndexCursor> cursor = std::move(*reader->cursor());
  if (!cursor->seek_to_first().ok()) return false;
  for (const auto& [key, value] : model) {
    if (!cursor->valid() || cursor->key() != key || cursor->value() != value) return false;
    if (!cursor->next().ok()) return false;
  }
  return !cursor->valid();
}

TEST_CASE("lmdb_recorder: an index counts what it writes, page by page") {
  for (const bool at_random : {true, false}) {
    World world;
    const LmdbOptions options = world.options("counted");
    std::filesystem::create_directory(options.dir);
    std::uint64_t pages = 0;  // a meta page is written in part
    testing::start_recording(options.dir + "/data.mdb", [&](const FileEvent& event) {
      if (event.kind == FileEvent::Kind::kWrite) ++pages;
    });
    {
      const std::unique_ptr<Index> index = std::move(*open_lmdb_index(options, *world.executor));
      const std::uint64_t page = index->stats()->page_size;
      REQUIRE(page == 4096);
      io::Rng rng(3);
      for (Lsn lsn = 1; lsn <= 30; ++lsn) {
        std::map<std::string, std::optional<std::string>> batch;
        for (std::uint64_t i = 0; i < 400; ++i) {
          const std::uint64_t number = at_random ? rng.below(5000) : lsn * 400 + i;
          auto& value = batch["key" + std::to_string(100'000 + number)];
          if (!at_random || rng.chance(9, 10)) {
            value = std::string(rng.chance(1, 50) ? 20'000 : 100, 'v');
          }
        }
        std::vector<IndexChange> changes;
        for (const auto& [key, value] : batch) changes.push_back({key, value});
        const std::uint64_t before = index->bytes_written();
        pages = 0;
        REQUIRE(index->apply(lsn, 1, changes).ok());
        CAPTURE(at_random, lsn);
        REQUIRE(index->bytes_written() - before == pages * page);
      }
    }
    testing::stop_recording();
  }
}

TEST_CASE("lmdb_recorder: replaying all events gives the file byte for byte") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    World world;
    const History history = record(world, seed, 40, 32768);
    std::string image;
    std::size_t durable = 0;
    std::size_t syncs = 0;
    std::size_t resizes = 0;
    for (const FileEvent& event : history.events) {
      testing::replay(image, event);
      durable += event.durable;
      syncs += event.kind == FileEvent::Kind::kSync;
      resizes += event.kind == FileEvent::Kind::kResize;
    }
    REQUIRE(image.size() == history.file.size());
    REQUIRE((image == history.file));
    REQUIRE(durable >= 40);  // a meta page per commit, through O_DSYNC
    REQUIRE(syncs >= 40);
    REQUIRE(resizes >= 2);  // it grew while recorded
  }
}

// Which of the unsynced events survive: all subsets of few, else none, all, each one alone, each
// one missing, and random ones.
std::vector<std::vector<bool>> survivors(std::size_t count, io::Rng& rng) {
  std::vector<std::vector<bool>> found;
  if (count <= 5) {
    for (std::size_t bits = 0; bits < std::size_t{1} << count; ++bits) {
      std::vector<bool> keep(count);
      for (std::size_t i = 0; i < count; ++i) keep[i] = (bits >> i & 1) != 0;
      found.push_back(keep);
    }
    return found;
  }
  found.push_back(std::vector<bool>(count, false));
  found.push_back(std::vector<bool>(count, true));
  for (std::size_t i = 0; i < count; ++i) {
    found.push_back(std::vector<bool>(count, false));
    found.back()[i] = true;
    found.push_back(std::vector<bool>(count, true));
    found.back()[i] = false;
  }
  for (int round = 0; round < 8; ++round) {
    found.push_back(std::vector<bool>(count));
    for (std::size_t i = 0; i < count; ++i) found.back()[i] = rng.chance(1, 2);
  }
  return found;
}

TEST_CASE(
    "lmdb_index: every crash leaves the state of the last checkpoint or of the one under way") {
  std::size_t states = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    World world;
    const History history = record(world, seed, 12, 32768);
    io::Rng rng(seed);
    for (std::size_t cut = 0; cut <= history.events.size(); ++cut) {
      std::size_t acknowledged = 0;  // checkpoints, the empty index counted
      while (acknowledged < history.acknowledged.size() &&
             history.acknowledged[acknowledged] <= cut) {
        ++acknowledged;
      }
      for (const std::vector<bool>& keep :
           survivors(testing::unsynced(history.events, cut).size(), rng)) {
        CAPTURE(seed, cut, acknowledged, keep);
        ++states;
        LmdbOptions options = world.options("crashed");
        options.mode = io::OpenMode::kReadOnly;
        std::filesystem::create_directory(options.dir);
        std::ofstream(options.dir + "/data.mdb", std::ios::binary | std::ios::trunc)
            << testing::crash_image(history.events, cut, keep);
        const Result<std::unique_ptr<Index>> index = open_lmdb_index(options, *world.executor);
        if (!index.ok()) {
          // Only before the creation was complete.
          REQUIRE(acknowledged == 0);
          REQUIRE(index.error().code == ErrorCode::kCorruption);
          continue;
        }
        const Lsn lsn = (*index)->applied_lsn();
        REQUIRE(lsn + 1 >= acknowledged);
        REQUIRE(lsn <= acknowledged);
        REQUIRE((*index)->verify().ok());
        REQUIRE(holds(**index, history.states[lsn]));
      }
    }
  }
  WARN("name=lmdb_crash seeds=2 states=" << states << " violations=0");
}

TEST_CASE("lmdb_index: after a crash between slices, applying the changes again completes them") {
  World world;
  const History history = record(world, 7, 8, 4);
  io::Rng rng(7);
  for (std::size_t cut = history.acknowledged[0]; cut <= history.events.size(); ++cut) {
    CAPTURE(cut);
    std::vector<bool> keep(testing::unsynced(history.events, cut).size());
    for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = rng.chance(1, 2);
    const LmdbOptions options = world.options("crashed");
    std::filesystem::remove_all(options.dir);
    std::filesystem::create_directory(options.dir);
    std::ofstream(options.dir + "/data.mdb", std::ios::binary)
        << testing::crash_image(history.events, cut, keep);
    Result<std::unique_ptr<Index>> index = open_lmdb_index(options, *world.executor);
    REQUIRE(index.ok());
    REQUIRE((*index)->verify().ok());
    const Lsn lsn = (*index)->applied_lsn();
    if (lsn + 1 == history.states.size()) continue;
    // What the log would give again: everything after the LSN.
    const Model& before = history.states[lsn];
    const Model& after = history.states[lsn + 1];
    Model all = before;
    all.insert(after.begin(), after.end());
    std::vector<IndexChange> changes;
    for (const auto& [key, value] : all) {
      const auto it = after.find(key);
      changes.push_back(
          {key, it == after.end() ? std::nullopt : std::optional<std::string_view>(it->second)});
    }
    REQUIRE((*index)->apply(lsn + 1, 1, changes).ok());
    REQUIRE(holds(**index, after));
  }
}

}  // namespace
}  // namespace hexad::kv
