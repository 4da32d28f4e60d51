// New devices in the place of lost ones, and of some that still answer: given what these had, and
// looked at by an oracle that sees lost redundancy. doc/invariants.md#coming-back
#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/core/cells_on_media.h"
#include "tests/core/faults/returned.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

// A checkpoint replaces the tail of the log and the last run, which are all that a copied device
// lacks: here none comes by itself.
RuntimeOptions without_checkpoints() {
  RuntimeOptions options = asked();
  options.memtable_size = 64_MiB;
  return options;
}

TEST_CASE("replace: a new device takes the place of a lost one, and gets all that it had") {
  for (const Profile profile : {Profile{1, 1}, Profile{4, 2}}) {
    for (const bool empty_place : {true, false}) {
      CAPTURE(+profile.k, empty_place);
      StoreFixture fixture(format_of(profile));
      Content content;
      {
        Store store = fixture.open(Access::kReadWrite, asked());
        for (int round = 0; round < 3; ++round) churn(store, content, round);
        REQUIRE(store.close().ok());
      }
      fixture.take_away(1);
      {
        Store store = fixture.open(Access::kReadWrite, asked());
        churn(store, content, 3);
      }
      const Replacement replacement{1, "new1"};
      if (!empty_place) {
        REQUIRE(fixture.memory.create_device("new1", 32_MiB).ok());
      }
      {
        Result<Store> store =
            Store::open_replacing(fixture.pool, replacement, asked(), fixture.system);
        REQUIRE(message_of(store.status()) == "");
        REQUIRE(state_of(*store, "new1") == "behind");
        REQUIRE(store->status().faults_tolerated + 1 == profile.m);
        require_content(*store, content);
        REQUIRE(deep_findings(*store) == "");
      }
      fixture.pool.devices[1] = "new1";
      {
        Store store = fixture.open(Access::kReadWrite, asked());
        REQUIRE(state_of(store, "new1") == "behind");
        catch_up(store);
        churn(store, content, 4);
        REQUIRE(store.close().ok());
      }
      require_whole(fixture, profile, content);
    }
  }
}

std::uint32_t slabs_of(Store& store, DeviceId id) {
  for (const DeviceStatus& device : store.status().devices) {
    if (device.id == id && device.role == "data") return device.slabs;
  }
  return 0;
}

TEST_CASE("replace: a new device is smaller where zones use nothing of what it lacks, or larger") {
  const Profile profile{2, 2};
  for (const bool answers : {true, false}) {
    for (const std::uint64_t size : {12_MiB, 40_MiB}) {
      CAPTURE(answers, size);
      StoreFixture fixture(format_of(profile));
      Content content;
      std::uint32_t before = 0;
      {
        Store store = fixture.open(Access::kReadWrite, asked());
        churn(store, content, 0);
        before = slabs_of(store, 1);
        REQUIRE(store.close().ok());
      }
      if (!answers) fixture.take_away(1);
      REQUIRE(fixture.memory.create_device("new1", size).ok());
      std::uint32_t slabs = 0;
      {
        Result<Store> store =
            Store::open_replacing(fixture.pool, {1, "new1"}, asked(), fixture.system);
        REQUIRE(message_of(store.status()) == "");
        slabs = slabs_of(*store, 1);
        REQUIRE((slabs < before) == (size < 16_MiB));
        REQUIRE((slabs > before) == (size > 16_MiB));
        catch_up(*store);
        churn(*store, content, 1);
        REQUIRE(store->close().ok());
      }
      fixture.pool.devices[1] = "new1";
      require_whole(fixture, profile, content);
      // The root knows, too.
      fixture.take_away(1);
      {
        Store store = fixture.open(Access::kReadOnly);
        REQUIRE(slabs_of(store, 1) == slabs);
      }
    }
  }
}

std::uint64_t bytes_read(Store& store) {
  std::uint64_t bytes = 0;
  for (const DeviceStatus& device : store.status().devices) bytes += device.bytes_read;
  return bytes;
}

