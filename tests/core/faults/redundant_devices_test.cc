// Profiles without parity, on devices that are said to be redundant themselves: all that a store
// does, cells that are asked for again and then reported, and devices that are needed, all of them.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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
      const std::string_view text = as_text(all);
      for (std::size_t at = text.find(bytes); at != std::string_view::npos;
           at = text.find(bytes, at + 1)) {
        if (!last.has_value() || at > last->offset) last = Place{device, at};
      }
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
  // Nobody has given his word for one that comes later.
  REQUIRE(memory.create_device("plain", 40_MiB).ok());
  for (const Status& status :
       {store.add_device("plain").status(), store.replace_device({2, "plain"}).status()}) {
    REQUIRE(code_of(status) == ErrorCode::kInvalidArgument);
    REQUIRE(mentions(status.error().message, "plain does not say that it is redundant itself"));
  }
  REQUIRE(store.status().devices.size() == 4);
  faulty.fault("plain").redundant = true;
  REQUIRE(message_of(store.add_device("plain").status()) == "");
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

// Read-only, and why; what was acknowledged is there; whatever begins now is refused, and has not
// happened.
void require_read_only(Store& store) {
  const StoreStatus status = store.status();
  REQUIRE(status.read_only);
  REQUIRE(mentions(status.read_only_reason, "the pool has no parity"));
  REQUIRE(status.health == Health::kUnavailable);
  require_all(store);
  REQUIRE(code_of(put(store, "later", "later")) == ErrorCode::kReadOnly);
  REQUIRE(code_of(store.get(kBucket, "later")) == ErrorCode::kNotFound);
}

// The devices work again: none of them is behind, and what was refused is not there.
void require_as_before(Pool& pool) {
  Store store = pool.open();
  REQUIRE(store.status().health == Health::kOk);
  for (std::size_t i = 0; i < pool.count; ++i) {
    REQUIRE(state_of(store, pool.fixture.device(i)) == "ok");
  }
  require_all(store);
  REQUIRE(code_of(store.get(kBucket, "later")) == ErrorCode::kNotFound);
  REQUIRE(deep_findings(store) == "");
}

// From a request of a commit on, which has its LSN by then, one device fails: the first to get such
// a request.
class FailsInCommit {
 public:
  enum class Request { kCell, kLog, kFlush };

  FailsInCommit(Pool& pool, Request request) : pool_(pool), request_(request) {
    pool.faulty.watch([this](const io::IoRequest& sent) { see(sent); });
  }
  ~FailsInCommit() { pool_.faulty.watch({}); }
  FailsInCommit(const FailsInCommit&) = delete;
  FailsInCommit& operator=(const FailsInCommit&) = delete;

  bool met() const { return met_; }
  void heal() {
    fault_->writes = false;
    fault_->flushes = false;
  }

 private:
  // From the first cell on that the test's own thread asks for: its commit's, and not the record of
  // a zone that it makes before. What follows may be sent by any thread: flushes are shared.
  void see(const io::IoRequest& sent) {
    const bool is_cell = sent.op == io::IoOp::kWrite && sent.cause == io::IoCause::kUser;
    if (is_cell && std::this_thread::get_id() == thread_) cell_seen_ = true;
    if (!cell_seen_ || !is_it(sent) || met_.exchange(true)) return;
    fault_ = &pool_.faulty.fault(sent.device->name());
    (request_ == Request::kFlush ? fault_->flushes : fault_->writes) = true;
  }
  bool is_it(const io::IoRequest& sent) const {
    const std::vector<std::string>& devices = pool_.fixture.pool.devices;
    if (std::find(devices.begin(), devices.end(), sent.device->name()) == devices.end()) {
      return false;
    }
    if (request_ == Request::kFlush) return sent.op == io::IoOp::kFlush;
    const io::IoCause cause = request_ == Request::kLog ? io::IoCause::kLog : io::IoCause::kUser;
    return sent.op == io::IoOp::kWrite && sent.cause == cause;
  }

  Pool& pool_;
  const Request request_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> cell_seen_{false};
  std::atomic<bool> met_{false};
  DeviceFault* fault_ = nullptr;  // of the device that fails; met_
};

TEST_CASE("redundant devices: a failure under a commit leaves that one open, and refuses others") {
  using Request = FailsInCommit::Request;
  for (const Shape shape : kShapes) {
    for (const Request request : {Request::kCell, Request::kLog, Request::kFlush}) {
      CAPTURE(shape.k, shape.devices, static_cast<int>(request));
      Pool pool(shape);
      for (std::size_t i = 0; i < pool.count; ++i) {
        pool.fault(i).cached = request == Request::kFlush;
      }
      const std::string open = noise(400'000, 9);
      {
        Store store = pool.open();
        put_all(store);
        FailsInCommit fails(pool, request);
        REQUIRE(code_of(put(store, "open", open)) == ErrorCode::kUnknown);
        REQUIRE(fails.met());
        require_read_only(store);
        fails.heal();
      }
      require_as_before(pool);
      Store store = pool.open();
      const std::string found = get(store, "open");
      if (code_of(store.get(kBucket, "open")) != ErrorCode::kNotFound) REQUIRE((found == open));
    }
  }
}

TEST_CASE("redundant devices: a failure beside commits refuses the next one, and nobody is left") {
  for (const Shape shape : kShapes) {
    CAPTURE(shape.k, shape.devices);
    Pool pool(shape);
    {
      Store store = pool.open();
      put_all(store);
      // A checkpoint writes a root to each.
      pool.fault(shape.devices - 1).writes = true;
      REQUIRE(code_of(store.checkpoint()) == ErrorCode::kUnknown);
      require_read_only(store);
      pool.fault(shape.devices - 1).writes = false;
    }
    require_as_before(pool);
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
