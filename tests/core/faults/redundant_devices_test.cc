// Profiles without parity, on devices that are said to be redundant themselves: all that a store
// does, cells that are asked for again and then reported, devices that are needed, all of them, and
// their number, which changes without any root that lists one as left (P13 of
// alloc/root_choice.h).
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "tests/base/thinned.h"
#include "tests/core/faults/silent_disks.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

struct Shape {
  std::uint32_t k;
  std::uint32_t devices;
};
constexpr Shape kShapes[] = {{1, 1}, {2, 2}, {4, 4}, {4, 6}};

FormatOptions options_of(Shape shape) {
  FormatOptions options = small_format();
  options.device_size = 32_MiB;
  options.profile = {shape.k, 0, ec::CodecKind::kIsaVandermonde, 0};
  options.redundant_devices = true;
  for (std::uint32_t i = 0; i < shape.devices; ++i) {
    options.devices.push_back("dev" + std::to_string(i));
  }
  return options;
}

class Pool {
 public:
  explicit Pool(Shape shape) : Pool(options_of(shape)) {}
  explicit Pool(const FormatOptions& options)
      : faulty(memory_of_), fixture(options, &faulty), count(options.devices.size()) {}

  // Nobody has it open.
  void take_away(std::size_t device) {
    away_ = read_media(*media(device));
    memory_of_.remove_device(fixture.device(device));
  }
  void bring_back(std::size_t device) {
    REQUIRE(memory_of_.create_device(fixture.device(device), away_.size()).ok());
    media(device)->write(0, away_);
  }
  std::shared_ptr<io::MemoryMedia> media(std::size_t device) {
    return memory_of_.media(fixture.device(device));
  }
  DeviceFault& fault(std::size_t device) { return faulty.fault(fixture.device(device)); }
  Store open(RuntimeOptions options = {}) {
    options.cache_size = 0;
    return fixture.open(Access::kReadWrite, options);
  }

  struct Place {
    std::size_t device = 0;
    std::uint64_t offset = 0;
  };
  // Where these bytes lie last: in a slab, behind the log. Fails the test when that is nowhere.
  Place find(std::string_view bytes) {
    std::optional<Place> last;
    for (std::size_t device = 0; device < count; ++device) {
      const Bytes all = read_media(*media(device));
      const auto at = as_text(all).rfind(bytes);
      if (at == std::string_view::npos) continue;
      if (!last.has_value() || at > last->offset) last = Place{device, at};
    }
    REQUIRE(last.has_value());
    return *last;
  }
  void flip(const Place& place) {
    Bytes byte(1);
    media(place.device)->read(place.offset, byte);
    byte[0] ^= std::byte{0x40};
    media(place.device)->write(place.offset, byte);
  }

 private:
  io::MemorySystem memory_of_;

 public:
  FaultySystem faulty;
  StoreFixture fixture;
  const std::size_t count;

 private:
  Bytes away_;
};