// A store 4+2 whose device 1 is a new one that lacks everything: large objects, or small ones that
// share stripes.
struct Replaced {
  explicit Replaced(std::size_t size) {
    Store store = fixture.open(Access::kReadWrite, asked());
    for (std::size_t i = 0; i * size < 12'000'000; ++i) {
      const std::string name = std::to_string(i);
      content[name] = noise(size, i);
      REQUIRE(put(store, name, content[name]).ok());
    }
    REQUIRE(store.close().ok());
    if (size < 256'000) {
      stripes.push_back(find_pack(fixture, format_of({4, 2})).cells);
    } else {
      for (std::size_t i = 0; i < kStripes; ++i) {
        stripes.push_back(find_private(fixture, content[std::to_string(i)]));
      }
    }
    fixture.take_away(1);
  }
  Store open() {
    Result<Store> store = Store::open_replacing(fixture.pool, {1, "new1"}, asked(), fixture.system);
    REQUIRE(message_of(store.status()) == "");
    fixture.pool.devices[1] = "new1";
    return *std::move(store);
  }

  static constexpr std::size_t kStripes = 8;
  StoreFixture fixture;
  Content content;
  std::vector<StripeOnMedia> stripes;  // some that there are
};

TEST_CASE("replace: of every stripe a rebuild reads k cells, and writes the one that was lost") {
  for (const std::size_t size : {300'000u, 5'000u}) {
    CAPTURE(size);
    Replaced replaced(size);
    {
      Store store = replaced.open();
      const std::uint64_t before = bytes_read(store);
      const Result<CatchUpReport> report = store.catch_up();
      REQUIRE(message_of(report.status()) == "");
      REQUIRE(report->bytes_missing == 0);
      REQUIRE(report->findings.empty());
      REQUIRE(report->bytes_total > 1_MiB);
      const std::uint64_t read = bytes_read(store) - before;
      CAPTURE(read, report->bytes_total);
      // Metadata, and what units are longer than cells, is little beside it.
      REQUIRE(read < report->bytes_total * 5);
      REQUIRE(read > report->bytes_total * 3);
      REQUIRE(store.close().ok());
    }
    require_whole(replaced.fixture, {4, 2}, replaced.content);
  }
}

// Damage that the rebuild meets in the k cells that it reads, or does not meet in the others: what
// it gives back is right, and what it has met is right again.
TEST_CASE("replace: a rebuild goes round one bad cell of every stripe, whichever it is") {
  for (const std::size_t size : {300'000u, 5'000u}) {
    std::size_t met = 0;
    for (const std::size_t bad : {0u, 2u, 3u, 4u, 5u}) {
      CAPTURE(size, bad);
      Replaced replaced(size);
      StoreFixture& fixture = replaced.fixture;
      for (const StripeOnMedia& stripe : replaced.stripes) {
        for (const CellOnMedia& cell : stripe) {
          if (cell.device == bad) flip_byte(fixture, cell, 100);
        }
      }
      {
        Store store = replaced.open();
        const Result<CatchUpReport> report = store.catch_up();
        REQUIRE(message_of(report.status()) == "");
        REQUIRE(report->bytes_missing == 0);
        for (const Finding& finding : report->findings) {
          CAPTURE(finding.subject, finding.problem);
          REQUIRE(finding.repaired);
        }
        met += report->findings.size();
        require_content(store, replaced.content);
        REQUIRE(store.scrub().ok());
        REQUIRE(deep_findings(store) == "");
        REQUIRE(store.close().ok());
      }
      require_whole(fixture, {4, 2}, replaced.content);
    }
    // Of five other cells four are read.
    REQUIRE(met > 0);
    REQUIRE(met < 5 * Replaced::kStripes);
  }
}

