#include "core/membership/return_schedule.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace hexad::core {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;
constexpr io::Nanos kMinute = 60 * kSecond;
constexpr io::Nanos kDay = ReturnSchedule::kWithin;

Uuid uuid_of(std::uint8_t first) {
  Uuid uuid;
  uuid.bytes[0] = first;
  return uuid;
}

const std::vector<AwayDevice> kNobody = {};
const std::vector<AwayDevice> kTwo = {{2, uuid_of(2)}};

TEST_CASE("return schedule: first after some seconds, then twice as long, at last ten minutes") {
  ReturnSchedule schedule;
  CHECK(schedule.next() == std::nullopt);
  schedule.update(kTwo, 100);
  io::Nanos now = 100;
  io::Nanos wait = ReturnSchedule::kFirstWait;
  for (int i = 0; i < 12; ++i) {
    REQUIRE(schedule.next() == now + wait);
    REQUIRE(schedule.due(now + wait - 1) == std::nullopt);
    now += wait;
    REQUIRE(schedule.due(now) == 2);
    schedule.update(kTwo, now);  // which changes nothing
    schedule.note_not_there(2, now);
    wait = std::min(2 * wait, ReturnSchedule::kLongestWait);
  }
  CHECK(wait == 10 * kMinute);
  CHECK_FALSE(schedule.standing(2)->stays_away);
  CHECK_FALSE(schedule.standing(2)->refused.has_value());
  schedule.update(kNobody, now);
  CHECK(schedule.next() == std::nullopt);
  CHECK_FALSE(schedule.standing(2).has_value());
}

// Comes back at the first look, and leaves again after `stay`.
void come_and_go(ReturnSchedule& schedule, io::Nanos& now, io::Nanos stay) {
  now = *schedule.next();
  REQUIRE(schedule.due(now) == 2);
  schedule.note_back(2, now);
  schedule.update(kNobody, now);
  now += stay;
  schedule.update(kTwo, now);
}

TEST_CASE("return schedule: three times within a day, and then not before it is asked for") {
  ReturnSchedule schedule;
  io::Nanos now = 0;
  schedule.update(kTwo, now);
  come_and_go(schedule, now, kMinute);
  CHECK(*schedule.next() - now == 30 * kSecond);
  come_and_go(schedule, now, kMinute);
  CHECK(*schedule.next() - now == 3 * kMinute);
  SECTION("the third time") {
    come_and_go(schedule, now, kMinute);
    CHECK(schedule.next() == std::nullopt);
    CHECK(schedule.due(now + 30 * kDay) == std::nullopt);
    CHECK(schedule.standing(2)->stays_away);
    schedule.update(kTwo, now + 2 * kDay);
    CHECK(schedule.standing(2)->stays_away);
    schedule.ask_for(2, now);
    CHECK(schedule.next() == now + ReturnSchedule::kFirstWait);
    CHECK_FALSE(schedule.standing(2)->stays_away);
  }
  SECTION("it stays for long enough") {
    come_and_go(schedule, now, kDay);
    CHECK(schedule.next() == now + ReturnSchedule::kFirstWait);
  }
  SECTION("the first one is more than a day ago") {
    come_and_go(schedule, now, kDay - 5 * kMinute);
    CHECK(*schedule.next() - now == 3 * kMinute);
  }
  SECTION("another device takes its place") {
    come_and_go(schedule, now, kMinute);
    schedule.update({{2, uuid_of(9)}}, now);
    CHECK(schedule.next() == now + ReturnSchedule::kFirstWait);
  }
  SECTION("asked for while it is in use") {
    now = *schedule.next();
    schedule.note_back(2, now);
    schedule.update(kNobody, now);
    schedule.ask_for(2, now);
    schedule.update(kTwo, now);
    CHECK(schedule.next() == now + ReturnSchedule::kFirstWait);
  }
}

