#include "core/api/device_questions.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>

#include "alloc/failure_domains.h"

namespace hexad {
namespace {

struct Profile {
  std::uint32_t k;
  std::uint32_t m;
  std::uint32_t devices() const { return k + m; }
};
constexpr Profile kProfiles[] = {{1, 1}, {2, 1}, {2, 2}, {4, 2}, {8, 3}};

// All data devices, and a fast one behind them; each with a volatile cache of its own.
StoreStatus status_of(Profile profile, std::uint32_t lost = 0,
                      const std::string& state = "missing") {
  StoreStatus status;
  for (DeviceId id = 0; id <= profile.devices(); ++id) {
    DeviceStatus device;
    device.id = id;
    device.role = id < profile.devices() ? "data" : "log";
    device.state = id < lost ? state : "ok";
    device.flush_domain = id;
    device.durability = "own flush";
    status.devices.push_back(device);
  }
  DeviceStatus unrecognised;
  unrecognised.state = "foreign";
  status.devices.push_back(unrecognised);
  status.faults_tolerated = lost > profile.m ? 0 : profile.m - lost;
  if (lost > 0) status.health = lost > profile.m ? Health::kUnavailable : Health::kDegraded;
  return status;
}

std::vector<DeviceId> ids_of(std::uint32_t set) {
  std::vector<DeviceId> ids;
  for (DeviceId id = 0; id < 32; ++id) {
    if ((set >> id & 1) != 0) ids.push_back(id);
  }
  return ids;
}

DeviceAnswer offline(const StoreStatus& status, const std::vector<DeviceId>& ids,
                     StoreUse use = StoreUse::kNobody) {
  Result<DeviceAnswer> answer = can_offline(status, ids, use);
  REQUIRE(answer.ok());
  REQUIRE(!answer->reason.empty());
  return *std::move(answer);
}

// By the cells: of every stripe k have to be on devices that are there and lack nothing.
TEST_CASE("device questions: every set of devices of every profile, with others that are lost") {
  for (const Profile profile : kProfiles) {
    for (const char* state : {"missing", "behind", "away", "stale", "failed"}) {
      for (std::uint32_t lost = 0; lost <= profile.m + 1 && lost < profile.devices(); ++lost) {
        const StoreStatus status = status_of(profile, lost, state);
        const bool live = std::string(state) == "behind";  // the root has it
        for (std::uint32_t set = 1; set < 1u << profile.devices(); ++set) {
          const std::uint32_t away = set | ((1u << lost) - 1);
          const auto whole = static_cast<int>(profile.devices()) - std::popcount(away);
          const int spare = whole - static_cast<int>(profile.k);
          const std::uint32_t taken = live ? set : set & ~((1u << lost) - 1);
          const std::uint32_t gone = live ? set : away;
          const auto left = profile.devices() - static_cast<std::uint32_t>(std::popcount(gone));
          for (const StoreUse use : {StoreUse::kNobody, StoreUse::kWriter}) {
            const DeviceAnswer answer = offline(status, ids_of(set), use);
            const bool readable = spare >= 0 && lost <= profile.m;
            const bool ground = use == StoreUse::kWriter || taken == 0 || left >= profile.m + 1;
            if (answer.readable == readable && answer.writable == (readable && ground) &&
                answer.allowed == answer.writable && answer.together.empty() &&
                answer.faults_tolerated == (readable ? static_cast<std::uint32_t>(spare) : 0)) {
              continue;
            }
            CAPTURE(profile.k, profile.m, lost, state, ids_of(set), answer.reason);
            FAIL();
          }
        }
      }
    }
  }
}

// Otherwise each half could be written without the other.
TEST_CASE("device questions: of a closed pool never both halves may go on") {
  for (const Profile profile : kProfiles) {
    const StoreStatus status = status_of(profile);
    const std::uint32_t all = (1u << profile.devices()) - 1;
    for (std::uint32_t set = 1; set < all; ++set) {
      const bool both =
          offline(status, ids_of(set)).allowed && offline(status, ids_of(all & ~set)).allowed;
      if (both) FAIL(profile.k << "+" << profile.m << ": " << set);
    }
  }
}

TEST_CASE("device questions: half of the devices is enough for who sees the others go") {
  for (const Profile profile : {Profile{1, 1}, Profile{2, 2}}) {
    std::vector<DeviceId> half;
    for (DeviceId id = 0; id < profile.m; ++id) half.push_back(id);
    const DeviceAnswer closed = offline(status_of(profile), half);
    REQUIRE(!closed.allowed);
    REQUIRE(closed.readable);
    REQUIRE_THAT(closed.reason, Catch::Contains("opening for writing needs"));
    const DeviceAnswer open = offline(status_of(profile), half, StoreUse::kWriter);
    REQUIRE(open.allowed);
    REQUIRE(open.faults_tolerated == 0);
    REQUIRE_THAT(open.hint, Catch::Contains("with the next commit"));
  }
}

TEST_CASE("device questions: a flush domain goes as a whole while the pool is used") {
  StoreStatus status = status_of({4, 2});
  status.devices[0].flush_domain = status.devices[1].flush_domain = 7;
  DeviceAnswer answer = offline(status, {0}, StoreUse::kWriter);
  REQUIRE(answer.allowed);
  REQUIRE(answer.together == std::vector<DeviceId>{1});
  REQUIRE(answer.faults_tolerated == 0);
  answer = offline(status, {0, 2}, StoreUse::kWriter);
  REQUIRE(!answer.allowed);
  REQUIRE_THAT(answer.reason, Catch::Contains("device 1, which share"));
  REQUIRE_THAT(answer.hint, Catch::Contains("closed"));
  // Nothing is flushed then.
  answer = offline(status, {0, 2});
  REQUIRE(answer.allowed);
  REQUIRE(answer.together.empty());
  // As of the last root, which does not tell.
  for (DeviceStatus& device : status.devices) device.durability.clear();
  REQUIRE_THAT(offline(status, {0}, StoreUse::kWriter).hint, Catch::Contains("is not known here"));
  // -1 is no domain.
  for (DeviceStatus& device : status.devices) device.flush_domain = -1;
  REQUIRE(offline(status, {0}, StoreUse::kWriter).together.empty());
}

TEST_CASE("device questions: a fast device may go when nobody has its index in memory") {
  const StoreStatus status = status_of({4, 2});
  const DeviceAnswer closed = offline(status, {6});
  REQUIRE(closed.allowed);
  REQUIRE(closed.faults_tolerated == 2);
  const DeviceAnswer open = offline(status, {6}, StoreUse::kWriter);
  REQUIRE(!open.allowed);
  REQUIRE(open.writable);
  REQUIRE_THAT(open.hint, Catch::Contains("Close the pool first"));
  REQUIRE(offline(status, {0, 6}).faults_tolerated == 1);
}

TEST_CASE("device questions: what is not used may go, and nothing changes by that") {
  const DeviceAnswer answer = offline(status_of({4, 2}, 1, "away"), {0});
  REQUIRE(answer.allowed);
  REQUIRE(answer.faults_tolerated == 1);
  REQUIRE_THAT(answer.reason, Catch::Contains("nothing changes"));
}

TEST_CASE("device questions: a store that has turned read-only lets nothing go") {
  StoreStatus status = status_of({4, 2});
  status.read_only = true;
  status.read_only_reason = "too many devices failed";
  const DeviceAnswer answer = offline(status, {0}, StoreUse::kWriter);
  REQUIRE(!answer.allowed);
  REQUIRE(answer.readable);
  REQUIRE_THAT(answer.reason, Catch::Contains("too many devices failed"));
}

TEST_CASE("device questions: a device that is drained counts, and goes like any other") {
  StoreStatus drained = status_of({4, 2});
  drained.devices[3].state = "draining";
  drained.devices[3].draining = true;
  for (const StoreUse use : {StoreUse::kNobody, StoreUse::kWriter}) {
    for (std::uint32_t set = 1; set < 1u << 7; ++set) {
      const DeviceAnswer answer = offline(drained, ids_of(set), use);
      const DeviceAnswer without = offline(status_of({4, 2}), ids_of(set), use);
      if (answer.allowed == without.allowed && answer.readable == without.readable &&
          answer.writable == without.writable && answer.reason == without.reason &&
          answer.faults_tolerated == without.faults_tolerated) {
        continue;
      }
      CAPTURE(ids_of(set), answer.reason, without.reason);
      FAIL();
    }
  }
}

DeviceAnswer removal(const StoreStatus& status, const std::vector<DeviceId>& ids,
                     StoreUse use = StoreUse::kNobody) {
  Result<DeviceAnswer> answer = can_remove(status, ids, use, "/pool");
  REQUIRE(answer.ok());
  return *std::move(answer);
}

TEST_CASE("device questions: what has been drained may be removed") {
  StoreStatus status = status_of({4, 2});
  for (const DeviceId id : {3, 4}) {
    status.devices[id].state = "draining";
    status.devices[id].draining = true;
    status.devices[id].slabs = 40;
    status.devices[id].flush_domain = 7;
  }
  const DeviceAnswer one = removal(status, {3}, StoreUse::kWriter);
  CHECK(one.allowed);
  CHECK(one.readable);
  CHECK(one.writable);
  CHECK(one.faults_tolerated == 2);  // as before
  CHECK(one.together.empty());
  CHECK(one.reason == "nothing is left on device 3");
  CHECK(one.hint == "hexad device remove /pool 3 does it.");
  CHECK(removal(status, {3, 4}).reason == "nothing is left on devices 3, 4");
  status.devices[4].slabs_used = 12;
  const DeviceAnswer both = removal(status, {3, 4});
  CHECK_FALSE(both.allowed);
  CHECK(both.reason == "device 4 is being drained: 12 of 40 slabs left");
  CHECK(both.hint ==
        "hexad device remove /pool 3 does it. hexad device move /pool moves what is left.");
  CHECK(removal(status, {4}, StoreUse::kWriter).hint ==
        "hexad wait /pool --for drain says when that is over.");
  // As of the last root, which does not count slabs.
  status.devices[3].slabs = 0;
  CHECK_FALSE(removal(status, {3}).allowed);
}

TEST_CASE("device questions: what has to be done before a device is removed is named") {
  StoreStatus status = status_of({4, 2});
  status.devices[3].slabs = 40;
  status.devices[3].slabs_used = 7;
  DeviceAnswer answer = removal(status, {3});
  CHECK_FALSE(answer.allowed);
  CHECK(answer.reason == "device 3 has not been drained: 7 of 40 slabs are used");
  CHECK(answer.hint == "hexad device drain /pool 3 has that moved to the others.");
  CHECK(answer.faults_tolerated == 1);  // were it just gone
  answer = removal(status_of({4, 2}, 1, "missing"), {0});
  CHECK(answer.hint ==
        "hexad device drain /pool 0 has what it held built again on the others, where they have "
        "room; hexad device replace /pool 0 NEW puts a new device in its place.");
  StoreStatus lost = status_of({4, 2}, 1, "missing");
  lost.devices[0].slabs = 40;
  lost.devices[0].slabs_used = 7;
  CHECK(removal(lost, {0}).reason ==
        "device 0 is missing, and has not been drained: 7 of 40 slabs are used");
  lost.devices[0].draining = true;
  CHECK(removal(lost, {0}).reason == "device 0 is being drained: 7 of 40 slabs left");
  for (const char* state : {"missing", "failed", "away"}) {
    CAPTURE(state);
    StoreStatus empty = status_of({4, 2}, 1, state);
    empty.devices[0].slabs = 40;
    answer = removal(empty, {0});
    CHECK(answer.allowed);
    CHECK(answer.reason == "nothing is left on device 0");
    // How many that are is not known here.
    CHECK(answer.hint ==
          "hexad device remove /pool 0 does it, where k + m other data devices are left.");
    empty.devices[0].slabs_used = 1;
    CHECK_FALSE(removal(empty, {0}).allowed);
  }
  CHECK_THAT(removal(status_of({4, 2}, 1, "failed"), {0}, StoreUse::kWriter).hint,
             Catch::Contains("has closed it"));
  CHECK_THAT(removal(status_of({4, 2}, 1, "behind"), {0}).hint,
             Catch::Contains("hexad device catch-up /pool first"));
  answer = removal(status_of({4, 2}), {6});
  CHECK(answer.allowed);
  CHECK(answer.faults_tolerated == 2);
  CHECK(answer.reason == "nothing is on device 6 that is not on others, too");
  CHECK_THAT(answer.hint, Catch::Contains("hexad device remove /pool 6 does it"));
  CHECK_THAT(removal(status_of({4, 2}), {6}, StoreUse::kWriter).hint,
             Catch::Contains("until it has closed the pool"));
  answer = removal(status_of({2, 1}), {0, 1});
  CHECK_FALSE(answer.allowed);
  CHECK_FALSE(answer.readable);
}

TEST_CASE("device questions: devices that there are not") {
  const StoreStatus status = status_of({4, 2});
  const std::vector<DeviceId> unknown = {9};
  const Result<DeviceAnswer> answer = can_offline(status, unknown, StoreUse::kNobody);
  REQUIRE(!answer.ok());
  REQUIRE(answer.error().code == ErrorCode::kNotFound);
  const std::vector<DeviceId> none;
  REQUIRE(can_remove(status, none, StoreUse::kNobody).error().code == ErrorCode::kInvalidArgument);
}

// 4+2 on three shelves of four, two cells of a stripe on each; `lost`: as status_of() has it.
StoreStatus on_shelves(const std::vector<DeviceId>& lost) {
  StoreStatus status = status_of({8, 4});
  status.domain_cells = 2;
  alloc::MostCells cells(2);
  for (DeviceStatus& device : status.devices) {
    if (device.role != "data") continue;
    device.failure_domain = std::string(1, static_cast<char>('A' + device.id / 4));
    if (std::find(lost.begin(), lost.end(), device.id) == lost.end()) continue;
    device.state = "missing";
    cells.add(device.failure_domain);
  }
  status.faults_tolerated = cells.count() > 2 ? 0 : 2 - cells.count();
  if (!lost.empty()) {
    status.health = cells.count() > 2 ? Health::kUnavailable : Health::kDegraded;
  }
  return status;
}

TEST_CASE("device questions: which failure domains may be lost as a whole now") {
  using Names = std::vector<std::string>;
  CHECK(survivable_domains(status_of({4, 2})).empty());
  CHECK(survivable_domains(on_shelves({})) == Names{"A", "B", "C"});
  // Of a shelf that has lost some, the rest may go.
  CHECK(survivable_domains(on_shelves({4})) == Names{"B"});
  CHECK(survivable_domains(on_shelves({4, 5, 6})) == Names{"B"});
  // One that has none left is not lost once more.
  CHECK(survivable_domains(on_shelves({4, 5, 6, 7})).empty());
  CHECK(survivable_domains(on_shelves({0, 4})).empty());
  CHECK(survivable_domains(on_shelves({0, 4, 8})).empty());
}

TEST_CASE("device questions: of failure domains, what a stripe has on the devices counts") {
  CHECK(offline(on_shelves({}), {0, 1, 2, 3}).allowed);
  CHECK(offline(on_shelves({0}), {1, 2, 3}).allowed);
  CHECK_FALSE(offline(on_shelves({0}), {4, 5}).readable);
  CHECK(offline(on_shelves({0}), {4, 5}).reason ==
        "without devices 4, 5 a stripe would lose 2 more cells, beside 1 that count as lost now; "
        "the profile survives the loss of 2");
  // 2+2 on two shelves of two: whoever has one of them alone does not know of the other.
  StoreStatus two = status_of({2, 2});
  two.domain_cells = 2;
  for (DeviceStatus& device : two.devices) {
    if (device.role == "data") device.failure_domain = device.id < 2 ? "A" : "B";
  }
  const DeviceAnswer answer = offline(two, {0, 1});
  CHECK(answer.readable);
  CHECK_FALSE(answer.writable);
  CHECK(
      answer.reason.find("data devices that can have 2 cells of a stripe are left, and an opening "
                         "for writing needs 3") != std::string::npos);
}

}  // namespace
}  // namespace hexad