TEST_CASE("replace: a device that answers is copied, and goes when the new one has what it had") {
  for (const Profile profile : {Profile{1, 1}, Profile{2, 2}, Profile{4, 2}}) {
    for (const bool clean : {true, false}) {
      CAPTURE(+profile.k, +profile.m, clean);
      StoreFixture fixture(format_of(profile));
      Content content;
      {
        Store store = fixture.open(Access::kReadWrite, asked());
        for (int round = 0; round < 4; ++round) churn(store, content, round);
        if (clean) REQUIRE(store.close().ok());
      }
      const Bytes before = read_media(*fixture.media(1));
      std::uint64_t told = 0;
      std::uint64_t wanted = 0;
      Replacement replacement{1, "new1"};
      replacement.progress = [&](std::uint64_t done, std::uint64_t total) {
        REQUIRE(done > told);
        told = done;
        wanted = total;
        return true;
      };
      {
        // All that are live know of it: nobody has to say that the others are not elsewhere.
        RuntimeOptions options = without_checkpoints();
        options.split_risk = SplitRisk::kRefuse;
        Result<Store> store =
            Store::open_replacing(fixture.pool, replacement, options, fixture.system);
        REQUIRE(message_of(store.status()) == "");
        REQUIRE(told > 0);
        REQUIRE(told == wanted);
        const StoreStatus status = store->status();
        REQUIRE(status.warnings.empty());
        // What it lacks is the tail of the log, and the last run, not what was copied.
        std::uint64_t missing = 0;
        for (const DeviceStatus& device : status.devices) missing += device.missing_bytes;
        REQUIRE(missing < wanted / 2);
        for (const DeviceStatus& device : status.devices) {
          CAPTURE(device.path);
          REQUIRE(device.state == (device.path == "new1" ? "behind" : "ok"));
        }
        REQUIRE(status.faults_tolerated + 1 == profile.m);
        require_content(*store, content);
        REQUIRE(deep_findings(*store) == "");
        churn(*store, content, 4);
      }
      // It kept every byte, and is nobody's.
      REQUIRE((read_media(*fixture.media(1)) == before));
      {
        Store store = fixture.open(Access::kReadOnly);
        REQUIRE(state_of(store, fixture.device(1)) == "foreign");
      }
      fixture.pool.devices[1] = "new1";
      {
        Store store = fixture.open(Access::kReadWrite, asked());
        catch_up(store);
        churn(store, content, 5);
        REQUIRE(store.close().ok());
      }
      require_whole(fixture, profile, content);
    }
  }
}

// Every second piece that the copy reads fails, unit by unit.
TEST_CASE("replace: what a device does not give any more is rebuilt from the others") {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  StoreFixture fixture(small_format(), &faulty);
  Content content;
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    for (int round = 0; round < 4; ++round) churn(store, content, round);
    // With gaps in between, so that it is copied in pieces.
    for (int i = 0; i < 12; ++i) {
      const std::string name = "apart" + std::to_string(i);
      content[name] = noise(300'000, 500 + i);
      REQUIRE(put(store, name, content[name]).ok());
    }
    for (int i = 0; i < 12; i += 2) {
      const std::string name = "apart" + std::to_string(i);
      REQUIRE(remove(store, name).ok());
      content.erase(name);
    }
    REQUIRE(store.close().ok());
  }
  std::atomic<int> pieces{0};
  Replacement replacement{1, "new1"};
  replacement.progress = [&](std::uint64_t, std::uint64_t) {
    faulty.fault(fixture.device(1)).reads = ++pieces % 2 == 1;
    return true;
  };
  {
    Result<Store> store = Store::open_replacing(fixture.pool, replacement, asked(), &faulty);
    REQUIRE(message_of(store.status()) == "");
    REQUIRE(pieces > 3);
    std::string notes;
    for (const std::string& note : store->status().notes) notes += note + "\n";
    REQUIRE_THAT(notes, Catch::Contains("could not be read there and are rebuilt"));
    require_content(*store, content);
    // What is marked is no damage.
    REQUIRE(deep_findings(*store) == "");
    REQUIRE(counter(*store, "checksum_errors") == 0);
    catch_up(*store);
    REQUIRE(store->close().ok());
  }
  memory.remove_device(fixture.device(1));
  fixture.pool.devices[1] = "new1";
  const std::vector<std::size_t> others = {0, 2, 3, 4, 5};
  for (const std::size_t a : others) {
    for (const std::size_t b : others) {
      if (b <= a) continue;
      faulty.fault(fixture.device(a)).reads = true;
      faulty.fault(fixture.device(b)).reads = true;
      Store store = fixture.open(Access::kReadOnly);
      require_content(store, content);
      faulty.fault(fixture.device(a)).reads = false;
      faulty.fault(fixture.device(b)).reads = false;
    }
  }
}