TEST_CASE("return schedule: what is refused is told, and looked at again") {
  ReturnSchedule schedule;
  schedule.update(kTwo, 0);
  schedule.note_refused(2, "another device", 5 * kSecond);
  CHECK(schedule.standing(2)->refused == "another device");
  CHECK(schedule.next() == 15 * kSecond);
  schedule.note_refused(2, "an older one", 15 * kSecond);
  CHECK(schedule.standing(2)->refused == "an older one");
  CHECK(schedule.next() == 35 * kSecond);
  schedule.note_not_there(2, 35 * kSecond);
  CHECK_FALSE(schedule.standing(2)->refused.has_value());
  CHECK(schedule.next() == 75 * kSecond);
  schedule.put_off(2, 75 * kSecond);
  CHECK(schedule.next() == 76 * kSecond);
  schedule.note_not_there(2, 76 * kSecond);
  CHECK(schedule.next() == 156 * kSecond);  // what it was put off for does not count
}

TEST_CASE("return schedule: who has been due for longest comes first") {
  ReturnSchedule schedule;
  schedule.update({{4, uuid_of(4)}}, 0);
  schedule.update({{4, uuid_of(4)}, {2, uuid_of(2)}}, kSecond);
  CHECK(schedule.due(kMinute) == 4);
  schedule.note_not_there(4, kMinute);
  CHECK(schedule.due(kMinute) == 2);
  schedule.note_not_there(2, kMinute);
  CHECK(schedule.due(kMinute) == std::nullopt);
}

// All that ever happened to one device, looked at anew for every question.
struct Naive {
  enum class What : std::uint8_t { kLeft, kBack, kInVain, kAsked };
  struct Event {
    What what;
    io::Nanos at;
  };
  std::vector<Event> events;

  bool is_away() const {
    for (auto it = events.rbegin(); it != events.rend(); ++it) {
      if (it->what == What::kLeft) return true;
      if (it->what == What::kBack) return false;
    }
    return false;
  }
  // Nothing: never.
  std::optional<io::Nanos> next() const {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].what == What::kAsked) begin = i;
    }
    // What the wait is counted from: the last time that it left, or was asked for since.
    std::size_t from = begin;
    for (std::size_t i = begin; i < events.size(); ++i) {
      if (events[i].what == What::kLeft) from = i;
    }
    io::Nanos wait = 5 * kSecond;
    int lately = 0;
    for (std::size_t i = begin; i < from; ++i) {
      const bool counts = events[i].what == What::kBack && events[from].at - events[i].at < kDay;
      if (counts) ++lately;
    }
    if (lately >= 3) return std::nullopt;
    for (int i = 0; i < lately; ++i) wait *= 6;
    io::Nanos at = events[from].at + wait;
    for (std::size_t i = from; i < events.size(); ++i) {
      if (events[i].what != What::kInVain) continue;
      wait = std::min(2 * wait, 10 * kMinute);
      at = events[i].at + wait;
    }
    return at;
  }
};

TEST_CASE("return schedule: random lives against a model that remembers everything") {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    ReturnSchedule schedule;
    Naive model;
    io::Nanos now = 0;
    for (int step = 0; step < 200; ++step) {
      CAPTURE(step);
      const std::uint32_t choice = random() % 16;
      const bool away = model.is_away();
      if (choice < 4) {
        now += static_cast<io::Nanos>(random() % 40) * kMinute * (choice == 0 ? 60 : 1) + 1;
      } else if (!away) {
        schedule.update(kTwo, now);
        model.events.push_back({Naive::What::kLeft, now});
      } else if (choice == 4) {
        schedule.ask_for(2, now);
        model.events.push_back({Naive::What::kAsked, now});
      } else if (schedule.next().has_value()) {
        now = std::max(now, *schedule.next());
        REQUIRE(schedule.due(now) == 2);
        if (choice < 10) {
          schedule.note_back(2, now);
          model.events.push_back({Naive::What::kBack, now});
        } else {
          schedule.note_not_there(2, now);
          model.events.push_back({Naive::What::kInVain, now});
        }
      }
      REQUIRE(schedule.next() == (model.is_away() ? model.next() : std::nullopt));
    }
  }
}

}  // namespace
}  // namespace hexad::core
