// A device leaves and comes back under real threads: commits, streams that began before it left or
// while it was away and end behind its return, reads and checkpoints.
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/base/thinned.h"
#include "tests/core/faults/returned.h"
#include "tests/core/faulty_system.h"
#include "tests/core/stream_support.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kLeaver = 3;
constexpr std::uint64_t kStream = 3'000'000;

void make_leave(FaultySystem& faulty, StoreFixture& fixture, Store& store) {
  faulty.fault(fixture.device(kLeaver)).writes = true;
  // However many it takes: what meets the device may be a thread of the background.
  for (int i = 0; state_of(store, fixture.device(kLeaver)) != "failed"; ++i) {
    REQUIRE(put(store, "p", noise(5000, i)).ok());
  }
}

// Any two devices are not needed.
void require_streams(io::MemorySystem& memory, StoreFixture& fixture, const Content& content,
                     const std::map<std::string, std::uint64_t>& streams) {
  std::map<std::size_t, Bytes> kept;
  for (const auto& away : sets_of(6, 2)) {
    CAPTURE(away);
    for (const std::size_t device : away) {
      kept[device] = read_media(*memory.media(fixture.device(device)));
      memory.remove_device(fixture.device(device));
    }
    {
      Store store = fixture.open(Access::kReadOnly);
      require_content(store, content);
      for (const auto& [name, seed] : streams) {
        CAPTURE(name);
        REQUIRE(reads_noise(store, name, kStream, seed));
      }
    }
    for (const std::size_t device : away) {
      REQUIRE(memory.create_device(fixture.device(device), kept[device].size()).ok());
      memory.media(fixture.device(device))->write(0, kept[device]);
    }
  }
}

TEST_CASE("rejoin: under threads that write, stream and read") {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  StoreFixture fixture(stream_format(), &faulty);
  Content content;
  std::map<std::string, std::uint64_t> streams;
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    churn(store, content, 0);
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> last{0};
    const auto writer = memory.executor().start("writer", [&] {
      for (std::uint64_t i = 0; !over; ++i) {
        const std::string value = noise(i % 4 == 0 ? 200'000 : 900, i);
        Transaction t;
        t.put(kBucket, "w" + std::to_string(i % 5), value);
        if (!store.commit(std::move(t)).ok()) ++wrong;
        last = i;
      }
    });
    const auto reader = memory.executor().start("reader", [&] {
      while (!over) {
        for (const auto& [name, value] : content) {
          const Result<Bytes> found = store.get(kBucket, name);
          if (!found.ok() || as_text(*found) != value) ++wrong;
        }
      }
    });
    for (std::uint64_t round = 0; round < (kThinned > 1 ? 2 : 4); ++round) {
      CAPTURE(round);
      // One before it leaves, one while it is away; both end behind its return.
      std::vector<std::unique_ptr<ObjectWriter>> open;
      const auto begin = [&] {
        const std::string name = "s" + std::to_string(streams.size());
        streams[name] = 1000 + streams.size();
        open.push_back(writer_of(store, name));
        REQUIRE(message_of(write_noise(*open.back(), kStream, streams[name])) == "");
      };
      begin();
      make_leave(faulty, fixture, store);
      begin();
      REQUIRE(store.checkpoint().ok());
      faulty.fault(fixture.device(kLeaver)).writes = false;
      REQUIRE(message_of(store.bring_back_device(kLeaver)) == "");
      for (const std::unique_ptr<ObjectWriter>& one : open) {
        REQUIRE(message_of(one->commit().status()) == "");
      }
      // Every other time it leaves again before it has all.
      if (round % 2 == 1) {
        const Result<CatchUpReport> report = store.catch_up();
        REQUIRE(message_of(report.status()) == "");
      }
    }
    over = true;
    writer->join();
    reader->join();
    REQUIRE(wrong == 0);
    REQUIRE(last > 0);
    catch_up(store);
    REQUIRE(deep_findings(store) == "");
    REQUIRE(store.close().ok());
  }
  require_streams(memory, fixture, content, streams);
}

// What they wrote while it was away is published only then (BK6).
TEST_CASE("rejoin: a device is behind until streams from before its return are over",
          "[one-thread]") {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  StoreFixture fixture(stream_format(), &faulty);
  Content content;
  const std::map<std::string, std::uint64_t> streams{{"committed", 1}};
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    churn(store, content, 0);
    make_leave(faulty, fixture, store);
    std::unique_ptr<ObjectWriter> committed = writer_of(store, "committed");
    REQUIRE(message_of(write_noise(*committed, kStream, 1)) == "");
    std::unique_ptr<ObjectWriter> dropped = writer_of(store, "dropped");
    REQUIRE(message_of(write_noise(*dropped, kStream, 2)) == "");
    REQUIRE(store.checkpoint().ok());
    faulty.fault(fixture.device(kLeaver)).writes = false;
    REQUIRE(message_of(store.bring_back_device(kLeaver)) == "");
    const auto require_behind = [&] {
      const Result<CatchUpReport> report = store.catch_up();
      REQUIRE(message_of(report.status()) == "");
      REQUIRE(report->bytes_missing > 0);
      REQUIRE(state_of(store, fixture.device(kLeaver)) == "behind");
      REQUIRE(store.status().faults_tolerated == 1);
    };
    require_behind();
    dropped.reset();
    require_behind();
    REQUIRE(message_of(committed->commit().status()) == "");
    REQUIRE(put(store, "p", "behind the stream").ok());
    REQUIRE(store.checkpoint().ok());
    REQUIRE(state_of(store, fixture.device(kLeaver)) == "behind");
    catch_up(store);
    REQUIRE(state_of(store, fixture.device(kLeaver)) == "ok");
    REQUIRE(deep_findings(store) == "");
    REQUIRE(store.close().ok());
  }
  require_streams(memory, fixture, content, streams);
}

}  // namespace
}  // namespace hexad::testing