std::string large() { return noise(700'000, 1); }
std::string small() { return noise(3'000, 2); }

void put_all(Store& store) {
  REQUIRE(message_of(put(store, "large", large()).status()) == "");
  REQUIRE(message_of(put(store, "small", small()).status()) == "");
  for (int i = 0; i < 20; ++i) {
    REQUIRE(message_of(put(store, "o" + std::to_string(i), noise(5'000, 100 + i)).status()) == "");
  }
}

void require_all(Store& store) {
  REQUIRE((get(store, "large") == large()));
  REQUIRE((get(store, "small") == small()));
  for (int i = 0; i < 20; ++i) {
    REQUIRE((get(store, "o" + std::to_string(i)) == noise(5'000, 100 + i)));
  }
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE(
    "redundant devices: without parity, unless all say so or the user does, nothing is made") {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  FormatOptions options = options_of({4, 4});
  options.redundant_devices = false;
  const Result<PoolDescription> refused = Store::format(options, &faulty);
  REQUIRE(code_of(refused) == ErrorCode::kInvalidArgument);
  REQUIRE(mentions(refused.error().message, "profile 4+0 has no parity"));
  REQUIRE(mentions(refused.error().message, "dev0, dev1, dev2, dev3"));
  REQUIRE(mentions(refused.error().hint, "--redundant-devices"));
  for (const std::string& path : options.devices) REQUIRE(memory.media(path) == nullptr);
  // Three of four say so.
  for (const std::string& path : options.devices) {
    faulty.fault(path).redundant = path != "dev2";
    REQUIRE(memory.create_device(path, 40_MiB).ok());
  }
  const Result<PoolDescription> one = Store::format(options, &faulty);
  REQUIRE(code_of(one) == ErrorCode::kInvalidArgument);
  REQUIRE(mentions(one.error().message, "themselves: dev2"));
  faulty.fault("dev2").redundant = true;
  const Result<PoolDescription> made = Store::format(options, &faulty);
  REQUIRE(message_of(made.status()) == "");
  Store store = Store::open(*made, {}, &faulty).value();
  REQUIRE(store.status().redundant_devices);
}

TEST_CASE("redundant devices: with parity the word is kept, and changes nothing") {
  FormatOptions options = small_format();
  options.redundant_devices = true;
  StoreFixture fixture(options);
  Store store = fixture.open();
  const StoreStatus status = store.status();
  REQUIRE(status.redundant_devices);
  REQUIRE(status.parity_cells == 2);
  REQUIRE(status.faults_tolerated == 2);
}

TEST_CASE("redundant devices: a store without parity does what every store does") {
  for (const Shape shape : kShapes) {
    CAPTURE(shape.k, shape.devices);
    Pool pool(shape);
    {
      Store store = pool.open(busy_runtime());
      put_all(store);
      REQUIRE(message_of(put(store, "old", noise(400'000, 3)).status()) == "");
      REQUIRE(message_of(commit(store, [](Transaction& t) {
                           t.clone(kBucket, "old", kBucket, "snapshot");
                           t.write(kBucket, "old", 100'000, as_bytes(noise(70'000, 4)));
                         }).status()) == "");
      REQUIRE(message_of(remove(store, "o3").status()) == "");
      REQUIRE(message_of(put(store, "o3", noise(5'000, 103)).status()) == "");
      REQUIRE(message_of(store.checkpoint()) == "");
      const StoreStatus status = store.status();
      REQUIRE(status.health == Health::kOk);
      REQUIRE(status.faults_tolerated == 0);
      REQUIRE(status.parity_cells == 0);
      REQUIRE(status.redundant_devices);
      const auto logs = std::count_if(status.devices.begin(), status.devices.end(),
                                      [](const DeviceStatus& one) { return one.holds_log; });
      REQUIRE(logs == 2);  // the fast one, and one for data
      REQUIRE(counter(store, "device_parity_bytes") == 0);
      const Result<ScrubReport> scrub = store.scrub({});
      REQUIRE(message_of(scrub.status()) == "");
      REQUIRE(scrub->findings.empty());
      REQUIRE(deep_findings(store) == "");
      REQUIRE(message_of(store.close()) == "");
    }
    RuntimeOptions hedged;
    hedged.hedged_reads = HedgedReads::kAlways;
    Store store = pool.open(hedged);
    const std::vector<std::string> notes = store.status().notes;
    REQUIRE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
      return mentions(note, "hedged reads are always, but without parity");
    }));
    require_all(store);
    std::string old = noise(400'000, 3);
    REQUIRE((get(store, "snapshot") == old));
    old.replace(100'000, 70'000, noise(70'000, 4));
    REQUIRE((get(store, "old") == old));
    REQUIRE(deep_findings(store) == "");
  }
}

TEST_CASE("redundant devices: a cell that is bad once is asked for again") {
  for (const Shape shape : kShapes) {
    for (const bool packed : {false, true}) {
      CAPTURE(shape.k, shape.devices, packed);
      Pool pool(shape);
      Store store = pool.open();
      put_all(store);
      REQUIRE(message_of(store.checkpoint()) == "");
      const std::string name = packed ? "small" : "large";
      const Pool::Place bad = pool.find((packed ? small() : large()).substr(1'000, 256));
      pool.flip(bad);
      const auto answer_right_at = [&](int times) {
        pool.faulty.watch([&, times](const io::IoRequest& request) mutable {
          const bool its = request.op == io::IoOp::kRead &&
                           request.device->name() == pool.fixture.device(bad.device) &&
                           request.offset <= bad.offset &&
                           bad.offset < request.offset + request.length;
          if (its && --times == 0) pool.flip(bad);
        });
      };
      answer_right_at(2);
      REQUIRE((get(store, name) == (packed ? small() : large())));
      REQUIRE(counter(store, "cells_asked_again") > 0);
      REQUIRE(counter(store, "checksum_errors") > 0);
      REQUIRE(counter(store, "cells_healed") == 0);
      REQUIRE(store.status().damaged_blobs == 0);
      // Scrubs and checks ask again, too.
      pool.flip(bad);
      answer_right_at(3);
      const Result<ScrubReport> scrub = store.scrub({});
      REQUIRE(message_of(scrub.status()) == "");
      REQUIRE(scrub->findings.empty());
      pool.faulty.watch(nullptr);
      REQUIRE(deep_findings(store) == "");
    }
  }
}

TEST_CASE("redundant devices: a cell that stays bad is reported, and gone with an overwrite") {
  for (const Shape shape : kShapes) {
    for (const bool packed : {false, true}) {
      CAPTURE(shape.k, shape.devices, packed);
      Pool pool(shape);
      Store store = pool.open();
      put_all(store);
      REQUIRE(message_of(store.checkpoint()) == "");
      const std::string name = packed ? "small" : "large";
      pool.flip(pool.find((packed ? small() : large()).substr(1'000, 256)));
      const Result<Bytes> got = store.get(kBucket, name);
      REQUIRE(code_of(got) == ErrorCode::kUnavailable);
      REQUIRE(mentions(got.error().to_string(), name));
      REQUIRE(mentions(got.error().to_string(), "does not match its checksum"));
      REQUIRE(mentions(got.error().to_string(), "no parity"));
      REQUIRE(counter(store, "cells_reconstructed") == 0);
      REQUIRE(counter(store, "cells_healed") == 0);
      REQUIRE(store.status().damaged_blobs == 1);
      // Others go on, reads and writes.
      REQUIRE((get(store, packed ? "large" : "small") == (packed ? large() : small())));
      REQUIRE(message_of(put(store, "new", "new").status()) == "");
      const Result<ScrubReport> scrub = store.scrub({});
      REQUIRE(message_of(scrub.status()) == "");
      REQUIRE(scrub->findings.size() == 1);
      REQUIRE_FALSE(scrub->findings.front().repaired);
      FsckOptions repairing;
      repairing.deep = true;
      repairing.repair = true;
      const Result<FsckReport> fsck = store.fsck(repairing);
      REQUIRE(message_of(fsck.status()) == "");
      REQUIRE_FALSE(fsck->findings.empty());
      REQUIRE_FALSE(fsck->findings.front().repaired);
      REQUIRE(code_of(store.get(kBucket, name)) == ErrorCode::kUnavailable);
      REQUIRE(message_of(put(store, name, packed ? small() : large()).status()) == "");
      if (!packed) {
        require_all(store);
        REQUIRE(message_of(store.checkpoint()) == "");
        REQUIRE(deep_findings(store) == "");
      } else {
        REQUIRE((get(store, name) == small()));
      }
    }
  }
}

TEST_CASE("redundant devices: without one of them nothing opens, and with it all is there") {
  for (const Shape shape : kShapes) {
    for (std::size_t gone = 0; gone < shape.devices; ++gone) {
      CAPTURE(shape.k, shape.devices, gone);
      Pool pool(shape);
      {
        Store store = pool.open();
        put_all(store);
      }
      pool.take_away(gone);
      for (const Access access : {Access::kReadWrite, Access::kReadOnly}) {
        RuntimeOptions any;
        any.split_risk = SplitRisk::kTake;
        const Result<Store> refused = pool.fixture.try_open(access, any);
        REQUIRE_FALSE(refused.ok());
        INFO(refused.error().to_string());
        REQUIRE(mentions(refused.error().to_string(), pool.fixture.device(gone)));
        if (shape.devices > 1) {
          REQUIRE(refused.error().code == ErrorCode::kUnavailable);
          REQUIRE(mentions(refused.error().to_string(), "no parity"));
        }
      }
      pool.bring_back(gone);
      Store store = pool.open();
      require_all(store);
      REQUIRE(message_of(put(store, "after", "after").status()) == "");
      REQUIRE(deep_findings(store) == "");
    }
  }
}

TEST_CASE("redundant devices: a write that fails turns the store read-only, and nobody is left") {
  for (const Shape shape : kShapes) {
    for (const bool flush : {false, true}) {
      CAPTURE(shape.k, shape.devices, flush);
      Pool pool(shape);
      {
        Store store = pool.open();
        put_all(store);
        (flush ? pool.fault(0).flushes : pool.fault(0).writes) = true;
        std::optional<ErrorCode> failed;
        for (int i = 0; i < 20 && !failed.has_value(); ++i) {
          failed = code_of(put(store, "lost" + std::to_string(i), noise(400'000, 9)));
        }
        if (flush && !failed.has_value()) continue;  // nothing is flushed here
        // The background may have met it first.
        REQUIRE((failed == ErrorCode::kUnknown || failed == ErrorCode::kReadOnly));
        const StoreStatus status = store.status();
        REQUIRE(status.read_only);
        REQUIRE(mentions(status.read_only_reason, "the pool has no parity"));
        REQUIRE(status.health == Health::kUnavailable);
        require_all(store);
        pool.fault(0).writes = false;
        pool.fault(0).flushes = false;
      }
      Store store = pool.open();
      REQUIRE(store.status().health == Health::kOk);
      for (std::size_t i = 0; i < pool.count; ++i) {
        REQUIRE(state_of(store, pool.fixture.device(i)) == "ok");
      }
      require_all(store);
      REQUIRE(deep_findings(store) == "");
    }
  }
}

TEST_CASE("redundant devices: what would have one device less for a moment is refused") {
  Pool pool(Shape{2, 3});
  {
    Store store = pool.open();
    put_all(store);
  }
  const Result<Store> refused =
      Store::open_replacing(pool.fixture.pool, {1, "new", 0, {}}, {}, &pool.faulty);
  REQUIRE(code_of(refused) == ErrorCode::kInvalidArgument);
  REQUIRE(mentions(refused.error().message, "no parity"));
  Store store = pool.open();
  require_all(store);
}

SimPoolOptions three_disks() {
  SimPoolOptions options = large_disks();
  options.profile = {2, 0, ec::CodecKind::kIsaVandermonde, 0};
  options.data_disks = 3;
  return options;
}

constexpr DeviceId kAdded = 4;  // 3 is the fast one's
constexpr const char* kNew = "new";

RuntimeOptions quiet() {
  RuntimeOptions options = without_cache();
  options.returns = Returns::kWhenAsked;
  options.memtable_size = 64_KiB;
  return options;
}

// Requests from the `left`-th on: none reaches a disk. Or they fail on one disk alone.
struct Cut {
  std::uint64_t left;
  std::string disk;  // empty: the power
  bool struck = false;
};

void arm(io::SimSystem& system, Cut& cut) {
  system.set_hook([&cut](const io::SimOp& op) -> std::optional<io::FaultKind> {
    if (!cut.disk.empty() && op.disk != cut.disk) return std::nullopt;
    if (cut.left > 0) {
      --cut.left;
      return std::nullopt;
    }
    cut.struck = true;
    return io::FaultKind::kDeviceError;
  });
}

std::string state_of_number(Store& store, DeviceId id) {
  for (const DeviceStatus& one : store.status().devices) {
    if (!one.role.empty() && one.id == id) return one.state;
  }
  return "none";
}

std::size_t data_devices(Store& store) {
  const std::vector<DeviceStatus> all = store.status().devices;
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const DeviceStatus& one) { return one.role == "data"; }));
}

std::string commit_some(Store& store, int from, int count) {
  for (int i = from; i < from + count; ++i) {
    Transaction t;
    t.put(kDefaultCollection, "w" + std::to_string(i), noise(i % 3 == 0 ? 200'000 : 2'000, i));
    const Result<Lsn> done = store.commit(std::move(t));
    if (!done.ok()) return "commit: " + done.error().to_string();
  }
  return "";
}

std::string check_some(Store& store, int count) {
  for (int i = 0; i < count; ++i) {
    const Result<Bytes> found = store.get(kDefaultCollection, "w" + std::to_string(i));
    if (!found.ok()) return "w" + std::to_string(i) + ": " + found.error().to_string();
    if (as_text(*found) != noise(i % 3 == 0 ? 200'000 : 2'000, i)) return "w" + std::to_string(i);
  }
  const Result<FsckReport> fsck = store.fsck({.deep = true});
  if (!fsck.ok()) return "fsck: " + fsck.error().to_string();
  if (!fsck->findings.empty()) {
    return fsck->findings.front().subject + ": " + fsck->findings.front().problem;
  }
  return read_all(store);
}

// Opens it and looks at all.
std::string look(io::SimSystem& system, const PoolDescription& pool, int count,
                 const std::function<std::string(Store&)>& use = {}) {
  Result<Store> store = Store::open(pool, quiet(), &system);
  if (!store.ok()) return "open: " + store.error().to_string();
  std::string problem = check_some(*store, count);
  if (problem.empty() && use) problem = use(*store);
  if (problem.empty()) problem = message_of(store->close());
  return problem;
}

PoolDescription with_new(PoolDescription pool) {
  pool.devices.push_back(kNew);
  return pool;
}

TEST_CASE("redundant devices: the power fails behind each request of adding one") {
  SimOrigin origin(three_disks(), fill);
  bool whole = false;
  int added = 0;
  int foreign = 0;
  for (std::uint64_t at = 0; !whole; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 2000);
    const auto system = origin.start(100 + at);
    system->add_disk(kNew, 16_MiB + alloc::kEndsSize);
    std::string problem;
    Cut cut{at, ""};
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      problem = commit_some(*store, 0, 3);
      arm(*system, cut);
      const Result<DeviceId> done = store->add_device(kNew);
      whole = done.ok() && !cut.struck;
      if (!done.ok() && !cut.struck) problem = "add: " + done.error().to_string();
    });
    REQUIRE(problem == "");
    system->set_hook(nullptr);
    system->power_cut();
    system->run([&] {
      problem = look(*system, with_new(origin.pool()), 3, [&](Store& store) -> std::string {
        const std::string state = state_of_number(store, kAdded);
        ++(state == "none" ? foreign : added);
        if (state == "none") {
          const Result<DeviceId> again = store.add_device(kNew);
          if (!again.ok()) return "again: " + again.error().to_string();
        } else if (state != "ok") {
          return "it is " + state;
        }
        if (data_devices(store) != 4) return "not four devices";
        return commit_some(store, 3, 3);
      });
      if (problem.empty()) problem = look(*system, with_new(origin.pool()), 6);
      // It is needed as the others are.
      system->disk(kNew).vanish();
      const Result<Store> without = Store::open(with_new(origin.pool()), quiet(), system.get());
      if (problem.empty() && without.ok()) problem = "opens without it";
    });
    REQUIRE(problem == "");
  }
  REQUIRE(added > 0);
  REQUIRE(foreign > 0);
}

TEST_CASE(
    "redundant devices: what is refused, or not answered when it is asked again, is not bad") {
  SimOrigin origin(three_disks(), fill);
  for (const bool refused : {true, false}) {
    CAPTURE(refused);
    const auto system = origin.start(600);
    std::string problem;
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      int seen = 0;
      system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
        if (op.op != io::IoOp::kRead || op.disk.rfind("dev", 0) != 0) return std::nullopt;
        if (refused) return io::FaultKind::kRefused;
        return seen++ == 0 ? io::FaultKind::kReadError : io::FaultKind::kHang;
      });
      const Result<Bytes> got = store->get(kDefaultCollection, "0");
      const ErrorCode wanted = refused ? ErrorCode::kExhausted : ErrorCode::kUnavailable;
      if (got.ok() || got.error().code != wanted) problem = message_of(got.status());
      if (store->status().damaged_blobs != 0) problem += " damaged";
      system->set_hook(nullptr);
      for (const char* disk : {"dev0", "dev1", "dev2"}) system->disk(disk).release_hung();
      system->executor().sleep_for(kSecond);
      system->queue().has_abandoned();
      if (problem.empty()) problem = read_all(*store);
    });
    REQUIRE(problem == "");
  }
}

// R7: what was acknowledged is above the watermark still, and one of its bytes cannot be read.
TEST_CASE("redundant devices: a read error at the opening after a crash loses no commit") {
  struct Write {
    std::string disk;
    std::uint64_t offset;
  };
  SimOrigin origin(three_disks(), fill);
  const bool only_copy = GENERATE(false, true);
  const int last = GENERATE(1, 3);  // a small object is the last one; a large one
  int refused = 0;
  bool over = false;
  for (std::size_t at = 0; !over; ++at) {
    CAPTURE(only_copy, last, at);
    const auto system = origin.start(700);
    if (only_copy) system->disk(origin.disks().back()).vanish();
    std::string problem;
    std::vector<Write> writes;
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      problem = commit_some(*store, 0, last);
      system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
        if (op.op == io::IoOp::kWrite) writes.push_back({op.disk, op.offset});
        return std::nullopt;
      });
      if (problem.empty()) problem = commit_some(*store, last, 1);
      system->set_hook(nullptr);
      system->power_cut();
    });
    REQUIRE(problem == "");
    over = at + 1 >= writes.size();
    REQUIRE(at < writes.size());
    const Write bad = writes[at];
    system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
      const bool touches =
          op.disk == bad.disk && op.offset <= bad.offset && bad.offset < op.offset + op.length;
      if (op.op != io::IoOp::kRead || !touches) return std::nullopt;
      return io::FaultKind::kReadError;
    });
    system->run([&] {
      const Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (store.ok()) return;
      ++refused;
      if (store.error().code != ErrorCode::kUnavailable) problem = store.error().to_string();
      if (!mentions(store.error().message, bad.disk)) problem = store.error().to_string();
    });
    REQUIRE(problem == "");
    system->set_hook(nullptr);
    system->run([&] { problem = look(*system, origin.pool(), last + 1); });
    REQUIRE(problem == "");
  }
  REQUIRE((refused > 0 || (!only_copy && last == 1)));  // it is in both copies of the log
}

TEST_CASE("redundant devices: one that fails while it is added is none, and the store goes on") {
  SimOrigin origin(three_disks(), fill);
  bool whole = false;
  int gone = 0;
  for (std::uint64_t at = 0; !whole; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 2000);
    const auto system = origin.start(300 + at);
    system->add_disk(kNew, 16_MiB + alloc::kEndsSize);
    std::string problem;
    Cut cut{at, kNew};
    bool is_added = false;
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      arm(*system, cut);
      is_added = store->add_device(kNew).ok();
      whole = is_added && !cut.struck;
      if (!is_added) {
        ++gone;
        problem = commit_some(*store, 0, 3);
        if (problem.empty() && state_of_number(*store, kAdded) != "none") problem = "a member";
        if (problem.empty() && store->status().health != Health::kOk) problem = "health";
      }
    });
    REQUIRE(problem == "");
    system->set_hook(nullptr);
    system->power_cut();
    if (is_added) continue;
    system->run([&] {
      // Neither here nor there, whatever it shows.
      problem = look(*system, origin.pool(), 3);
      if (problem.empty()) {
        problem = look(*system, with_new(origin.pool()), 3, [&](Store& store) -> std::string {
          return state_of_number(store, kAdded) == "none" ? "" : "a member";
        });
      }
      PoolDescription alone = origin.pool();
      alone.devices = {kNew};
      if (problem.empty() && Store::open(alone, quiet(), system.get()).ok()) problem = "alone";
    });
    REQUIRE(problem == "");
  }
  REQUIRE(gone > 0);
}

TEST_CASE("redundant devices: one that does not answer while it is added is given up") {
  SimOrigin origin(three_disks(), fill);
  bool struck = true;
  int gone = 0;
  for (std::uint64_t at = 0; struck; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 2000);
    struck = false;
    const auto system = origin.start(1100 + at);
    system->add_disk(kNew, 16_MiB + alloc::kEndsSize);
    std::string problem;
    std::uint64_t seen = 0;
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
        if (op.disk != kNew || seen++ < at) return std::nullopt;
        struck = true;
        return io::FaultKind::kHang;
      });
      const Result<DeviceId> added = store->add_device(kNew);
      if (struck && !added.ok()) {
        ++gone;
        if (state_of_number(*store, kAdded) != "none") problem = "a member";
      }
      if (!struck && !added.ok()) problem = added.error().to_string();
      if (!added.ok() && problem.empty()) problem = commit_some(*store, 0, 3);
      system->set_hook(nullptr);
      system->disk(kNew).release_hung();
      system->executor().sleep_for(kSecond);
      system->queue().has_abandoned();
    });
    REQUIRE(problem == "");
  }
  REQUIRE(gone > 0);
}

// P13: until the new one has it, no other has seen a root that needs it.
TEST_CASE("redundant devices: one fails while it is added, then the power, and it is not needed") {
  SimOrigin origin(three_disks(), fill);
  bool struck = true;
  int failed = 0;
  for (std::uint64_t at = 0; struck; at += kThinned) {
    REQUIRE(at < 2000);
    struck = false;
    bool ended = false;  // the call, before the power failed
    for (std::uint64_t later = 0; !ended; later += later < 8 ? 1 : later) {
      CAPTURE(at, later);
      REQUIRE(later < 20000);
      const auto system = origin.start(900 + at);
      system->add_disk(kNew, 16_MiB + alloc::kEndsSize);
      std::string problem;
      std::uint64_t seen = 0;    // requests to the new one
      std::uint64_t behind = 0;  // any, since it has failed
      bool cut = false;
      bool added = false;
      system->run([&] {
        Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
        if (!store.ok()) problem = store.error().to_string();
        if (!problem.empty()) return;
        problem = commit_some(*store, 0, 2);
        system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
          const bool its = op.disk == kNew;
          if (seen > at && ++behind > later) cut = true;
          if (its) ++seen;
          return cut || (its && seen > at) ? std::optional(io::FaultKind::kDeviceError)
                                           : std::nullopt;
        });
        added = store->add_device(kNew).ok();
        ended = !cut;
      });
      REQUIRE(problem == "");
      struck = struck || seen > at;
      system->set_hook(nullptr);
      system->power_cut();
      if (seen <= at || added) {
        ended = true;
        break;
      }
      ++failed;
      system->disk(kNew).vanish();
      system->run([&] { problem = look(*system, origin.pool(), 2); });
      REQUIRE(problem == "");
    }
  }
  REQUIRE(failed > 0);
}

