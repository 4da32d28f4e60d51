// An index that does not fit the fast tier: blocks of the runs are there in its place, so that
// look-ups ask the fast device and not those of the data; and whatever becomes of those blocks, the
// store has what it had.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/units.h"
#include "core/engine/engine.h"
#include "core/opening/format.h"
#include "core/opening/opening.h"
#include "core/opening/pool_options.h"
#include "io/rng.h"
#include "io/sim/sim_system.h"
#include "kv/memory/memory_index.h"
#include "tests/base/campaign.h"
#include "tests/core/faults/plain_content.h"
#include "tests/core/store_fixture.h"
#include "tests/core/store_runner.h"

namespace hexad::testing {
namespace {

constexpr const char* kKept = "which holds blocks of the runs in its place";

FormatOptions format_of_size(std::uint64_t device_size) {
  FormatOptions options = small_format();
  options.device_size = device_size;
  return options;
}

// Memory for pieces of runs, and room for the index, in which those are then.
struct Limits {
  std::uint64_t memory = 64_KiB;
  std::uint64_t index = 1_MiB;
};

Result<Store> open_limited(const PoolDescription& pool, const RuntimeOptions& options,
                           io::System& system, kv::IndexHome& indexes, const Limits& limits) {
  HEXAD_TRY_ASSIGN(core::StoreParts parts, core::open_parts(pool, options, &system, &indexes));
  parts.cache->keep_less_of_runs(limits.memory);
  auto engine = std::make_unique<core::Engine>(std::move(parts));
  HEXAD_TRY(engine->start());
  return Store(std::move(engine));
}

class World {
 public:
  explicit World(const Limits& limits = {}) : limits_(limits) {
    Store store = open();
    for (int i = 0; i < kObjects; ++i) put(store, i);
    REQUIRE(message_of(store.checkpoint()) == "");
    REQUIRE(message_of(store.close()) == "");
  }

  Store open() {
    RuntimeOptions options;
    options.cache_size = 0;
    Result<Store> store = open_limited(fixture.pool, options, fixture.memory, *indexes_, limits_);
    if (!store.ok()) FAIL(store.error().to_string());
    return std::move(store).value();
  }
  static std::string name(int i) { return "object-" + std::to_string(i * 7919 % kObjects); }
  // Metadata that compresses to a tenth or so.
  void put(Store& store, int i, int version = 0) {
    const std::string value = noise(60, static_cast<std::uint64_t>(i + 1'000'000 * version));
    Transaction t;
    t.put(kBucket, name(i), value);
    t.set_attrs(kBucket, name(i), {{"long", std::string(900, static_cast<char>('a' + i % 26))}});
    REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
    values_[name(i)] = value;
  }
  // The index has been tried, and given up.
  void wait_for_room(Store& store) {
    while (!says(store, kKept)) std::this_thread::yield();
  }
  static std::uint64_t reads_of_data_devices(Store& store) {
    std::uint64_t reads = 0;
    for (const DeviceStatus& device : store.status().devices) {
      if (device.role == "data") reads += device.reads;
    }
    return reads;
  }
  // Of every so many; how many reads of data devices that took.
  std::uint64_t look_up(Store& store, int step = 1) {
    const std::uint64_t before = reads_of_data_devices(store);
    int at = 0;
    for (const auto& [of, value] : values_) {
      if (at++ % step == 0) REQUIRE(get(store, of) == value);
    }
    return reads_of_data_devices(store) - before;
  }
  std::shared_ptr<io::MemoryMedia> blocks() {
    return fixture.memory.media(core::resident_path(fixture.pool.fast_directories));
  }

  static constexpr int kObjects = 4000;
  StoreFixture fixture{format_of_size(24_MiB)};