// As above, behind each write of an opening that replaces a device that answers, and of what it is
// given then: the pool has the old device or the new one.
TEST_CASE("replace: the power fails behind each write while a device that answers is replaced") {
  const Profile profile{2, 2};
  constexpr int kMost = 4000;
  int cut = 0;
  std::set<std::string> seen;  // which of the two was the member afterwards
  for (bool whole = false; !whole && cut < kMost; cut += 1 + cut / 16) {
    CAPTURE(cut);
    io::MemorySystem memory;
    FaultySystem faulty(memory);
    StoreFixture fixture(format_of(profile), &faulty);
    Content content;
    {
      Store store = fixture.open(Access::kReadWrite, asked());
      for (int round = 0; round < 2; ++round) churn(store, content, round);
      if (cut % 2 == 0) REQUIRE(store.close().ok());
    }
    std::vector<std::string> all = fixture.pool.devices;
    all.push_back("new1");
    all.push_back(fixture.pool.fast_directories[0] + "/log");
    const auto cut_power = [&](bool off) {
      for (const std::string& path : all) faulty.fault(path).writes = off;
    };
    std::atomic<int> left{cut};
    std::atomic<bool> over{false};
    faulty.watch([&](const io::IoRequest& request) {
      if (request.op != io::IoOp::kWrite || over) return;
      if (left.fetch_sub(1) > 0) return;
      over = true;
      cut_power(true);
    });
    const Replacement replacement{1, "new1"};
    {
      Result<Store> store = Store::open_replacing(fixture.pool, replacement, asked(), &faulty);
      if (store.ok()) {
        const Result<CatchUpReport> report = store->catch_up();
        whole = report.ok() && report->bytes_missing == 0 && !over;
      }
    }
    faulty.watch({});
    cut_power(false);
    const bool made = memory.media("new1") != nullptr;
    PoolDescription both = fixture.pool;
    if (made) both.devices.push_back("new1");
    std::string is_member;
    {
      Result<Store> store = Store::open(both, asked(), &faulty);
      REQUIRE(message_of(store.status()) == "");
      require_content(*store, content);
      REQUIRE(deep_findings(*store) == "");
      for (const DeviceStatus& device : store->status().devices) {
        if (device.id == 1 && device.role == "data") is_member = device.path;
      }
      seen.insert(is_member);
      catch_up(*store);
      churn(*store, content, 2);
      REQUIRE(store->close().ok());
    }
    // The same call again, whichever it was.
    {
      Result<Store> store =
          Store::open_replacing(fixture.pool, replacement, without_checkpoints(), &faulty);
      REQUIRE(message_of(store.status()) == "");
      // Where it has the place already it has been given all by now.
      REQUIRE(state_of(*store, "new1") == (is_member == "new1" ? "ok" : "behind"));
      catch_up(*store);
      REQUIRE(deep_findings(*store) == "");
      REQUIRE(store->close().ok());
    }
    fixture.pool.devices[1] = "new1";
    for (const std::size_t away : {0u, 2u, 3u}) {
      const std::string path = fixture.pool.devices[away];
      const Bytes bytes = read_media(*memory.media(path));
      memory.remove_device(path);
      {
        Store store = fixture.open(Access::kReadOnly, asked());
        require_content(store, content);
      }
      REQUIRE(memory.create_device(path, bytes.size()).ok());
      memory.media(path)->write(0, bytes);
    }
  }
  REQUIRE(cut < kMost);
  REQUIRE(seen == std::set<std::string>{"dev1", "new1"});
}