TEST_CASE("redundant devices: the power fails behind each request of removing the log's device") {
  SimOrigin origin(three_disks(), [](Store& store) -> std::string {
    if (std::string problem = fill(store); !problem.empty()) return problem;
    if (const Status drained = store.drain_device(0); !drained.ok()) return message_of(drained);
    return message_of(store.move_slabs().status());
  });
  bool whole = false;
  int removed = 0;
  int left = 0;
  for (std::uint64_t at = 0; !whole; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 3000);
    const auto system = origin.start(500 + at);
    std::string problem;
    Cut cut{at, ""};
    bool done = false;
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      problem = commit_some(*store, 0, 3);
      // Slabs are kept for a moment.
      system->executor().sleep_for(10 * kSecond);
      const Result<MoveReport> moved = store->move_slabs();
      if (problem.empty() && !moved.ok()) problem = moved.error().to_string();
      arm(*system, cut);
      const Status status = store->remove_device(0);
      done = status.ok();
      whole = done && !cut.struck;
      if (!done && !cut.struck) problem = "remove: " + message_of(status);
      if (whole) {
        system->set_hook(nullptr);
        problem = commit_some(*store, 3, 3);
      }
    });
    REQUIRE(problem == "");
    system->set_hook(nullptr);
    system->power_cut();
    system->run([&] {
      problem = look(*system, origin.pool(), whole ? 6 : 3, [&](Store& store) -> std::string {
        const std::string state = state_of_number(store, 0);
        ++(state == "none" ? removed : left);
        if (done && state != "none") return "it is there, and was removed";
        if (state == "none") {
          return data_devices(store) == 2 ? commit_some(store, 6, 2) : "not two devices";
        }
        return "";
      });
      if (!problem.empty()) return;
      // Alone it is nobody's ground.
      PoolDescription alone = origin.pool();
      alone.devices = {"dev0"};
      alone.fast_directories.clear();
      if (Store::open(alone, quiet(), system.get()).ok()) problem = "it opens alone";
    });
    REQUIRE(problem == "");
  }
  REQUIRE(removed > 0);
  REQUIRE(left > 0);
}

