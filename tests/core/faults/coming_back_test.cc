// Devices that were away, or had failed, come back: taken in again, given what they missed, and
// looked at by an oracle that sees lost redundancy. doc/invariants.md#coming-back
#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "tests/core/faults/returned.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

TEST_CASE("coming back: devices that were away during commits lack what they missed, and get it") {
  for (const Profile profile : {Profile{1, 1}, Profile{2, 2}, Profile{4, 2}}) {
    for (std::size_t count = 1; count <= profile.m; ++count) {
      for (const auto& away : sets_of(profile.devices(), count)) {
        // The pairs of six by their neighbours, and one that is far: all of them take a minute.
        if (profile.k == 4 && count == 2 && *away.rbegin() - *away.begin() > 1 &&
            *away.begin() != 1) {
          continue;
        }
        CAPTURE(+profile.k, +profile.m, away);
        StoreFixture fixture(format_of(profile));
        Content content;
        {
          Store store = fixture.open(Access::kReadWrite, asked());
          for (int round = 0; round < 3; ++round) churn(store, content, round);
          if (count == 1) REQUIRE(store.close().ok());
        }
        take_away(fixture, away);
        {
          Store store = fixture.open(Access::kReadWrite, asked());
          for (int round = 3; round < 6; ++round) churn(store, content, round);
          if (*away.begin() % 2 == 0) REQUIRE(store.close().ok());
        }
        bring_back(fixture, away);
        {
          Store store = fixture.open(Access::kReadOnly);
          for (const std::size_t device : away) {
            REQUIRE(state_of(store, fixture.device(device)) == "away");
          }
          require_content(store, content);
        }
        {
          Store store = fixture.open(Access::kReadWrite, asked());
          const StoreStatus status = store.status();
          REQUIRE(status.health == Health::kDegraded);
          REQUIRE(status.faults_tolerated == profile.m - count);
          for (const std::size_t device : away) {
            REQUIRE(state_of(store, fixture.device(device)) == "behind");
          }
          require_content(store, content);
          REQUIRE(deep_findings(store) == "");
          churn(store, content, 6);
        }
        // Behind it stays, whatever happens, until it has all.
        {
          Store store = fixture.open(Access::kReadWrite, asked());
          REQUIRE(state_of(store, fixture.device(*away.begin())) == "behind");
          REQUIRE(deep_findings(store) == "");
          require_content(store, content);
          catch_up(store);
          REQUIRE(deep_findings(store) == "");
          churn(store, content, 7);
          if (count == 1) REQUIRE(store.close().ok());
        }
        require_whole(fixture, profile, content);
      }
    }
  }
}

TEST_CASE("coming back: away again while it is behind, and a crash in each of them") {
  const Profile profile{4, 2};
  for (const std::size_t device : {0u, 3u, 5u}) {
    for (const bool clean : {false, true}) {
      CAPTURE(device, clean);
      StoreFixture fixture(format_of(profile));
      Content content;
      int round = 0;
      const auto use = [&](int rounds) {
        Store store = fixture.open(Access::kReadWrite, asked());
        require_content(store, content);
        for (int i = 0; i < rounds; ++i) churn(store, content, round++);
        REQUIRE(deep_findings(store) == "");
        if (clean) REQUIRE(store.close().ok());
      };
      use(3);
      for (int times = 0; times < 3; ++times) {
        fixture.take_away(device);
        use(2);
        fixture.bring_back(device);
        use(times);
        // Another one is away meanwhile, and what is behind is asked.
        const std::size_t other = (device + 1) % 6;
        fixture.take_away(other);
        use(1);
        fixture.bring_back(other);
      }
      {
        Store store = fixture.open(Access::kReadWrite, asked());
        catch_up(store);
      }
      require_whole(fixture, profile, content);
    }
  }
}

TEST_CASE("coming back: what is behind counts as lost for writing, not for reading") {
  const Profile profile{4, 2};
  StoreFixture fixture(format_of(profile));
  Content content;
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    churn(store, content, 0);
    REQUIRE(store.close().ok());
  }
  take_away(fixture, {1, 4});
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    churn(store, content, 1);
    REQUIRE(store.close().ok());
  }
  bring_back(fixture, {1, 4});
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    REQUIRE(store.status().faults_tolerated == 0);
    REQUIRE(store.close().ok());
  }
  fixture.take_away(2);
  const auto before = fixture.fingerprint();
  const Result<Store> refused = fixture.try_open(Access::kReadWrite, asked());
  REQUIRE(code_of(refused) == ErrorCode::kUnavailable);
  for (const char* device : {"device 1 ", "device 2", "device 4 "}) {
    REQUIRE_THAT(refused.error().message, Catch::Contains(device));
  }
  REQUIRE((fixture.fingerprint() == before));
  fixture.bring_back(2);
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    catch_up(store);
    REQUIRE(store.close().ok());
  }
  require_whole(fixture, profile, content);
}

TEST_CASE("coming back: by itself, in the background") {
  StoreFixture fixture;
  Content content;
  {
    Store store = fixture.open();
    churn(store, content, 0);
    REQUIRE(store.close().ok());
  }
  fixture.take_away(2);
  {
    Store store = fixture.open();
    churn(store, content, 1);
    REQUIRE(store.close().ok());
  }
  fixture.bring_back(2);
  {
    Store store = fixture.open();
    // Together with the job, and it ends when there is nothing left to do for either.
    catch_up(store);
    REQUIRE(state_of(store, fixture.device(2)) == "ok");
    require_content(store, content);
    REQUIRE(store.close().ok());
  }
  require_whole(fixture, {4, 2}, content);
}

