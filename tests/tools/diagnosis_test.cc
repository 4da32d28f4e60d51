#include "tools/verbs/diagnosis.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "base/units.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {
namespace {

// A pool 4+2 whose devices are all there.
PoolFacts healthy() {
  PoolFacts facts;
  facts.pool = "'/my pool'";
  facts.status.faults_tolerated = 2;
  for (DeviceId id = 0; id < 7; ++id) {
    DeviceStatus device;
    device.id = id;
    device.path = id < 6 ? "/dev/sd" + std::string(1, static_cast<char>('a' + id)) : "/fast/log";
    device.role = id < 6 ? "data" : "log";
    device.state = "ok";
    facts.status.devices.push_back(device);
  }
  SpaceUsage space;
  space.capacity = 100_GiB;
  space.available = 60_GiB;
  facts.space = space;
  return facts;
}

PoolFacts with_state(DeviceId device, const std::string& state, std::uint32_t tolerated = 1) {
  PoolFacts facts = healthy();
  facts.status.devices[device].state = state;
  facts.status.faults_tolerated = tolerated;
  return facts;
}

Advice only(const PoolFacts& facts) {
  const std::vector<Advice> advice = diagnose(facts);
  REQUIRE(advice.size() == 1);
  return advice[0];
}

TEST_CASE("diagnosis: there is nothing to say of a pool that is well") {
  REQUIRE(diagnose(healthy()).empty());
  // What recovery did and the like stands in the notes of status.
  PoolFacts facts = healthy();
  facts.status.notes = {"recovery: replayed 12 transactions from the log"};
  REQUIRE(diagnose(facts).empty());
}

TEST_CASE("diagnosis: what is lost comes first") {
  PoolFacts facts = with_state(3, "missing");
  facts.status.damaged_blobs = 2;
  const std::vector<Advice> advice = diagnose(facts);
  REQUIRE(advice.size() == 2);
  CHECK(advice[0].urgency == Urgency::kNow);
  CHECK_THAT(advice[0].problem, Catch::Contains("bytes of 2 stored pieces of objects are lost"));
  CHECK(advice[0].command == "hexad damage ls '/my pool'");
}

TEST_CASE("diagnosis: a data device that is not there is to be replaced, by its number") {
  for (const char* state : {"missing", "unreadable", "stale", "failed", "damaged"}) {
    CAPTURE(state);
    PoolFacts facts = with_state(3, state);
    facts.status.devices[3].detail = "says why";
    const Advice advice = only(facts);
    REQUIRE(advice.urgency == Urgency::kSoon);
    REQUIRE(advice.problem == "device 3 (/dev/sdd) is " + std::string(state) + ": says why");
    REQUIRE(advice.command == "hexad device replace '/my pool' 3 NEW");
    REQUIRE((advice.remedy.find("Attach it again") == 0) == (state == std::string("missing")));
  }
  // One more, and data would be lost.
  REQUIRE(only(with_state(3, "missing", 0)).urgency == Urgency::kNow);
}

TEST_CASE("diagnosis: a data device that is not there and has nothing on it may be removed") {
  for (const char* state : {"missing", "failed", "away"}) {
    for (const bool held : {false, true}) {
      CAPTURE(state, held);
      PoolFacts facts = with_state(3, state);
      facts.held = held;
      facts.status.devices[3].slabs = 40;
      REQUIRE(only(facts).command == "hexad device remove '/my pool' 3");
      facts.status.devices[3].slabs_used = 1;
      REQUIRE(only(facts).command != "hexad device remove '/my pool' 3");
    }
  }
}

TEST_CASE("diagnosis: a device that has come back gets what it lacks") {
  REQUIRE(only(with_state(2, "away")).command == "hexad device catch-up '/my pool'");
  PoolFacts facts = with_state(2, "behind");
  facts.status.devices[2].missing_bytes = 3_MiB;
  const Advice advice = only(facts);
  REQUIRE(advice.problem ==
          "device 2 (/dev/sdc) lacks 3 MiB of what was written while it was away");
  REQUIRE(advice.command == "hexad device catch-up '/my pool'");
}

TEST_CASE("diagnosis: what a lost device held finds room on the others, or is being built there") {
  PoolFacts facts = with_state(2, "missing");
  for (DeviceStatus& device : facts.status.devices) {
    device.slabs = 40;
    device.slabs_used = 7;
  }
  Advice advice = only(facts);
  CHECK_THAT(advice.remedy,
             Catch::Contains("hexad device drain '/my pool' 2 has that built again"));
  CHECK(advice.command == "hexad device replace '/my pool' 2 NEW");
  facts.status.devices[2].draining = true;
  advice = only(facts);
  CHECK(advice.problem ==
        "device 2 (/dev/sdc) is missing, and is being drained: 7 of 40 slabs left");
  CHECK(advice.command == "hexad device move '/my pool'");
  CHECK(advice.urgency == Urgency::kSoon);
  facts.status.devices[2].slabs_used = 0;
  CHECK(only(facts).command == "hexad device remove '/my pool' 2");
  facts = with_state(3, "filling");
  facts.status.devices[3].missing_bytes = 2_MiB;
  advice = only(facts);
  CHECK(advice.problem == "device 3 (/dev/sdd) lacks 2 MiB of what a device that is lost held");
  CHECK(advice.command == "hexad device catch-up '/my pool'");
}

TEST_CASE("diagnosis: what another process has is waited for, and not opened") {
  PoolFacts facts = with_state(2, "behind");
  facts.held = true;
  REQUIRE(only(facts).command == "hexad wait '/my pool' --for rebuild");
  // That one takes a device in when it is asked to.
  facts = with_state(2, "away");
  facts.held = true;
  REQUIRE(only(facts).command == "hexad device online '/my pool' 2");
  for (const char* state : {"failed", "missing"}) {
    facts = with_state(2, state);
    facts.held = true;
    REQUIRE_THAT(only(facts).remedy, Catch::Contains("hexad device online '/my pool' 2. If"));
    REQUIRE(only(facts).command == "hexad device replace '/my pool' 2 NEW");
  }
}

TEST_CASE("diagnosis: a device that is drained is no trouble") {
  PoolFacts facts = with_state(2, "draining", 2);
  facts.status.devices[2].draining = true;
  facts.status.devices[2].slabs = 40;
  facts.status.devices[2].slabs_used = 12;
  Advice advice = only(facts);
  CHECK(advice.urgency == Urgency::kLater);
  CHECK(advice.problem == "device 2 (/dev/sdc) is being drained: 12 of 40 slabs left");
  CHECK(advice.command == "hexad device move '/my pool'");
  facts.held = true;
  CHECK(only(facts).command == "hexad wait '/my pool' --for drain");
  facts.status.devices[2].slabs_used = 0;
  advice = only(facts);
  CHECK(advice.problem == "device 2 (/dev/sdc) is drained: nothing is left on it");
  CHECK(advice.command == "hexad device remove '/my pool' 2");
  // It serves until it is gone, so it may go bad.
  facts.status.devices[2].read_errors = 3;
  CHECK(diagnose(facts).size() == 2);
  CHECK(diagnose(facts)[0].urgency == Urgency::kSoon);
}

TEST_CASE("diagnosis: another directory takes the place of a fast device") {
  const Advice advice = only(with_state(6, "missing", 2));
  REQUIRE(advice.urgency == Urgency::kSoon);
  REQUIRE(advice.command == "hexad device replace '/my pool' 6 NEW");
  REQUIRE_THAT(advice.remedy, Catch::Contains("kept on the data devices"));
}

TEST_CASE("diagnosis: a device that has had errors is named before it is lost") {
  PoolFacts facts = healthy();
  facts.status.devices[4].checksum_errors = 7;
  const Advice advice = only(facts);
  REQUIRE(advice.urgency == Urgency::kSoon);
  REQUIRE(advice.problem ==
          "device 4 (/dev/sde) is going bad: since this opening 7 checksum errors");
  REQUIRE_THAT(advice.remedy, Catch::Contains("hexad scrub '/my pool'"));
  REQUIRE(advice.command == "hexad device replace '/my pool' 4 NEW");
  facts = healthy();
  facts.status.devices[6].write_errors = 1;
  REQUIRE(only(facts).command == "hexad device replace '/my pool' 6 NEW");
}

TEST_CASE("diagnosis: a device that does not answer is said once, as the warning that it is") {
  PoolFacts facts = healthy();
  facts.status.devices[1].detail = "has not answered for 12 s";
  facts.status.warnings = {"device 1 (/dev/sdb) has not answered for 12 s: reads go round it"};
  const Advice advice = only(facts);
  REQUIRE(advice.problem == facts.status.warnings[0]);
  REQUIRE(advice.urgency == Urgency::kSoon);
}

TEST_CASE("diagnosis: one damaged copy of a label, and paths that are of no use, can wait") {
  PoolFacts facts = healthy();
  facts.status.devices[0].detail = "one of its two labels is damaged";
  DeviceStatus unrecognised;
  unrecognised.path = "/dev/sdz";
  unrecognised.state = "foreign";
  unrecognised.detail = "it is of another store";
  facts.status.devices.push_back(unrecognised);
  const std::vector<Advice> advice = diagnose(facts);
  REQUIRE(advice.size() == 2);
  REQUIRE(advice[0].command == "hexad scrub '/my pool'");
  REQUIRE(advice[1].problem == "/dev/sdz is foreign: it is of another store");
  for (const Advice& one : advice) REQUIRE(one.urgency == Urgency::kLater);
}

TEST_CASE("diagnosis: little space is said from a twentieth of the capacity on") {
  PoolFacts facts = healthy();
  facts.space->reclaimable = 2_GiB;
  facts.space->available = 5_GiB;
  REQUIRE(diagnose(facts).empty());
  facts.space->available = 5_GiB - 1;
  Advice advice = only(facts);
  REQUIRE(advice.urgency == Urgency::kSoon);
  REQUIRE_THAT(advice.problem,
               Catch::Contains("5.0 GiB of 100 GiB") && Catch::Contains("2 GiB more"));
  REQUIRE(advice.command == "hexad df '/my pool'");
  facts.space->available = 0;
  REQUIRE(only(facts).urgency == Urgency::kNow);
}

TEST_CASE("diagnosis: of a pool that does not open nothing is advised that would have to open it") {
  PoolFacts facts = healthy();
  facts.space.reset();
  facts.status.faults_tolerated = 0;
  facts.error = Error{ErrorCode::kUnavailable, "too few devices", "Attach the missing devices."};
  for (const DeviceId id : {1u, 2u, 4u}) facts.status.devices[id].state = "missing";
  const std::vector<Advice> advice = diagnose(facts);
  REQUIRE(advice.size() == 4);
  REQUIRE(advice[0].problem == "too few devices");
  REQUIRE(advice[0].remedy == "Attach the missing devices.");
  for (const Advice& one : advice) {
    REQUIRE(one.urgency == Urgency::kNow);
    REQUIRE(one.command.empty());
  }
  // Another process that has it is no fault.
  facts = healthy();
  facts.error = Error{ErrorCode::kBusy, "process 17 has it", ""};
  REQUIRE(diagnose(facts).empty());
}

TEST_CASE("diagnosis: nothing is put right in a snapshot, but where it comes from") {
  PoolFacts facts = healthy();
  for (DeviceStatus& device : facts.status.devices) {
    device.path = "rbd:log/i" + std::to_string(device.id) + "@hexad.monday?conf=c";
  }
  facts.space->available = 0;
  REQUIRE(diagnose(facts).empty());
  facts.status.damaged_blobs = 1;
  facts.status.devices[0].detail = "one of its two labels is damaged";
  facts.status.devices[1].read_errors = 1;
  facts.status.devices[2].state = "behind";
  facts.status.devices[3].state = "missing";
  facts.status.devices[4].draining = true;
  facts.status.devices[4].state = "draining";
  facts.status.devices[4].slabs_used = 1;
  const std::vector<Advice> advice = diagnose(facts);
  REQUIRE(advice.size() == 6);
  for (const Advice& one : advice) {
    CAPTURE(one.problem);
    REQUIRE_THAT(one.remedy, Catch::StartsWith("This pool is a snapshot, in which nothing is put"));
    REQUIRE(one.command == (&one == &advice[0] ? "hexad damage ls '/my pool'" : ""));
  }
  // Why it does not open says what to do itself.
  facts.error = Error{ErrorCode::kUnavailable, "too few devices", "Name them all."};
  REQUIRE(diagnose(facts)[0].remedy == "Name them all.");
}

TEST_CASE("diagnosis: the most urgent comes first, and of one urgency the order of the devices") {
  PoolFacts facts = healthy();
  facts.status.faults_tolerated = 0;
  facts.status.devices[0].detail = "one of its two labels is damaged";
  facts.status.devices[2].read_errors = 1;
  facts.status.devices[3].state = "missing";
  facts.status.devices[5].state = "away";
  facts.status.read_only_reason = "a device failed";
  std::vector<std::string> order;
  for (const Advice& one : diagnose(facts)) {
    order.push_back(std::string(to_string(one.urgency)) + " " + one.problem.substr(0, 9));
  }
  REQUIRE(order == std::vector<std::string>{"now the store", "now device 3 ", "now device 5 ",
                                            "soon device 2 ", "later device 0 "});
}

TEST_CASE("diagnosis: every command that it gives is one of a verb that there is") {
  std::vector<Advice> all;
  const auto gather = [&](const PoolFacts& facts) {
    for (const Advice& one : diagnose(facts)) all.push_back(one);
  };
  for (const DeviceId id : {3u, 6u}) {
    for (const char* state : {"missing", "behind", "away", "stale", "failed", "damaged",
                              "unreadable", "foreign", "duplicate"}) {
      gather(with_state(id, state));
    }
  }
  PoolFacts facts = healthy();
  facts.space->available = 0;
  facts.status.devices[0].timeouts = 1;
  facts.status.devices[1].detail = "a cell could not be written back";
  gather(facts);
  std::size_t commands = 0;
  for (const Advice& one : all) {
    REQUIRE_FALSE(one.problem.empty());
    REQUIRE_FALSE(one.remedy.empty());
    if (one.command.empty()) continue;
    ++commands;
    std::istringstream words(one.command);
    std::string program;
    std::string first;
    std::string second;
    words >> program >> first >> second;
    REQUIRE(program == "hexad");
    const std::span<const VerbEntry> verbs = verb_table();
    REQUIRE(std::any_of(verbs.begin(), verbs.end(), [&](const VerbEntry& verb) {
      return verb.name == first || verb.name == first + " " + second;
    }));
    REQUIRE_THAT(one.command, Catch::Contains("'/my pool'"));
  }
  REQUIRE(commands >= 10);
}

}  // namespace
}  // namespace hexad::tools