TEST_CASE("redundant devices: the only copy of the log moves when its device is removed") {
  SimOrigin origin(three_disks(), fill);
  const auto system = origin.start(8);
  PoolDescription pool = origin.pool();
  system->disk(origin.disks().back()).vanish();  // whose log would be another copy
  std::string problem;
  int written = 0;
  system->run([&] {
    {
      Result<Store> store = Store::open(pool, quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      if (const Status drained = store->drain_device(0); !drained.ok()) {
        problem = message_of(drained);
      }
      const Result<MoveReport> moved = store->move_slabs();
      if (problem.empty() && !moved.ok()) problem = moved.error().to_string();
      system->executor().sleep_for(10 * kSecond);
      const Result<MoveReport> again = store->move_slabs();
      if (problem.empty() && !again.ok()) problem = again.error().to_string();
      bool over = false;
      const auto committer = system->executor().start("committer", [&] {
        while (!over && problem.empty()) problem = commit_some(*store, written++, 1);
      });
      const Status removed = store->remove_device(0);
      over = true;
      committer->join();
      if (problem.empty() && !removed.ok()) problem = "remove: " + message_of(removed);
    }
    system->disk("dev0").vanish();
    pool.devices = {"dev1", "dev2"};
    if (problem.empty()) problem = look(*system, pool, written);
  });
  REQUIRE(problem == "");
  REQUIRE(written > 2);
}

TEST_CASE("redundant devices: one that answers is replaced while the store serves") {
  SimOrigin origin(three_disks(), fill);
  const auto system = origin.start(7);
  system->add_disk(kNew, 16_MiB + alloc::kEndsSize);
  std::string problem;
  PoolDescription after = origin.pool();
  after.devices = {"dev1", "dev2", kNew};
  system->run([&] {
    {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      problem = commit_some(*store, 0, 4);
      const Result<DeviceId> by = store->replace_device({0, kNew, 0, {}});
      if (problem.empty() && !by.ok()) problem = "replace: " + by.error().to_string();
      if (problem.empty()) problem = commit_some(*store, 4, 4);
      if (problem.empty()) problem = check_some(*store, 8);
      if (problem.empty() && store->status().health != Health::kOk) problem = "health";
      if (problem.empty()) problem = message_of(store->close());
    }
    system->disk("dev0").vanish();
    if (problem.empty()) problem = look(*system, after, 8);
  });
  REQUIRE(problem == "");
}

TEST_CASE("redundant devices: the only device, and it full, is replaced by one as large") {
  Pool pool(Shape{1, 1});
  Store store = pool.open();
  put_all(store);
  for (int i = 0;; ++i) {
    const Result<Lsn> more = put(store, "more" + std::to_string(i), noise(500'000, i));
    if (!more.ok()) break;
    REQUIRE(i < 1000);
  }
  REQUIRE(message_of(remove(store, "more0").status()) == "");
  REQUIRE(message_of(remove(store, "more1").status()) == "");
  REQUIRE(pool.faulty.create_device("other", pool.media(0)->size()).ok());
  const Result<DeviceId> by = store.replace_device({0, "other", 0, {}});
  REQUIRE(message_of(by.status()) == "");
  require_all(store);
  REQUIRE((get(store, "more2") == noise(500'000, 2)));
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