 private:
  const Limits limits_;
  const std::unique_ptr<kv::IndexHome> indexes_ =
      kv::make_memory_index_home(fixture.memory.executor(), {limits_.index});
  std::map<std::string, std::string> values_;
};

TEST_CASE("resident runs: where the index does not fit, look-ups find blocks on the fast device") {
  World world;
  Store store = world.open();
  world.wait_for_room(store);
  REQUIRE(store.space()->metadata == 0);
  const std::uint64_t cold = world.look_up(store);
  REQUIRE(counter(store, "run_resident_bytes") > 0);
  const std::uint64_t found = counter(store, "run_resident_hits");
  const std::uint64_t warm = world.look_up(store);
  CAPTURE(cold, warm, store.status().notes);
  REQUIRE(cold > 30);
  REQUIRE(warm == 0);
  REQUIRE(counter(store, "run_resident_hits") > found + 100);
  REQUIRE(counter(store, "run_resident_errors") == 0);
  REQUIRE(deep_findings(store) == "");
  REQUIRE(message_of(store.close()) == "");
}

TEST_CASE("resident runs: merges and checkpoints take the blocks of old runs away",
          "[one-thread]") {
  World world;
  Store store = world.open();
  world.wait_for_room(store);
  for (int version = 1; version <= 12; ++version) {
    for (int i = version; i < World::kObjects; i += 40) world.put(store, i, version);
    REQUIRE(message_of(store.checkpoint()) == "");
    world.look_up(store, 7);
  }
  world.look_up(store);
  REQUIRE(counter(store, "runs_merged") > 0);
  REQUIRE(says(store, kKept));
  REQUIRE(counter(store, "run_resident_errors") == 0);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("resident runs: whatever becomes of the file, the store has what it had",
          "[one-thread]") {
  World world;
  {
    Store store = world.open();
    world.wait_for_room(store);
    world.look_up(store);
    SECTION("all of it rots") {
      const auto media = world.blocks();
      Bytes all(media->size());
      media->read(0, all);
      for (std::byte& byte : all) byte ^= std::byte{0x10};
      media->write(0, all);
      world.look_up(store);
      REQUIRE(counter(store, "run_resident_errors") > 0);
    }
    SECTION("it reads as zeros here and there") {
      world.blocks()->discard(0, 64_KiB);
      world.look_up(store);
      REQUIRE(counter(store, "run_resident_errors") > 0);
    }
    SECTION("it is deleted") {
      world.fixture.memory.remove_device(core::resident_path(world.fixture.pool.fast_directories));
      world.look_up(store);
    }
    world.look_up(store);
    REQUIRE(deep_findings(store) == "");
    REQUIRE(message_of(store.close()) == "");
  }
  // What is found there afterwards means nothing.
  Store again = world.open();
  world.wait_for_room(again);
  world.look_up(again);
  world.look_up(again);
  REQUIRE(deep_findings(again) == "");
}

TEST_CASE("resident runs: an index that fits again gets its room back", "[one-thread]") {
  World world;
  Store store = world.open();
  world.wait_for_room(store);
  world.look_up(store);
  for (int i = 0; i < World::kObjects; ++i) {
    if (i % 8 == 0) continue;
    REQUIRE(message_of(::hexad::testing::remove(store, World::name(i)).status()) == "");
  }
  int version = 100;
  while (counter(store, "indexes_rebuilt") == 0) {
    world.put(store, 0, ++version);
    REQUIRE(message_of(store.checkpoint()) == "");
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  }
  while (says(store, "making a new index")) std::this_thread::yield();
  REQUIRE_FALSE(says(store, kKept));
  REQUIRE(store.space()->metadata > 0);
  for (int i = 0; i < World::kObjects; i += 8) {
    if (i != 0) REQUIRE(get(store, World::name(i)).size() == 60);
  }
  REQUIRE(deep_findings(store) == "");
  REQUIRE(message_of(store.close()) == "");
}

TEST_CASE("resident runs: a room that others have open costs look-ups, and nothing else",
          "[one-thread]") {
  World world;
  const auto held = world.fixture.memory.create_device(
      core::resident_path(world.fixture.pool.fast_directories), 1_MiB);
  REQUIRE(held.ok());
  Store store = world.open();
  while (!says(store, "no blocks of the runs are kept")) std::this_thread::yield();
  world.look_up(store);
  REQUIRE(counter(store, "run_resident_hits") == 0);
  REQUIRE(deep_findings(store) == "");
}

// Of indexes that are smaller than the room that there is, which changes.
class SmallHome final : public kv::IndexHome {
 public:
  SmallHome(io::Executor& executor, std::uint64_t most)
      : inner_(kv::make_memory_index_home(executor, {most})) {}
  Result<std::unique_ptr<kv::Index>> open(const std::string& directory, const Uuid& store,
                                          io::OpenMode mode) override {
    return inner_->open(directory, store, mode);
  }
  Status remove(const std::string& directory) override { return inner_->remove(directory); }
  std::optional<std::uint64_t> room(const std::string&) override { return left.load(); }

  std::atomic<std::uint64_t> left = 1_MiB;

 private:
  const std::unique_ptr<kv::IndexHome> inner_;
};

TEST_CASE("resident runs: a fast device that fails, lies or does not answer costs hits alone") {
  const io::FaultKind kind = GENERATE(
      io::FaultKind::kReadError, io::FaultKind::kReadFlip, io::FaultKind::kReadFlipStored,
      io::FaultKind::kReadZeros, io::FaultKind::kReadMisdirected, io::FaultKind::kWriteErrorPartly,
      io::FaultKind::kWriteTorn, io::FaultKind::kWriteLost, io::FaultKind::kWriteMisdirected,
      io::FaultKind::kWriteNoSpace, io::FaultKind::kDeviceError, io::FaultKind::kRefused,
      io::FaultKind::kSlow, io::FaultKind::kHang);
  CAPTURE(io::to_string(kind));
  constexpr int kFew = 400;
  const auto name = [](int i) { return "object-" + std::to_string(i * 7919 % kFew); };
  io::SimSystem system(io::SimOptions{.seed = 5});
  system.run([&] {
    SmallHome indexes(system.executor(), 16_KiB);
    FormatOptions format = format_of_size(8_MiB);
    for (int i = 0; i < 6; ++i) format.devices.push_back("dev" + std::to_string(i));
    format.fast_directories = {"fast"};
    const PoolDescription pool = core::format_devices(format, system, &indexes).value();
    RuntimeOptions options;
    options.cache_size = 0;
    {
      Store store = open_limited(pool, options, system, indexes, {64_KiB, 0}).value();
      Transaction first;
      first.create_collection(kBucket);
      REQUIRE(message_of(store.commit(std::move(first)).status()) == "");
      for (int i = 0; i < kFew; ++i) {
        Transaction t;
        t.put(kBucket, name(i), noise(60, static_cast<std::uint64_t>(i)));
        t.set_attrs(kBucket, name(i), {{"noise", noise(800, static_cast<std::uint64_t>(i))}});
        REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
      }
      REQUIRE(message_of(store.checkpoint()) == "");
      while (!says(store, kKept)) system.executor().sleep_for(1'000'000);
      const auto look_up = [&] {
        for (int i = 0; i < kFew; ++i) {
          REQUIRE(get(store, name(i)) == noise(60, static_cast<std::uint64_t>(i)));
        }
      };
      io::SimDisk& disk = system.disk(core::resident_path(pool.fast_directories));
      disk.inject({.kind = kind,
                   .times = io::Fault::kForever,
                   .amount = kind == io::FaultKind::kSlow ? 100000u : 0u});
      for (int round = 0; round < 3; ++round) look_up();
      REQUIRE(disk.struck(kind) > 0);
      disk.clear_faults();
      disk.release_hung();
      look_up();
      REQUIRE(deep_findings(store) == "");
      REQUIRE(message_of(store.close()) == "");
    }
    system.queue().wait_for_abandoned();
  });
}

// The random runner, with little memory for runs, an index that mostly does not fit, and somebody
// who damages the blocks, puts back what was there at a time before, and changes how much room they
// have and how much memory there is for them and for what was read.
class LimitedTarget final : public ReopenedTarget {
 public:
  LimitedTarget(const RuntimeOptions& runtime, std::uint64_t seed)
      : ReopenedTarget(runtime), rng_(seed) {}
  ~LimitedTarget() override { drop(); }

  Status format(FormatOptions options) {
    for (std::uint32_t i = 0; i < options.profile.shards(); ++i) {
      options.devices.push_back("dev" + std::to_string(i));
    }
    options.fast_directories = {directory_.path("fast")};
    HEXAD_TRY_ASSIGN(pool_, Store::format(options, &system_));
    return open(Access::kReadWrite);
  }
  void wait() override {
    damage();
    indexes_->left = 256_KiB << rng_.below(5);
    constexpr std::uint64_t kSizes[] = {0, 0, 0, 1_MiB, 3_MiB, 40_MiB};
    resized += store().set_cache_size(kSizes[rng_.below(std::size(kSizes))]).ok() ? 1 : 0;
  }
  std::string check() override {
    damage();
    const std::string found = ReopenedTarget::check();
    hits += counter(store(), "run_resident_hits");
    return found;
  }
  std::uint64_t hits = 0;
  std::uint64_t resized = 0;  // times that memory was changed

 private:
  Result<Store> open_store(const RuntimeOptions& runtime) override {
    indexes_ = std::make_unique<SmallHome>(system_.executor(), 2_KiB << rng_.below(7));
    return open_limited(pool_, runtime, system_, *indexes_, {64_KiB, 0});
  }
  // The devices are what they were; of the blocks anything may have become.
  void between() override { damage(); }
  void damage() {
    const std::string path = core::resident_path(pool_.fast_directories);
    const auto media = system_.media(path);
    if (media == nullptr) return;
    switch (rng_.below(6)) {
      case 0: {
        const std::uint64_t at = round_down(rng_.below(media->size()), 512);
        media->discard(at, std::min<std::uint64_t>(media->size() - at, 64_KiB));
        break;
      }
      case 1: {
        Bytes bytes(1000);
        const std::uint64_t at = rng_.below(media->size() - bytes.size());
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng_.next());
        media->write(at, bytes);
        break;
      }
      case 2:
        system_.remove_device(path);
        break;
      case 3:
        older_.resize(media->size());
        media->read(0, older_);
        break;
      case 4:
        older_.resize(media->size());  // longer, or cut short, than it was
        media->write(0, older_);
        break;
      default:
        break;
    }
  }

  io::testing::TemporaryDirectory directory_;
  io::MemorySystem system_;
  io::Rng rng_;
  Bytes older_;  // of the blocks
  std::unique_ptr<SmallHome> indexes_;
  PoolDescription pool_;
};

TEST_CASE("resident runs: the random runner finds no difference", "[one-thread]") {
  std::uint64_t hits = 0;
  std::uint64_t resized = 0;
  const std::uint64_t last = campaign_is_thorough() ? 100 : 6;
  for (std::uint64_t run = 1; run <= last; ++run) {
    const std::uint64_t seed = campaign_seed_of(run);
    RuntimeOptions runtime = runtime_of_seed(seed);
    runtime.cache_size = 0;
    LimitedTarget target(runtime, seed);
    REQUIRE(message_of(target.format(format_of_seed(seed))) == "");
    RunnerOptions options;
    options.seed = seed;
    options.ops = 1500;
    options.checkpoint_one_in = 10;
    options.compare_one_in = 15;
    options.check_one_in = 40;
    options.reopen_one_in = 60;
    options.wait_one_in = 7;
    const RunnerTally tally = run_store(target, options);
    CAPTURE(tally.line(seed));
    REQUIRE(tally.difference == "");
    hits += target.hits;
    resized += target.resized;
  }
  REQUIRE(hits > 0);
  REQUIRE(resized > 100);
}

}  // namespace
}  // namespace hexad::testing
