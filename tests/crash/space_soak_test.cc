// A store that is nine tenths full is turned over again and again by callers that each put one
// object at a time, and the power fails amid that, wherever the cleaner, a checkpoint and the
// groups in flight happen to be. No put is refused, nothing acknowledged is missing, and at the end
// the store is clean, has its redundancy, and has lost no space.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "io/rng.h"
#include "tests/base/campaign.h"
#include "tests/core/faults/changing_world.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"
#include "tests/crash/harness_line.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kCallers = 16;
constexpr std::size_t kAtOnce = 50;
constexpr std::uint64_t kPercent = 90;
// Of objects, in turn.
constexpr std::size_t kSizes[] = {1000, 4096, 16384, 1000, 4096, 65536, 300, 4096, 5000, 12288};

SimPoolOptions soaked_pool(std::uint64_t seed) {
  SimPoolOptions options;
  options.device_size = 24_MiB;
  options.log_size = 4_MiB;
  options.fast_size = 8_MiB;
  options.sim.seed = seed;
  return options;
}

class Soak {
 public:
  explicit Soak(std::uint64_t seed)
      : pool_(soaked_pool(seed)), world_{pool_.system(), pool_.pool()}, rng_(seed) {}

  // `puts`: for each object that is there.
  void run(std::uint64_t puts) {
    pool_.system().run([&] {
      open([&](Store& store) { fill(store); });
      while (world_.problem.empty() && done_ < puts * objects_.size()) {
        open([&](Store& store) {
          check(store);
          if (world_.problem.empty()) put_until_the_power_fails(store);
        });
      }
      end();
    });
  }

  const std::string& problem() const { return world_.problem; }
  std::uint64_t objects() const { return objects_.size(); }
  std::uint64_t puts() const { return done_; }
  std::uint64_t crashes() const { return crashes_; }
  std::uint64_t unknown() const { return unknown_; }
  std::uint64_t moved() const { return moved_; }

 private:
  struct Object {
    std::uint64_t is = 0;            // number of what was acknowledged
    std::vector<std::uint64_t> may;  // and of what was not, behind it
  };

  static std::string name(std::size_t at) { return "o" + std::to_string(at); }
  static std::string bytes(std::uint64_t number, std::size_t at) {
    std::string bytes = std::to_string(number) + ".";
    bytes.resize(kSizes[at % std::size(kSizes)], static_cast<char>('a' + number % 26));
    return bytes;
  }

  template <typename Use>
  void open(const Use& use) {
    if (!world_.problem.empty()) return;
    Result<Store> store = Store::open(pool_.pool(), {}, &pool_.system());
    world_.expect_ok(store.status(), "open");
    if (store.ok()) use(*store);
  }

  void fill(Store& store) {
    double part = 0;  // of what is usable, by one object of each size
    std::uint64_t each = 0;
    for (const std::size_t size : kSizes) {
      const Result<ObjectRoom> room = store.room_for(size);
      world_.expect_ok(room.status(), "room");
      if (!room.ok()) return;
      part += static_cast<double>(size) / static_cast<double>(room->usable);
      each += size;
    }
    const auto count = static_cast<std::size_t>(kPercent / 100.0 / part * std::size(kSizes));
    objects_.resize(count / kAtOnce * kAtOnce);
    for (std::size_t i = 0; i < objects_.size(); i += kAtOnce) {
      Transaction t;
      for (std::size_t at = i; at < i + kAtOnce; ++at) {
        objects_[at].is = ++made_;
        t.put(kBucket, name(at), bytes(made_, at));
      }
      world_.expect_ok(store.commit(std::move(t)).status(), "fill");
      if (!world_.problem.empty()) return;
    }
    user_bytes_ = objects_.size() / std::size(kSizes) * each;
    world_.expect_ok(store.close(), "close");
  }

  // What was not acknowledged has happened or has not, and that stays so.
  void check(Store& store) {
    for (std::size_t at = 0; at < objects_.size(); ++at) {
      Object& object = objects_[at];
      const std::string found = get(store, name(at));
      if (found != bytes(object.is, at)) {
        const auto is =
            std::find_if(object.may.begin(), object.may.end(),
                         [&](std::uint64_t number) { return found == bytes(number, at); });
        world_.expect(is != object.may.end(),
                      name(at) + " has other bytes: " + found.substr(0, 40));
        if (is == object.may.end()) return;
        object.is = *is;
      }
      object.may.clear();
    }
  }