TEST_CASE("replace: a copy that is ended leaves the pool as it was") {
  StoreFixture fixture;
  Content content;
  {
    Store store = fixture.open();
    for (int round = 0; round < 3; ++round) churn(store, content, round);
    REQUIRE(store.close().ok());
  }
  // The index is a copy of what is on them.
  const auto devices = [&] {
    std::vector<Bytes> bytes;
    for (std::size_t i = 0; i < 6; ++i) bytes.push_back(read_media(*fixture.media(i)));
    bytes.push_back(read_media(*fixture.memory.media(fixture.pool.fast_directories[0] + "/log")));
    return bytes;
  };
  const std::vector<Bytes> before = devices();
  Replacement replacement{1, "new1"};
  int asked_for = 3;
  replacement.progress = [&](std::uint64_t, std::uint64_t) { return --asked_for > 0; };
  const Result<Store> ended =
      Store::open_replacing(fixture.pool, replacement, asked(), fixture.system);
  REQUIRE(code_of(ended) == ErrorCode::kClosed);
  REQUIRE_THAT(ended.error().message,
               Catch::Contains("device 1") && Catch::Contains("has not changed"));
  REQUIRE((devices() == before));
  Store store = fixture.open(Access::kReadOnly);
  REQUIRE(store.status().health == Health::kOk);
  require_content(store, content);
}

TEST_CASE("replace: what may not be replaced, or put in its place, is refused and untouched") {
  StoreFixture fixture;
  Content content;
  {
    Store store = fixture.open();
    churn(store, content, 0);
    REQUIRE(store.close().ok());
  }
  fixture.take_away(1);
  REQUIRE(fixture.memory.create_device("small", 4_MiB).ok());
  const auto refused = [&](const Replacement& replacement, ErrorCode code) {
    const auto before = fixture.fingerprint();
    const Result<Store> store =
        Store::open_replacing(fixture.pool, replacement, asked(), fixture.system);
    CAPTURE(replacement.path);
    REQUIRE(code_of(store) == code);
    REQUIRE((fixture.fingerprint() == before));
  };
  refused({9, "new"}, ErrorCode::kNotFound);
  refused({6, "new"}, ErrorCode::kInvalidArgument);
  refused({1, fixture.device(3)}, ErrorCode::kInvalidArgument);
  refused({1, "small"}, ErrorCode::kNoSpace);
  // What comes back, or is given what it missed, is waited for.
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    churn(store, content, 1);
    REQUIRE(store.close().ok());
  }
  fixture.bring_back(1);
  refused({1, "new"}, ErrorCode::kInvalidArgument);
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    REQUIRE(state_of(store, fixture.device(1)) == "behind");
    REQUIRE(store.close().ok());
  }
  refused({1, "new"}, ErrorCode::kInvalidArgument);
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    catch_up(store);
    REQUIRE(store.close().ok());
  }
  // With m others away it is not to be spared. Only the new one has been written to.
  take_away(fixture, {3, 4});
  const auto before = fixture.fingerprint();
  const Result<Store> spared =
      Store::open_replacing(fixture.pool, {1, "new"}, asked(), fixture.system);
  REQUIRE(code_of(spared) == ErrorCode::kUnavailable);
  auto after = fixture.fingerprint();
  after.erase("new");
  REQUIRE((after == before));
  bring_back(fixture, {3, 4});
  Store store = fixture.open(Access::kReadOnly);
  require_content(store, content);
  REQUIRE(store.status().health == Health::kOk);
}

}  // namespace
}  // namespace hexad::testing
