#include "core/jobs/drain_job.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;
constexpr io::Nanos kLimit = 600 * kSecond;

struct World {
  explicit World(io::Nanos wanted = kLimit) : limit(wanted) {}
  const io::Nanos limit;
  io::SimSystem system;
  std::vector<DeviceId> away;
  std::vector<DeviceId> drained;  // by the job
  std::vector<DeviceId> back;     // of these: in use again
  std::vector<DeviceId> ended;
  bool busy = false;
  bool broken = false;
  std::string refused;
  DrainJob job{system.executor(),
               limit,
               {[this] { return away; },
                [this](DeviceId id) -> Result<DrainJob::Attempt> {
                  using Became = DrainJob::Outcome;
                  if (broken) return Error{ErrorCode::kIo, "broken", ""};
                  if (!refused.empty()) return DrainJob::Attempt{Became::kRefused, refused};
                  if (busy) return DrainJob::Attempt{Became::kLater};
                  std::erase(away, id);
                  drained.push_back(id);
                  job.note_drained(id);
                  return DrainJob::Attempt{Became::kDrained};
                },
                [this](DeviceId id) -> Result<bool> {
                  if (std::count(back.begin(), back.end(), id) == 0) return false;
                  ended.push_back(id);
                  return true;
                }}};

  io::Nanos now() { return system.clock().now(); }
  Result<bool> next_look() {
    system.executor().sleep_for(*job.due());
    CHECK(job.due() == io::Nanos{0});
    return job.step();
  }
  // Until something was done; at most as long as that.
  bool look_for(io::Nanos time) {
    for (const io::Nanos until = now() + time; now() < until;) {
      if (const Result<bool> did = next_look(); did.ok() && *did) return true;
    }
    return false;
  }
};

TEST_CASE("drain job: what is away for longer than the limit is drained, once") {
  World w;
  w.system.run([&] {
    CHECK_FALSE(w.look_for(2 * kLimit));
    w.away = {3};
    const io::Nanos left = w.now();
    CHECK(w.job.standing(3) == std::nullopt);
    CHECK_FALSE(w.next_look().value());
    CHECK(w.job.standing(3)->left == kLimit);
    CHECK(w.look_for(2 * kLimit));
    CHECK(w.now() - left >= kLimit);
    CHECK(w.now() - left <= kLimit + 2 * DrainJob::kMostBetween);
    CHECK(w.drained == std::vector<DeviceId>{3});
    CHECK(w.job.has_drained(3));
    CHECK(w.job.standing(3) == std::nullopt);
    CHECK_FALSE(w.look_for(2 * kLimit));
    CHECK(w.drained.size() == 1);
  });
}

TEST_CASE("drain job: each device has a time of its own, which begins anew when it was back") {
  World w;
  w.system.run([&] {
    w.away = {3};
    CHECK_FALSE(w.look_for(kLimit / 2));
    w.away = {3, 5};
    CHECK_FALSE(w.look_for(kLimit / 4));
    w.away = {5};
    CHECK_FALSE(w.next_look().value());
    w.away = {3, 5};
    CHECK(w.look_for(kLimit));
    CHECK(w.drained == std::vector<DeviceId>{5});
    CHECK(w.job.standing(3)->left > 0);
    CHECK(w.look_for(kLimit));
    CHECK(w.drained == std::vector<DeviceId>{5, 3});
  });
}

// DT1
TEST_CASE("drain job: a process that has not run for long drains nothing because of that") {
  World w;
  w.system.run([&] {
    w.away = {3};
    CHECK_FALSE(w.next_look().value());
    w.system.executor().sleep_for(100 * kLimit);
    CHECK_FALSE(w.job.step().value());
    CHECK(w.drained.empty());
    CHECK(w.job.standing(3)->left >= kLimit - 2 * DrainJob::kMostBetween);
    CHECK(w.look_for(kLimit));
  });
}

TEST_CASE("drain job: what is refused is told, and tried again; who is busy is waited for") {
  World w;
  w.system.run([&] {
    w.away = {3};
    w.refused = "no room";
    CHECK_FALSE(w.look_for(2 * kLimit));
    CHECK(w.job.standing(3)->refused == "no room");
    CHECK_FALSE(w.next_look().value());  // which is no failure of the job
    w.refused = "";
    w.broken = true;
    CHECK(w.next_look().error().message == "broken");
    w.broken = false;
    w.busy = true;
    CHECK(w.next_look().value());  // so that the failure is told no more
    CHECK_FALSE(w.next_look().value());
    CHECK_FALSE(w.job.has_drained(3));
    w.busy = false;
    CHECK(w.next_look().value());
    CHECK(w.job.has_drained(3));
  });
}

TEST_CASE("drain job: one that comes back is drained no more, unless somebody has asked for it") {
  World w;
  w.system.run([&] {
    w.away = {3, 4};
    CHECK(w.look_for(2 * kLimit));
    CHECK(w.drained == std::vector<DeviceId>{3, 4});
    w.job.note_asked_to_drain(4);  // DT2
    CHECK_FALSE(w.job.has_drained(4));
    w.back = {3, 4};
    CHECK(w.next_look().value());
    CHECK(w.ended == std::vector<DeviceId>{3});
    CHECK_FALSE(w.job.has_drained(3));
    CHECK_FALSE(w.next_look().value());
  });
}

// DT2
TEST_CASE("drain job: one whose draining was ended is left alone until it was back") {
  World w;
  w.system.run([&] {
    w.away = {3};
    CHECK(w.look_for(2 * kLimit));
    w.job.note_asked_to_end(3);
    CHECK_FALSE(w.job.has_drained(3));
    w.away = {3};
    CHECK_FALSE(w.look_for(10 * kLimit));
    CHECK(w.job.standing(3) == std::nullopt);
    w.away.clear();
    CHECK_FALSE(w.next_look().value());
    w.away = {3};
    CHECK(w.look_for(2 * kLimit));
    CHECK(w.job.has_drained(3));
  });
}

TEST_CASE("drain job: short limits are looked at each second, and without one nothing is") {
  World fast(kSecond);
  fast.system.run([&] { CHECK(fast.job.due() == DrainJob::kLeastBetween); });
  World never(0);
  never.away = {3};
  never.system.run([&] {
    CHECK(never.job.due() == std::nullopt);
    CHECK_FALSE(never.job.step().value());
  });
}

}  // namespace
}  // namespace hexad::core
