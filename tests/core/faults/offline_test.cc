// What can_offline() promises is what openings and open stores do.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/api/device_questions.h"
#include "tests/core/faults/returned.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

std::vector<DeviceId> ids_of(const std::set<std::size_t>& devices) {
  return {devices.begin(), devices.end()};
}

TEST_CASE("offline: a pool without the devices opens as it was said") {
  for (const Profile profile : {Profile{1, 1}, Profile{2, 1}, Profile{2, 2}, Profile{4, 2}}) {
    StoreFixture fixture(format_of(profile));
    {
      Store store = fixture.open();
      REQUIRE(put(store, "object", "its bytes").ok());
      REQUIRE(store.close().ok());
    }
    for (std::size_t count = 1; count <= profile.m + 1u; ++count) {
      for (const auto& away : sets_of(profile.devices(), count)) {
        CAPTURE(+profile.k, +profile.m, away);
        const StoreStatus status = fixture.open(Access::kReadOnly).status();
        const Result<DeviceAnswer> answer = can_offline(status, ids_of(away), StoreUse::kNobody);
        REQUIRE(answer.ok());
        CAPTURE(answer->reason);
        take_away(fixture, away);
        {
          Result<Store> reading = fixture.try_open(Access::kReadOnly);
          REQUIRE(reading.ok() == answer->readable);
          if (reading.ok()) {
            REQUIRE(get(*reading, "object") == "its bytes");
            REQUIRE(reading->status().faults_tolerated == answer->faults_tolerated);
          }
        }
        bool written = false;
        {
          Result<Store> writing = fixture.try_open();
          written = writing.ok();
          REQUIRE(written == answer->writable);
          if (written) {
            REQUIRE(put(*writing, "object", "its bytes").ok());
            REQUIRE(writing->close().ok());
          }
        }
        bring_back(fixture, away);
        if (!written) continue;
        Store store = fixture.open(Access::kReadWrite, asked());
        catch_up(store);
        REQUIRE(store.status().health == Health::kOk);
        REQUIRE(store.close().ok());
      }
    }
  }
}

}  // namespace
}  // namespace hexad::testing