TEST_CASE("coming back: a device that missed nothing but an opening, one after the other") {
  StoreFixture fixture;
  Content content;
  {
    Store store = fixture.open();
    churn(store, content, 0);
    REQUIRE(store.close().ok());
  }
  for (std::size_t device = 0; device < 6; ++device) {
    fixture.take_away(device);
    {
      Store store = fixture.open();
      REQUIRE(store.close().ok());
    }
    fixture.bring_back(device);
    Store store = fixture.open();
    catch_up(store);
    REQUIRE(store.close().ok());
  }
  require_whole(fixture, {4, 2}, content);
}

TEST_CASE("coming back: a device that failed is taken in by the next opening") {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  StoreFixture fixture(small_format(), &faulty);
  Content content;
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    churn(store, content, 0);
    faulty.fault(fixture.device(3)).writes = true;
    churn(store, content, 1);
    REQUIRE(state_of(store, fixture.device(3)) == "failed");
    REQUIRE(store.close().ok());
  }
  // It fails while it is taken in, too: the store goes on without it, and says so.
  for (int roots = 0; roots < 3; ++roots) {
    CAPTURE(roots);
    faulty.fault(fixture.device(3)).writes = roots == 0;
    faulty.fault(fixture.device(3)).roots = roots - 1;
    Store store = fixture.open(Access::kReadWrite, asked());
    require_content(store, content);
    churn(store, content, 2 + roots);
    REQUIRE(deep_findings(store) == "");
    REQUIRE(store.close().ok());
  }
  faulty.fault(fixture.device(3)).roots = -1;
  Store store = fixture.open(Access::kReadWrite, asked());
  require_content(store, content);
  catch_up(store);
  REQUIRE(deep_findings(store) == "");
}

// Every write after so many fails, on all devices: as if the power had failed there, on devices
// that write through. Whatever opens next finds all of it.
TEST_CASE("coming back: the power fails behind each write of the return and of the catch-up") {
  const Profile profile{2, 2};
  constexpr int kMost = 4000;
  int cut = 0;
  for (bool whole = false; !whole && cut < kMost; cut += 1 + cut / 16) {
    CAPTURE(cut);
    io::MemorySystem memory;
    FaultySystem faulty(memory);
    StoreFixture fixture(format_of(profile), &faulty);
    const auto attach = [&](std::size_t device, Bytes& kept) {
      const std::string& path = fixture.device(device);
      if (memory.media(path) != nullptr) {
        kept = read_media(*memory.media(path));
        memory.remove_device(path);
      } else {
        REQUIRE(memory.create_device(path, kept.size()).ok());
        memory.media(path)->write(0, kept);
      }
    };
    Content content;
    Bytes kept;
    {
      Store store = fixture.open(Access::kReadWrite, asked());
      churn(store, content, 0);
      REQUIRE(store.close().ok());
    }
    attach(1, kept);
    {
      Store store = fixture.open(Access::kReadWrite, asked());
      churn(store, content, 1);
    }
    attach(1, kept);
    std::atomic<int> left{cut};
    std::atomic<bool> over{false};
    faulty.watch([&](const io::IoRequest& request) {
      if (request.op != io::IoOp::kWrite || over) return;
      if (left.fetch_sub(1) > 0) return;
      over = true;
      for (std::size_t i = 0; i < profile.devices(); ++i) {
        faulty.fault(fixture.device(i)).writes = true;
      }
      faulty.fault(fixture.pool.fast_directories[0] + "/log").writes = true;
    });
    {
      Result<Store> store = fixture.try_open(Access::kReadWrite, asked());
      if (store.ok()) {
        const Result<CatchUpReport> report = store->catch_up();
        whole = report.ok() && report->bytes_missing == 0 && !over;
      }
    }
    faulty.watch({});
    for (std::size_t i = 0; i < profile.devices(); ++i) {
      faulty.fault(fixture.device(i)).writes = false;
    }
    faulty.fault(fixture.pool.fast_directories[0] + "/log").writes = false;
    {
      // BK9: neither is there without the other.
      const DeviceStatus found = fixture.open(Access::kReadOnly, asked()).status().devices[1];
      REQUIRE((found.last_completion.kind == "catch-up") == (found.state == "ok"));
    }
    {
      Store store = fixture.open(Access::kReadWrite, asked());
      require_content(store, content);
      REQUIRE(deep_findings(store) == "");
      catch_up(store);
      REQUIRE(store.status().devices[1].last_completion.kind == "catch-up");
      REQUIRE(deep_findings(store) == "");
      churn(store, content, 2);
      REQUIRE(deep_findings(store) == "");
    }
    for (const std::size_t away : {0u, 2u, 3u}) {
      Bytes bytes;
      attach(away, bytes);
      {
        Store store = fixture.open(Access::kReadOnly, asked());
        require_content(store, content);
      }
      attach(away, bytes);
    }
  }
  REQUIRE(cut < kMost);
}

}  // namespace
}  // namespace hexad::testing
