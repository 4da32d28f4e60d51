// What status() counts of each device: which of them is going bad, told before it has failed, and
// no other blamed for it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "tests/core/cells_on_media.h"
#include "tests/core/noise.h"
#include "tests/core/sim_origin.h"

namespace hexad::testing {
namespace {

using io::FaultKind;
using io::IoOp;
using io::SimOp;
using io::SimSystem;

using Count = std::uint64_t DeviceStatus::*;
constexpr Count kCounts[] = {&DeviceStatus::read_errors, &DeviceStatus::write_errors,
                             &DeviceStatus::flush_errors, &DeviceStatus::checksum_errors,
                             &DeviceStatus::timeouts};

constexpr io::Nanos kSecond = 1'000'000'000;
constexpr int kObjects = 6;

// Packed ones and private stripes.
std::string value_of(int i) { return noise(i < 3 ? 3000 + 500 * i : 300'000, i); }

std::string fill(Store& store) {
  for (int i = 0; i < kObjects; ++i) {
    Transaction t;
    t.put(kDefaultCollection, std::to_string(i), value_of(i));
    const Result<Lsn> done = store.commit(std::move(t));
    if (!done.ok()) return done.error().to_string();
  }
  return "";
}

std::string read_all(Store& store) {
  for (int i = 0; i < kObjects; ++i) {
    const Result<Bytes> found = store.get(kDefaultCollection, std::to_string(i));
    if (!found.ok()) return found.error().to_string();
    if (as_text(*found) != std::string_view(value_of(i))) return "other bytes";
  }
  return "";
}

RuntimeOptions without_cache() {
  RuntimeOptions options;
  options.cache_size = 0;
  return options;
}

struct Case {
  const char* name;
  IoOp op;
  FaultKind fault;
  std::vector<Count> counts;  // those that count it
  bool writes;                // it is met by writing, else by reading
};

std::vector<Case> cases() {
  return {
      {"reads fail", IoOp::kRead, FaultKind::kReadError, {&DeviceStatus::read_errors}, false},
      {"a bit is read wrong",
       IoOp::kRead,
       FaultKind::kReadFlip,
       {&DeviceStatus::checksum_errors},
       false},
      {"reads are not answered", IoOp::kRead, FaultKind::kHang, {&DeviceStatus::timeouts}, false},
      // A durable write carries its own flush, which may be what failed.
      {"writes fail",
       IoOp::kWrite,
       FaultKind::kWriteErrorBefore,
       {&DeviceStatus::write_errors, &DeviceStatus::flush_errors},
       true},
      {"flushes fail", IoOp::kFlush, FaultKind::kFlushError, {&DeviceStatus::flush_errors}, true},
      {"the system is short of memory", IoOp::kRead, FaultKind::kRefused, {}, false},
  };
}

TEST_CASE("device errors: what goes wrong with one device is counted as what it is, for that one") {
  SimPoolOptions options;
  options.device_size = 16_MiB;
  SimOrigin origin(options, fill);
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const auto system = origin.start(1);
    std::uint64_t struck = 0;
    std::vector<DeviceStatus> before;
    std::vector<DeviceStatus> after;
    const std::string said = with_store(
        *system, origin.pool(),
        [&](Store& store) -> std::string {
          before = store.status().devices;
          system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
            if (op.op != one.op || op.disk != "dev2") return std::nullopt;
            ++struck;
            return one.fault;
          });
          std::string problem;
          if (one.writes) {
            for (int i = 0; i < 3 && problem.empty(); ++i) problem = fill(store);
          } else {
            problem = read_all(store);
          }
          after = store.status().devices;
          system->set_hook(nullptr);
          system->disk("dev2").release_hung();
          system->executor().sleep_for(kSecond);
          if (problem.empty()) problem = read_all(store);
          return problem;
        },
        without_cache());
    REQUIRE(said == "");
    REQUIRE(struck > 0);
    REQUIRE(before.size() == 7);
    for (const DeviceStatus& device : before) {
      CAPTURE(device.path);
      REQUIRE_FALSE(device.has_had_errors());
    }
    for (const DeviceStatus& device : after) {
      for (const Count count : kCounts) {
        CAPTURE(device.path, std::find(std::begin(kCounts), std::end(kCounts), count) - kCounts);
        const bool wanted = device.path == "dev2" && std::find(one.counts.begin(), one.counts.end(),
                                                               count) != one.counts.end();
        if (!wanted) {
          REQUIRE(device.*count == 0);
        } else if (count != &DeviceStatus::flush_errors || one.op == IoOp::kFlush) {
          REQUIRE(device.*count > 0);
          REQUIRE(device.*count <= struck);
        }
      }
    }
  }
}

std::map<std::string, std::uint64_t> checksum_errors(Store& store) {
  std::map<std::string, std::uint64_t> errors;
  for (const DeviceStatus& device : store.status().devices) {
    if (device.checksum_errors > 0) errors[device.path] = device.checksum_errors;
  }
  return errors;
}

// What reads and a scrub find of a stripe with two bad cells: those devices and no others, as often
// as the counter of the whole store says, and nothing any more when the cells are right again.
void require_blamed(StoreFixture& fixture, const StripeOnMedia& cells, const std::string& name,
                    const std::string& value) {
  for (const auto& [a, b] : pairs_below(cells.size())) {
    CAPTURE(a, b);
    restore(fixture, cells);
    flip_byte(fixture, cells[a], 100);
    flip_byte(fixture, cells[b], 200);
    {
      Store store = fixture.open(Access::kReadOnly, without_cache());
      REQUIRE((get(store, name) == value));
      for (const auto& [path, count] : checksum_errors(store)) {
        REQUIRE(
            (path == fixture.device(cells[a].device) || path == fixture.device(cells[b].device)));
      }
      const Result<ScrubReport> scrubbed = store.scrub();
      REQUIRE(scrubbed.ok());
      const auto errors = checksum_errors(store);
      REQUIRE(errors.size() == 2);
      REQUIRE(errors.count(fixture.device(cells[a].device)) == 1);
      REQUIRE(errors.count(fixture.device(cells[b].device)) == 1);
      std::uint64_t sum = 0;
      for (const auto& [path, count] : errors) sum += count;
      REQUIRE(sum == counter(store, "checksum_errors"));
    }
    {
      Store store = fixture.open(Access::kReadWrite, without_cache());
      REQUIRE(store.scrub().ok());
      REQUIRE(checksum_errors(store).size() == 2);
      REQUIRE(store.close().ok());
    }
    Store store = fixture.open(Access::kReadWrite, without_cache());
    REQUIRE(store.scrub().ok());
    REQUIRE((get(store, name) == value));
    REQUIRE(checksum_errors(store).empty());
    REQUIRE(store.close().ok());
  }
}

TEST_CASE("device errors: bad cells of a private stripe are those of their devices") {
  StoreFixture fixture;
  const std::string value = noise(300'000, 1);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "victim", value).ok());
    REQUIRE(store.close().ok());
  }
  require_blamed(fixture, find_private(fixture, value), "victim", value);
}

TEST_CASE("device errors: bad cells of a pack stripe are those of their devices") {
  const FormatOptions options = small_format();
  StoreFixture fixture(options);
  const std::string value = noise(3500, 10);
  {
    Store store = fixture.open();
    Transaction puts;
    for (int i = 0; i < 20; ++i) {
      puts.put(kDefaultCollection, std::to_string(i), i == 0 ? value : noise(3000 + 100 * i, i));
    }
    REQUIRE(store.commit(std::move(puts)).ok());
    REQUIRE(store.close().ok());
  }
  require_blamed(fixture, find_pack(fixture, options).cells, "0", value);
}

}  // namespace
}  // namespace hexad::testing
