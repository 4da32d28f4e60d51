// The index does not fit, so blocks of the runs are on the fast device; it does again, and does not
// again. Whatever a crash leaves of that, and whatever becomes of the file of blocks while it is
// open and between two openings, the objects are what they were.
//
// What a crash leaves is such a file, too: that of another process, with other numbers of runs, and
// with blocks of runs that went, and whose numbers come again.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>

#include "io/rng.h"
#include "io/sim/sim_system.h"
#include "tests/base/campaign.h"
#include "tests/core/noise.h"
#include "tests/crash/crash_sweep.h"
#include "tests/crash/crash_world.h"
#include "tests/crash/harness_line.h"

namespace hexad::testing {
namespace {

constexpr const char* kHere = kDefaultCollection;
constexpr std::uint64_t kIndexLimit = 64 << 10;  // bytes
constexpr int kAtOnce = 6;                       // objects of a transaction
constexpr int kWave = 16;                        // transactions that make objects
constexpr io::Nanos kMoment = 1'000'000;
constexpr std::uint64_t kOneIn = 101;

std::string name_of(int wave, int number) {
  return "w" + std::to_string(wave) + "-" + std::to_string(number * 7919 % 1000);
}

// Waves of objects, more of them than the index has room for, most of which go again.
CrashWorldOptions waves() {
  CrashWorldOptions options;
  options.log_size = 256 << 10;
  options.device_size = 4 << 20;
  options.index_limit = kIndexLimit;
  options.pause = kMoment;
  for (int wave = 0; wave < 3; ++wave) {
    for (int i = 0; i < kWave; ++i) {
      options.script.push_back([wave, i](Transaction& t) {
        for (int j = i * kAtOnce; j < (i + 1) * kAtOnce; ++j) {
          const std::string name = name_of(wave, j);
          t.put(kHere, name, noise(50, static_cast<std::uint64_t>(j)));
          t.set_attr(kHere, name, "a", noise(1000, static_cast<std::uint64_t>(1000 * wave + j)));
        }
        // And of the wave before some change.
        if (wave > 0) t.set_attr(kHere, name_of(wave - 1, i * kAtOnce), "a", noise(900, 7));
      });
    }
    for (int i = 0; i < kWave; i += 2) {
      options.script.push_back([wave, i](Transaction& t) {
        for (int j = i * kAtOnce; j < (i + 2) * kAtOnce; ++j) {
          if (j % kAtOnce != 0) t.remove(kHere, name_of(wave, j));
        }
      });
    }
  }
  return options;
}

// Behind the back of whoever has it open. `older`: what was there at a time before.
void harm(io::SimDisk& disk, const std::shared_ptr<const io::CowImage>& older, io::Rng& rng) {
  Bytes all = disk.peek(0, disk.size());
  switch (rng.below(6)) {
    case 0:
      for (std::byte& byte : all) byte ^= std::byte{0x10};
      break;
    case 1:
      for (std::size_t at = 0; at < all.size(); at += 1 + rng.below(4000)) all[at] ^= std::byte{1};
      break;
    case 2: {
      // Torn in the middle of each segment: one half is of before.
      const std::size_t both = std::min<std::size_t>(all.size(), older->size());
      for (std::size_t at = 0; at + 32'768 <= both; at += 65'536) {
        older->read(at, MutByteView(all).subspan(at, 32'768));
      }
      break;
    }
    case 3:
      older->read(0, MutByteView(all).first(std::min<std::size_t>(all.size(), older->size())));
      break;
    case 4: {
      // Cut short: behind that there is nothing to be read.
      const std::size_t from = rng.below(all.size());
      std::fill(all.begin() + static_cast<std::ptrdiff_t>(from), all.end(), std::byte{0});
      break;
    }
    default:
      disk.inject({.kind = io::FaultKind::kDeviceError, .times = io::Fault::kForever});
      return;
  }
  disk.poke(0, all);
}

// The file between two openings: as it is, older, cut short, or gone.
void swap(io::SimDisk& disk, const std::shared_ptr<const io::CowImage>& older, io::Rng& rng) {
  disk.clear_faults();
  switch (rng.below(4)) {
    case 0:
      return disk.replace(older);
    case 1: {
      auto half = std::make_shared<io::CowImage>(disk.snapshot());
      half->resize(disk.size() / 8192 * 4096);
      return disk.replace(half);
    }
    case 2:
      return disk.replace(std::make_shared<io::CowImage>(0));
    default:
      return;
  }
}

struct Seen {
  std::uint64_t with_blocks = 0;  // openings
  std::uint64_t with_index = 0;
};

class Life {
 public:
  Life(const CrashWorld& world, const io::CrashState& state, io::SimSystem& system, Seen& seen)
      : world_(world), state_(state), system_(system), seen_(seen), rng_(state.number()) {}

  // With an index that has room for all, and others that have not.
  std::optional<std::string> lead() {
    const std::uint64_t limit = kIndexLimit / 4 << rng_.below(4);
    const std::unique_ptr<kv::IndexHome> indexes =
        CrashWorld::narrow_home(system_.executor(), limit);
    if (auto problem = open_and_check(*indexes)) return "first opening: " + *problem;
    if (rng_.below(3) != 0) return std::nullopt;
    if (system_.has_disk(CrashWorld::kBlocks)) {
      swap(system_.disk(CrashWorld::kBlocks), older_, rng_);
    }
    if (auto problem = open_and_check(*indexes)) return "second opening: " + *problem;
    return std::nullopt;
  }

 private:
  std::optional<std::string> open_and_check(kv::IndexHome& indexes) {
    Result<Store> store = world_.open_narrow(system_, indexes);
    if (!store.ok()) return "open: " + store.error().to_string();
    // Until the index has been made, or given up.
    for (int i = 0; i < 50 && store->status().metadata_on == "runs"; ++i) {
      system_.executor().sleep_for(kMoment);
    }
    if (auto problem = check(*store)) return problem;
    const std::string on = store->status().metadata_on;
    seen_.with_blocks += on == "fast blocks" ? 1 : 0;
    seen_.with_index += on == "index" ? 1 : 0;
    if (!system_.has_disk(CrashWorld::kBlocks)) return std::nullopt;
    io::SimDisk& disk = system_.disk(CrashWorld::kBlocks);
    if (older_ == nullptr) older_ = disk.snapshot();
    if (disk.size() > 0 && on == "fast blocks") harm(disk, older_, rng_);
    if (auto problem = check(*store)) return "with blocks that were harmed: " + *problem;
    if (!store->checkpoint().ok()) return "a checkpoint failed";
    system_.executor().sleep_for(kMoment);
    if (auto problem = check(*store)) return "after a checkpoint: " + *problem;
    return std::nullopt;
  }
  std::optional<std::string> check(Store& store) const {
    return world_.check(store, state_.position());
  }

  const CrashWorld& world_;
  const io::CrashState& state_;
  io::SimSystem& system_;
  Seen& seen_;
  io::Rng rng_;
  std::shared_ptr<const io::CowImage> older_;
};

TEST_CASE("blocks: no crash, and nothing that becomes of the file, changes an answer") {
  const HarnessLine line("crash-blocks");
  CrashSweep totals;
  std::uint64_t all_states = 0;
  Seen seen;
  for (const int every : {4, 7}) {
    CrashWorldOptions options = waves();
    options.seed = campaign_seed_of(95 + static_cast<std::uint64_t>(every));
    options.checkpoint_every = every;
    CrashWorld world(options);
    world.run();
    CAPTURE(every, world.checkpoints(), world.runs_merged(), world.indexes_made(),
            world.blocks_found(), world.blocks_written());
    REQUIRE(world.transactions() == options.script.size());
    REQUIRE(world.runs_merged() >= 2);
    REQUIRE(world.indexes_made() >= 2);
    REQUIRE(world.blocks_found() > 100);
    io::CrashOptions crash{.exhaustive_limit = 3, .random_samples = 4, .tears_per_write = 1};
    crash.seed = options.seed;
    const io::CrashStates all(world.recorder(), crash);
    all_states += all.for_each([&](const io::CrashState& state) {
      if (!campaign_picks(state.number(), kOneIn)) return true;
      ++totals.states;
      const auto problem = world.with_disks(
          state, [&](io::SimSystem& system) { return Life(world, state, system, seen).lead(); });
      if (problem.has_value()) {
        ++totals.violations;
        CAPTURE(state.describe());
        CHECK(*problem == "");
      }
      return totals.violations < 5;
    });
  }
  CAPTURE(seen.with_blocks, seen.with_index);
  line.print({{"states", totals.states}, {"violations", totals.violations}});
  REQUIRE(totals.violations == 0);
  REQUIRE(seen.with_blocks > totals.states / 4);
  REQUIRE(seen.with_index > totals.states / 10);
  REQUIRE(all_states >= 50'000);
}

}  // namespace
}  // namespace hexad::testing