  // Each caller has objects of its own.
  void put_until_the_power_fails(Store& store) {
    bool is_cut = false;
    std::vector<std::unique_ptr<io::Thread>> callers;
    for (std::size_t caller = 0; caller < kCallers; ++caller) {
      callers.push_back(pool_.system().executor().start("caller", [&, caller] {
        io::Rng rng(made_ * kCallers + caller);
        while (!is_cut && world_.problem.empty()) {
          const std::size_t at = rng.below(objects_.size() / kCallers) * kCallers + caller;
          const std::uint64_t number = ++made_;
          objects_[at].may.push_back(number);
          Transaction t;
          t.put(kBucket, name(at), bytes(number, at));
          const Status put = store.commit(std::move(t)).status();
          if (put.ok()) {
            objects_[at] = {number, {}};
            ++done_;
          } else if (is_cut) {
            ++unknown_;
          } else {
            world_.expect_ok(put, "put " + std::to_string(done_));
          }
        }
      }));
    }
    // Half a lap on average, now and then a moment.
    const std::uint64_t goal = done_ + rng_.below(rng_.chance(1, 4) ? 200 : objects_.size());
    while (done_ < goal && world_.problem.empty()) pool_.sleep(1'000'000);
    pool_.sleep(static_cast<io::Nanos>(rng_.below(1'000'000)));
    moved_ += counter(store, "cleaned_blobs");
    is_cut = true;
    pool_.system().power_cut();
    ++crashes_;
    for (const auto& caller : callers) caller->join();
  }

  void end() {
    open([&](Store& store) {
      check(store);
      pool_.sleep(60'000'000'000);
      world_.look_deep(store);
      const Result<SpaceUsage> usage = store.space();
      world_.expect_ok(usage.status(), "space");
      if (!usage.ok()) return;
      world_.expect(usage->objects == objects_.size(), "objects are missing or too many");
      world_.expect(usage->user_bytes == user_bytes_, "user bytes are not those of the objects");
      world_.expect_ok(store.close(), "close");
    });
    world_.without_any_two(pool_.pool().devices, 1, 0, [&] {
      RuntimeOptions reading;
      reading.access = Access::kReadOnly;
      world_.open_with(reading, [&](Store& store) { check(store); });
    });
    // All of it is free once the objects are gone.
    open([&](Store& store) {
      for (std::size_t i = 0; i < objects_.size(); i += kAtOnce) {
        Transaction t;
        for (std::size_t at = i; at < i + kAtOnce; ++at) t.remove(kBucket, name(at));
        world_.expect_ok(store.commit(std::move(t)).status(), "remove");
      }
      world_.expect_ok(store.checkpoint(), "checkpoint");
      pool_.sleep(60'000'000'000);
      const Result<SpaceUsage> usage = store.space();
      world_.expect_ok(usage.status(), "space");
      if (usage.ok()) {
        world_.expect(usage->allocated == 0,
                      std::to_string(usage->allocated) + " bytes stay allocated");
      }
      world_.look_deep(store);
      world_.expect_ok(store.close(), "close");
    });
  }

  SimPool pool_;
  ChangingWorld world_;
  io::Rng rng_;
  std::vector<Object> objects_;
  std::uint64_t user_bytes_ = 0;
  std::uint64_t made_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t crashes_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t moved_ = 0;
};

TEST_CASE("space soak: a full store is turned over while the power fails again and again") {
  const HarnessLine line("space-soak");
  const std::uint64_t laps = campaign_is_thorough() ? 20 : 3;
  Soak soak(campaign_seed_of(1));
  soak.run(laps);
  line.print({{"objects", soak.objects()},
              {"puts", soak.puts()},
              {"crashes", soak.crashes()},
              {"unknown", soak.unknown()},
              {"moved", soak.moved()},
              {"violations", soak.problem().empty() ? 0U : 1U}});
  REQUIRE(soak.problem() == "");
  REQUIRE(soak.puts() >= laps * soak.objects());
  REQUIRE(soak.crashes() > laps);
  REQUIRE(soak.unknown() > 0);
  REQUIRE(soak.moved() > 0);
}

}  // namespace
}  // namespace hexad::testing
