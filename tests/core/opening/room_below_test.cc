// Sparse files on a file system that fills up: copies that left out zeros, files that were only
// made long. The pool gets the room that it cannot do without when it is opened, and a zone when
// it is made; a transaction that finds none fails alone, and no device is ever lost by it.
#include "core/opening/room_below.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "io/os/file_device.h"
#include "tests/core/noise.h"
#include "tests/core/sim_origin.h"
#include "tests/core/store_fixture.h"
#include "tests/io/mount.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

using io::SimSystem;

std::string fill(Store& store) {
  for (int i = 0; i < 8; ++i) {
    const Result<Lsn> done = put(store, std::to_string(i), noise(20'000, i));
    if (!done.ok()) return done.error().to_string();
  }
  return "";
}

std::string check(Store& store, int from) {
  for (const DeviceStatus& device : store.status().devices) {
    if (device.state != "ok") return device.path + ": " + device.state;
  }
  for (int i = from; i < 8; ++i) {
    if (get(store, std::to_string(i)) != noise(20'000, i)) return std::to_string(i);
  }
  return deep_findings(store);
}

TEST_CASE("room below: without room for the log a pool is not opened, and no byte has changed") {
  SimOrigin origin({}, fill);
  for (const std::string& disk : origin.disks()) {
    CAPTURE(disk);
    const auto system = origin.start(1);
    std::map<std::string, std::shared_ptr<const io::CowImage>> before;
    for (const std::string& name : origin.disks()) before[name] = system->disk(name).snapshot();
    system->disk(disk).make_sparse(64_KiB);
    std::optional<Error> error;
    system->run([&] {
      const Result<Store> store = Store::open(origin.pool(), {}, system.get());
      if (!store.ok()) error = store.error();
    });
    REQUIRE(error.has_value());
    REQUIRE(error->code == ErrorCode::kNoSpace);
    REQUIRE_THAT(error->message, Catch::Contains(disk) && Catch::Contains("has changed"));
    for (const std::string& name : origin.disks()) {
      REQUIRE((system->disk(name).snapshot() == before[name]));
    }
    RuntimeOptions reading;
    reading.access = Access::kReadOnly;
    REQUIRE(with_store(
                *system, origin.pool(), [](Store& store) { return check(store, 0); }, reading) ==
            "");
    system->disk(disk).make_sparse(64_MiB);
    REQUIRE(with_store(*system, origin.pool(), [](Store& store) { return check(store, 0); }) == "");
  }
}

// Every disk has room for what it holds, its log and its zones, and for so much more.
std::unique_ptr<SimSystem> start_sparse(SimOrigin& origin, std::uint64_t more) {
  auto system = origin.start(1);
  for (const std::string& disk : origin.disks()) system->disk(disk).make_sparse(64_MiB);
  REQUIRE(with_store(*system, origin.pool(), [](Store& store) { return check(store, 0); }) == "");
  for (const std::string& disk : origin.disks()) {
    // What has its room is not zeros alone any more.
    SimSystem& world = *system;
    const std::uint64_t left = world.disk(disk).room_left();
    world.disk(disk).take_room(left > more ? left - more : 0);
  }
  return system;
}

TEST_CASE("room below: a full file system stops what is new, and deletes make room for it") {
  SimPoolOptions options;
  options.device_size = 16_MiB;
  SimOrigin origin(options, fill);
  // Not even for the headers of a zone; for them, and not for what comes behind them.
  const std::uint64_t more = GENERATE(0_KiB, 64_KiB);
  CAPTURE(more);
  const auto system = start_sparse(origin, more);
  REQUIRE(with_store(*system, origin.pool(), [&](Store& store) -> std::string {
            const std::string large = noise(1'000'000, 99);
            int stored = 0;
            std::optional<Error> error;
            for (; stored < 100 && !error.has_value(); ++stored) {
              const Result<Lsn> done = put(store, "large" + std::to_string(stored), large);
              if (!done.ok()) error = done.error();
            }
            if (!error.has_value()) return "there was room for all";
            if (error->code != ErrorCode::kNoSpace) return error->to_string();
            if (store.status().read_only) return "it has turned read-only";
            for (int i = 0; i < 4; ++i) {
              const Result<Lsn> gone = remove(store, std::to_string(i));
              if (!gone.ok()) return "remove: " + gone.error().to_string();
            }
            for (int i = 0; i < stored - 1; ++i) {
              const Result<Lsn> gone = remove(store, "large" + std::to_string(i));
              if (!gone.ok()) return "remove: " + gone.error().to_string();
            }
            if (const Status status = store.checkpoint(); !status.ok()) {
              return "checkpoint: " + status.error().to_string();
            }
            const Result<Lsn> again = put(store, "again", noise(100'000, 7));
            if (!again.ok()) return "again: " + again.error().to_string();
            return check(store, 4);
          }) == "");
  REQUIRE(with_store(*system, origin.pool(), [](Store& store) { return check(store, 4); }) == "");
}

// The bytes of a file that have blocks.
std::uint64_t blocks_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

TEST_CASE("room below: a pool on files that were only made long gets all their room") {
  const io::testing::TemporaryDirectory directory;
  FormatOptions options = small_format();
  for (int i = 0; i < 6; ++i) {
    options.devices.push_back(directory.path("dev" + std::to_string(i)));
    const io::Fd file(::open(options.devices.back().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::ftruncate(file.get(), 8_MiB) == 0);
  }
  options.fast_directories = {directory.path("fast")};
  FormatReport report;
  const PoolDescription pool = Store::format(options, nullptr, &report).value();
  const std::vector<std::string>& notes = report.notes;
  REQUIRE(report.min_alloc == 4_KiB);
  for (const std::string& device : pool.devices) {
    CAPTURE(device);
    if (notes.empty()) REQUIRE(blocks_of(device) >= 8_MiB);
  }
  // A copy that leaves out zeros: the next opening gives the log its blocks again.
  for (const std::string& device : pool.devices) {
    const std::string copy =
        "cp --sparse=always " + device + " " + device + ".copy && mv " + device + ".copy " + device;
    REQUIRE(std::system(copy.c_str()) == 0);
  }
  const std::uint64_t sparse = blocks_of(pool.devices[0]);
  Store store = Store::open(pool, {}).value();
  if (notes.empty()) REQUIRE(blocks_of(pool.devices[0]) >= sparse + options.log_size / 2);
  REQUIRE(fill(store) == "");
}

TEST_CASE("room below: files on a full file system of their own") {
  const io::testing::TemporaryDirectory directory;
  const io::testing::Mount mount(directory, "tmpfs", "size=24m");
  if (!mount.mounted()) return;
  FormatOptions options = small_format();
  for (int i = 0; i < 6; ++i) options.devices.push_back(directory.path("dev" + std::to_string(i)));
  options.devices[2] = mount.path("dev2");
  options.fast_directories = {directory.path("fast")};
  const PoolDescription pool = Store::format(options).value();
  {
    Store store = Store::open(pool, {}).value();
    REQUIRE(fill(store) == "");
    REQUIRE(store.close().ok());
  }
  // All that is zeros loses its blocks, and something else takes them.
  const std::string sparse = "cp --sparse=always " + mount.path("dev2") + " " + mount.path("copy") +
                             " && mv " + mount.path("copy") + " " + mount.path("dev2");
  REQUIRE(std::system(sparse.c_str()) == 0);
  const std::string ballast =
      "head -c 24M /dev/zero > " + mount.path("ballast") + " 2> /dev/null; true";
  REQUIRE(std::system(ballast.c_str()) == 0);
  const Result<Store> refused = Store::open(pool, {});
  REQUIRE(code_of(refused) == ErrorCode::kNoSpace);
  REQUIRE_THAT(refused.error().message, Catch::Contains("dev2"));
  RuntimeOptions reading;
  reading.access = Access::kReadOnly;
  {
    Store store = Store::open(pool, reading).value();
    REQUIRE(check(store, 0) == "");
  }
  std::filesystem::remove(mount.path("ballast"));
  Store store = Store::open(pool, {}).value();
  REQUIRE(check(store, 0) == "");
  REQUIRE(put(store, "more", noise(100'000, 3)).ok());
}

TEST_CASE("room_below: one note for all devices whose room nobody promises") {
  CHECK(core::unreserved_note({"rbd:log/a"}, "so") ==
        "rbd:log/a: what it lies on cannot reserve space, or gives every write a new place; so");
  CHECK(core::unreserved_note({"a", "b"}, "so").starts_with("a and 1 other device: what they lie"));
  CHECK(core::unreserved_note({"a", "b", "c"}, "").starts_with("a and 2 other devices: what they"));
}

}  // namespace
}  // namespace hexad::testing
