// What open_parts() hands to the engine, and what it has made durable by then. What users see of
// devices that are absent, stale, foreign or damaged: absent_devices_test.cc, bad_input_test.cc.
#include "core/opening/opening.h"

#include <algorithm>
#include <functional>
#include <map>

#include "alloc/device_layout.h"
#include "core/opening/device_survey.h"
#include "core/space/log_set.h"
#include "io/sim/sim_system.h"
#include "kv/log/log_scan.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::core {
namespace {

using hexad::testing::code_of;
using hexad::testing::FaultySystem;
using hexad::testing::get;
using hexad::testing::message_of;
using hexad::testing::put;
using hexad::testing::small_format;
using hexad::testing::StoreFixture;

constexpr DeviceId kLogDevice = 6;

RuntimeOptions with(Access access) {
  RuntimeOptions options;
  options.access = access;
  return options;
}

Result<StoreParts> open(StoreFixture& fixture, Access access, io::System* system = nullptr) {
  return open_parts(fixture.pool, with(access), system == nullptr ? fixture.system : system);
}

// The chain of the log as one copy has it, from the root's trim point on.
kv::LogScan scan(const StoreParts& parts, DeviceId id) {
  kv::LogScanOptions options;
  options.uuid = parts.shape->uuid;
  options.block_size = parts.shape->block;
  const alloc::LogTrim& trim = parts.root.log_trim;
  options.trim = {trim.position, trim.end, trim.crc, trim.epoch, trim.lsn};
  const kv::LogArea area = parts.members->find(id)->log_area();
  return kv::scan_log({&area, 1}, options).value();
}

// What holds whenever open_parts() has succeeded for writing (R8, R13). Says what does not.
std::string problem_of(const StoreParts& parts) {
  const Members& members = *parts.members;
  if (!parts.log.has_value() || !parts.space->may_heal()) return "it cannot be written to";
  if (parts.log->epoch() != parts.root.epoch) return "the log has another epoch than the root";
  if (parts.root.clean_close) return "the root says that the store was closed";
  if (parts.root.log_devices != choose_log_devices(members, parts.shape->m())) {
    return "others should hold the log";
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const alloc::RootDevice* row = parts.root.find(members.at(i).id);
    if (row == nullptr) return "a member is not in the root";
    if (members.usable(row->id) != (row->state == alloc::MemberState::kLive)) {
      return "device " + std::to_string(row->id) + " is used and has left, or the other way round";
    }
    if (!members.usable(row->id)) continue;
    const auto roots =
        alloc::read_roots({members.device(row->id), members.find(row->id)->layout.device_size});
    // But for what the very writing has confirmed.
    if (!roots.ok() || roots->empty() || roots->front().epoch != parts.root.epoch ||
        roots->front().sequence != parts.root.sequence) {
      return "device " + std::to_string(row->id) + " lacks the root";
    }
  }
  const std::vector<kv::LogPoint> chain = scan(parts, parts.root.log_devices.front()).points();
  for (const DeviceId id : parts.root.log_devices) {
    const kv::LogScan copy = scan(parts, id);
    if (!copy.damage.empty()) return copy.damage;
    if (copy.points() != chain) return "the copies of the log differ";
    if (copy.blocks.empty() || copy.blocks.back().header.kind != kv::LogBlockKind::kFence) {
      return "the log does not end with a fence";
    }
    if (copy.blocks.back().header.epoch != parts.root.epoch) return "the fence is an old one";
  }
  if (chain.back() != parts.log->last()) return "the writer goes on elsewhere";
  return "";
}

// Of every device, in both slots.
void change_roots(StoreFixture& fixture, const std::function<void(alloc::Root&)>& change) {
  std::vector<std::string> paths = fixture.pool.devices;
  paths.push_back(fast_log_path(fixture.pool.fast_directories[0]));
  for (const std::string& path : paths) {
    alloc::Root root;
    {
      const auto device = fixture.memory.open_device(path, io::OpenMode::kReadOnly).value();
      root = alloc::read_roots({device.get(), device->geometry().size}).value().front();
    }
    change(root);
    io::MemoryMedia& media = *fixture.memory.media(path);
    for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
      for (unsigned slot = 0; slot < 2; ++slot) {
        media.write(alloc::root_offset(end, slot, media.size()),
                    as_bytes(alloc::encode_root(root)));
      }
    }
  }
}

TEST_CASE("opening: a store that was closed is taken over in a new epoch") {
  StoreFixture fixture;
  const Lsn closed = open(fixture, Access::kReadOnly)->last_lsn;
  Epoch before = 0;
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    const Result<StoreParts> parts = open(fixture, Access::kReadWrite);
    REQUIRE(message_of(parts.status()) == "");
    REQUIRE(problem_of(*parts) == "");
    REQUIRE(parts->root.epoch > before);
    REQUIRE(parts->root.promised_epoch > parts->root.epoch);
    before = parts->root.epoch;
    REQUIRE(parts->notes == std::vector<std::string>());
    REQUIRE(parts->unrecognised.empty());
    REQUIRE(parts->last_lsn == closed);
    REQUIRE(parts->log->next_lsn() == closed + 1);
    REQUIRE(parts->root.log_devices == std::vector<DeviceId>{kLogDevice, 0, 1, 2});
  }
}

TEST_CASE("opening: the shape is that of the labels, and packs fit into the slabs") {
  FormatOptions format = small_format();
  format.profile.k = 3;
  format.min_alloc = 16_KiB;
  format.checksum = ChecksumType::kXxh3;
  format.checksum_block = 64_KiB;
  StoreFixture fixture(format);
  const StoreParts parts = open(fixture, Access::kReadOnly).value();
  const StoreShape& shape = *parts.shape;
  REQUIRE(shape.uuid == parts.root.store);
  REQUIRE(shape.profile.k == 3);
  REQUIRE(shape.profile.m == 2);
  REQUIRE(shape.record.cells() == 5);
  REQUIRE(shape.record.checksum == ChecksumType::kXxh3);
  REQUIRE(shape.record.checksum_block == 64_KiB);
  REQUIRE(shape.unit == 16_KiB);
  REQUIRE(shape.data_devices == 5);
  REQUIRE(shape.max_pack_units >= 1);
  REQUIRE(shape.max_pack_units * 8 <= parts.members->at(0).layout.slab_units);
}

TEST_CASE("opening: for reading nothing is written and nothing is drawn, by any number") {
  StoreFixture fixture;
  Lsn lsn = 0;
  {
    Store store = fixture.open();
    lsn = put(store, "a", "1").value();
  }
  const auto before = fixture.fingerprint();
  {
    const Result<StoreParts> first = open(fixture, Access::kReadOnly);
    const Result<StoreParts> second = open(fixture, Access::kReadOnly);
    for (const Result<StoreParts>* parts : {&first, &second}) {
      REQUIRE(message_of(parts->status()) == "");
      REQUIRE_FALSE((*parts)->log.has_value());
      REQUIRE_FALSE((*parts)->space->may_heal());
      REQUIRE((*parts)->last_lsn >= lsn);
    }
    REQUIRE(first->root == second->root);
    REQUIRE(code_of(open(fixture, Access::kReadWrite)) == ErrorCode::kBusy);
  }
  REQUIRE((fixture.fingerprint() == before));
}

TEST_CASE("opening: what only the log has is replayed, and said") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    for (int i = 0; i < 5; ++i) REQUIRE(put(store, "object", std::to_string(i)).ok());
    // Not closed.
  }
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    const StoreParts parts = open(fixture, access).value();
    // The engine's own transactions, for zones, count as well.
    const std::uint64_t replayed = parts.counters->since_open(CounterId::kRecoveredTransactions);
    REQUIRE(replayed >= 5);
    REQUIRE(parts.last_lsn == parts.root.checkpoint_lsn + replayed);
    REQUIRE(parts.notes.size() == 1);
    REQUIRE_THAT(parts.notes[0],
                 Catch::Contains("replayed " + std::to_string(replayed) + " transactions"));
    if (access == Access::kReadWrite) REQUIRE(problem_of(parts) == "");
  }
  // A store that is closed leaves nothing to replay.
  {
    Store store = fixture.open();
    REQUIRE(store.close().ok());
  }
  const StoreParts parts = open(fixture, Access::kReadOnly).value();
  REQUIRE(parts.counters->since_open(CounterId::kRecoveredTransactions) == 0);
  REQUIRE(parts.notes.empty());
  REQUIRE(parts.root.clean_close);
}

// The promise behind it could not be written down, which ended the process.
TEST_CASE("opening: a store whose epoch or sequence is as high as can be is only read") {
  constexpr std::uint64_t kHighest = std::uint64_t{1} << 62;
  constexpr std::uint64_t kRoom = std::uint64_t{1} << 58;
  StoreFixture fixture;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "a", "1").ok());
    REQUIRE(store.close().ok());
  }
  // Of the devices: whoever opens the index writes into its lock file.
  const auto fingerprint = [&] {
    auto sums = fixture.fingerprint();
    std::erase_if(sums, [](const auto& sum) { return sum.first.ends_with(".mdb"); });
    REQUIRE(sums.size() == 7);
    return sums;
  };
  const auto refuses = [&](const std::function<void(alloc::Root&)>& change) {
    change_roots(fixture, change);
    const auto before = fingerprint();
    const Result<Store> written = fixture.try_open();
    REQUIRE(code_of(written) == ErrorCode::kCorruption);
    CHECK_THAT(written.error().message, Catch::Contains("no store comes above"));
    REQUIRE(fingerprint() == before);
    Store store = fixture.open(Access::kReadOnly);
    REQUIRE(get(store, "a") == "1");
  };
  alloc::Root plain;
  refuses([&](alloc::Root& root) {
    plain = root;
    root.promised_epoch = kHighest;
  });
  refuses([&](alloc::Root& root) {
    root = plain;
    root.sequence = kHighest;
  });
  refuses([&](alloc::Root& root) {
    root = plain;
    root.promised_epoch = kHighest - kRoom + 1;
  });
  change_roots(fixture, [&](alloc::Root& root) {
    root = plain;
    root.promised_epoch = kHighest - kRoom;
  });
  Store store = fixture.open();
  REQUIRE(get(store, "a") == "1");
}

// Found by fuzzing: the epoch of the new fence was not above that of a block in the log, which
// ended the process.
TEST_CASE("opening: roots that are older than the log are damage") {
  StoreFixture fixture;
  REQUIRE(fixture.open().close().ok());
  change_roots(fixture, [](alloc::Root& root) {
    root.epoch = root.promised_epoch = 1;
    root.writers = {{1, 1, root.nonce()}};
    for (alloc::RootDevice& row : root.devices) row.confirmed_epoch = 1;
  });
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    const Result<StoreParts> parts = open(fixture, access);
    REQUIRE(code_of(parts) == ErrorCode::kCorruption);
    CHECK_THAT(parts.error().message, Catch::Contains("the roots are older than the log"));
  }
}

TEST_CASE("opening: a device that is away leaves durably, and another one takes its log over") {
  // One of those that hold the log, and one that does not.
  for (const std::size_t away : {std::size_t{0}, std::size_t{4}}) {
    CAPTURE(away);
    StoreFixture fixture;
    {
      Store store = fixture.open();
      REQUIRE(put(store, "a", "1").ok());
    }
    fixture.take_away(away);
    {
      // For reading it is just not there.
      const StoreParts parts = open(fixture, Access::kReadOnly).value();
      REQUIRE_FALSE(parts.members->usable(static_cast<DeviceId>(away)));
      REQUIRE(parts.root.find(static_cast<DeviceId>(away))->state == alloc::MemberState::kLive);
    }
    {
      const StoreParts parts = open(fixture, Access::kReadWrite).value();
      REQUIRE(problem_of(parts) == "");
      const alloc::RootDevice* row = parts.root.find(static_cast<DeviceId>(away));
      REQUIRE(row->state == alloc::MemberState::kLeft);
      // What was kept above the watermark was not proved on a device that was not there. How much
      // that is depends on which block was the last to carry one.
      REQUIRE(row->left_lsn == std::max(parts.root.recorded_watermark, parts.root.checkpoint_lsn));
      REQUIRE(row->left_lsn <= parts.last_lsn);
      REQUIRE(row->left_epoch == parts.root.epoch);
      REQUIRE(parts.warnings.size() == 1);
      REQUIRE_THAT(parts.warnings[0], Catch::Contains("device " + std::to_string(away) + " "));
      REQUIRE(parts.root.log_devices == (away == 0 ? std::vector<DeviceId>{kLogDevice, 1, 2, 3}
                                                   : std::vector<DeviceId>{kLogDevice, 0, 1, 2}));
    }
    fixture.bring_back(away);
    const StoreParts parts = open(fixture, Access::kReadWrite).value();
    REQUIRE(problem_of(parts) == "");
    REQUIRE_FALSE(parts.members->usable(static_cast<DeviceId>(away)));
  }
}

TEST_CASE("opening: a log that has m+1 copies in all gets those that data devices lack") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    for (int i = 0; i < 5; ++i) REQUIRE(put(store, std::to_string(i), "value").ok());
    // Not closed.
  }
  {
    const StoreParts parts = open(fixture, Access::kReadWrite).value();
    alloc::Root older = alloc::next_root(parts.root);
    older.log_devices = {kLogDevice, 0, 1};
    for (const Status& written : alloc::write_root(parts.members->usable_devices(), older)) {
      REQUIRE(message_of(written) == "");
    }
    REQUIRE(kv::format_log_area(parts.members->find(2)->log_area()).ok());
  }
  const StoreParts parts = open(fixture, Access::kReadWrite).value();
  REQUIRE(problem_of(parts) == "");
  REQUIRE(parts.root.log_devices == std::vector<DeviceId>{kLogDevice, 0, 1, 2});
  REQUIRE(scan(parts, 2).end.lsn >= 5);
}

TEST_CASE("opening: the fast directory of the labels serves when none is given") {
  StoreFixture fixture;
  const std::vector<std::string> fast = std::exchange(fixture.pool.fast_directories, {});
  const StoreParts parts = open(fixture, Access::kReadOnly).value();
  REQUIRE(parts.pool.fast_directories == fast);
  REQUIRE(parts.members->usable(kLogDevice));
}

TEST_CASE("opening: options that make no sense are refused before any device is looked at") {
  StoreFixture fixture;
  RuntimeOptions options;
  options.memtable_size = 0;
  REQUIRE_FALSE(options.validate().ok());
  const Result<StoreParts> parts = open_parts({{"nowhere"}, {}}, options, fixture.system);
  REQUIRE(code_of(parts) == ErrorCode::kInvalidArgument);
}

TEST_CASE("opening: devices that refuse to be written leave, as long as they are not too many") {
  StoreFixture fixture;
  FaultySystem system(fixture.memory);
  system.fault(fixture.device(1)).writes = true;
  system.fault(fixture.device(5)).writes = true;
  {
    const Result<StoreParts> parts = open(fixture, Access::kReadWrite, &system);
    REQUIRE(message_of(parts.status()) == "");
    REQUIRE(problem_of(*parts) == "");
    for (DeviceId id = 0; id <= kLogDevice; ++id) {
      REQUIRE(parts->members->usable(id) == (id != 1 && id != 5));
    }
    REQUIRE(parts->root.log_devices == std::vector<DeviceId>{kLogDevice, 0, 2, 3});
  }
  system.fault(fixture.device(2)).writes = true;
  const Result<StoreParts> refused = open(fixture, Access::kReadWrite, &system);
  REQUIRE(code_of(refused) == ErrorCode::kUnavailable);
  // For reading they do.
  REQUIRE(open(fixture, Access::kReadOnly, &system).ok());
  system.fault(fixture.device(2)).writes = false;
  REQUIRE(open(fixture, Access::kReadWrite, &system).ok());
}

// A store on simulated disks with something to recover in its log; made anew for each fault.
class SimStore {
 public:
  SimStore() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hexad_XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    FormatOptions format = small_format();
    format.fast_directories = {(directory_ / "fast").string()};
    for (int i = 0; i < 6; ++i) format.devices.push_back("dev" + std::to_string(i));
    for (const std::string& device : format.devices) system.add_disk(device, 8_MiB);
    system.add_disk(fast_log_path(format.fast_directories[0]), 2_MiB);
    std::string problem;
    system.run([&] {
      const Result<PoolDescription> made = Store::format(format, &system);
      problem = message_of(made.status());
      if (!made.ok()) return;
      pool_ = *made;
      Result<Store> store = Store::open(pool_, {}, &system);
      problem = store.ok() ? message_of(put(*store, "a", std::string(100'000, 'a')).status())
                           : message_of(store.status());
    });
    REQUIRE(problem == "");
  }
  ~SimStore() { std::filesystem::remove_all(directory_); }

  // Opens for writing; what `use` says of the parts, or why there are none.
  template <typename Use>
  std::string open(const Use& use) {
    std::string problem;
    system.run([&] {
      const Result<StoreParts> parts = open_parts(pool_, {}, &system);
      problem = parts.ok() ? use(*parts) : parts.error().to_string();
    });
    return problem;
  }

  io::SimSystem system;

 private:
  std::filesystem::path directory_;
  PoolDescription pool_;
};

TEST_CASE("opening: whichever write or flush fails, its device leaves and the rest goes on") {
  for (const io::FaultKind kind : {io::FaultKind::kWriteErrorBefore, io::FaultKind::kFlushError}) {
    CAPTURE(io::to_string(kind));
    std::uint64_t n = 0;
    for (bool struck = true; struck; ++n) {
      CAPTURE(n);
      SimStore store;
      std::string victim;
      std::uint64_t left = n;
      store.system.set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
        if (!victim.empty() || !io::strikes(kind, op.op) || left-- > 0) return std::nullopt;
        victim = op.disk;
        return kind;
      });
      std::vector<std::string> lost;
      REQUIRE(store.open([&](const StoreParts& parts) {
        for (std::size_t i = 0; i < parts.members->size(); ++i) {
          const Member& member = parts.members->at(i);
          if (!parts.members->usable(member.id)) lost.push_back(member.path);
        }
        store.system.set_hook(nullptr);
        return parts.last_lsn >= 2 ? problem_of(parts) : "the LSN";
      }) == "");
      struck = !victim.empty();
      REQUIRE(lost == (struck ? std::vector<std::string>{victim} : std::vector<std::string>{}));
      // And again without that device.
      store.system.set_hook(nullptr);
      REQUIRE(store.open([&](const StoreParts& parts) {
        return parts.last_lsn >= 2 ? problem_of(parts) : "the LSN";
      }) == "");
    }
    // Roots twice, log copies, fence at least, or one flush.
    REQUIRE(n > (kind == io::FaultKind::kFlushError ? 1 : 17));
  }
}

TEST_CASE("opening: a fence that is written again has another place and another epoch") {
  // With its effect or without, on each device that holds the log, the fast one too.
  for (const io::FaultKind kind :
       {io::FaultKind::kWriteErrorBefore, io::FaultKind::kWriteErrorPartly,
        io::FaultKind::kWriteErrorAfter}) {
    for (std::uint64_t victim = 0; victim < 4; ++victim) {
      CAPTURE(io::to_string(kind), victim);
      SimStore store;
      std::map<std::string, std::vector<std::uint64_t>> fences;  // their offsets, by disk
      std::uint64_t left = victim;
      store.system.set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
        if (op.op != io::IoOp::kWrite || op.cause != io::IoCause::kLog) return std::nullopt;
        if (op.mode != io::WriteMode::kDurable) return std::nullopt;
        fences[op.disk].push_back(op.offset);
        if (left-- == 0) return kind;
        return std::nullopt;
      });
      REQUIRE(store.open([&](const StoreParts& parts) {
        store.system.set_hook(nullptr);
        const auto twice = std::count_if(parts.warnings.begin(), parts.warnings.end(),
                                         [](const std::string& warning) {
                                           return warning.find("has left") != std::string::npos;
                                         });
        return twice == 1 ? problem_of(parts) : "so many warnings: " + std::to_string(twice);
      }) == "");
      std::size_t both = 0;
      for (const auto& [disk, offsets] : fences) {
        CAPTURE(disk);
        REQUIRE(offsets.size() <= 2);
        if (offsets.size() < 2) continue;
        ++both;
        REQUIRE(offsets[1] > offsets[0]);
      }
      REQUIRE(both == 3);
    }
  }
}

// --- looking at devices without opening ---

TEST_CASE("opening: inspect shows members, epoch and checkpoint of a store, and opens nothing") {
  StoreFixture fixture;
  Lsn lsn = 0;
  {
    Store store = fixture.open();
    lsn = put(store, "a", "1").value();
    REQUIRE(store.close().ok());
  }
  const auto before = fixture.fingerprint();
  const StoreStatus status = inspect_devices(fixture.pool, fixture.system).value();
  REQUIRE((fixture.fingerprint() == before));
  const StoreParts parts = open(fixture, Access::kReadOnly).value();
  REQUIRE(status.uuid == parts.shape->uuid);
  REQUIRE(status.epoch == parts.root.epoch);
  REQUIRE(status.checkpoint_lsn >= lsn);
  REQUIRE(status.checkpoint_lsn == parts.root.checkpoint_lsn);
  REQUIRE(status.read_only);
  REQUIRE(status.devices.size() == 7);
  for (const DeviceStatus& row : status.devices) {
    REQUIRE(row.state == "ok");
    REQUIRE(row.role == (row.id == kLogDevice ? "log" : "data"));
    REQUIRE(row.physical_block == 4096);
  }
}

TEST_CASE("opening: inspect takes no lock, and shows a store that is open as its last root does") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "a", "1").ok());
  REQUIRE(store.checkpoint().ok());
  const StoreStatus open = store.status();
  const StoreStatus status = inspect_devices(fixture.pool, fixture.system).value();
  CHECK(status.health == Health::kOk);
  CHECK(status.faults_tolerated == 2);
  CHECK(status.epoch == open.epoch);
  CHECK(status.checkpoint_lsn == open.checkpoint_lsn);
  CHECK(status.log_size == 0);
  fixture.take_away(1);
  const StoreStatus without = inspect_devices(fixture.pool, fixture.system).value();
  CHECK(without.health == Health::kDegraded);
  CHECK(without.faults_tolerated == 1);
  // It has kept nothing that the store would miss.
  REQUIRE(put(store, "b", "2").ok());
  REQUIRE(store.close().ok());
}

TEST_CASE("opening: inspect lists unrecognised devices beside the members") {
  StoreFixture fixture;
  FormatOptions other = small_format();
  for (int i = 0; i < 6; ++i) other.devices.push_back("other" + std::to_string(i));
  other.fast_directories = {(fixture.directory / "other").string()};
  REQUIRE(Store::format(other, fixture.system).ok());
  fixture.pool.devices.push_back("other3");
  const StoreStatus status = inspect_devices(fixture.pool, fixture.system).value();
  REQUIRE(status.devices.size() == 8);
  REQUIRE(status.devices[7].path == "other3");
  REQUIRE(status.devices[7].state == "foreign");
}

TEST_CASE(
    "opening: a damaged copy of a label is written again, so that the next damage ends nobody") {
  StoreFixture fixture;
  const std::uint64_t size = fixture.media(1)->size();
  for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
    CAPTURE(alloc::to_string(end));
    const Bytes sound = hexad::testing::read_media(*fixture.media(1));
    fixture.media(1)->write(alloc::label_offset(end, size), Bytes(512));
    {
      // Reading changes nothing, and says what is damaged.
      const auto before = fixture.fingerprint();
      const StoreParts parts = open(fixture, Access::kReadOnly).value();
      REQUIRE_THAT(parts.members->detail(1), Catch::Contains("label copy is damaged"));
      REQUIRE((fixture.fingerprint() == before));
    }
    {
      const StoreParts parts = open(fixture, Access::kReadWrite).value();
      REQUIRE(std::count_if(parts.notes.begin(), parts.notes.end(), [](const std::string& note) {
                return note.find("it has been written again") != std::string::npos;
              }) == 1);
    }
    const Bytes mended = hexad::testing::read_media(*fixture.media(1));
    for (const alloc::DeviceEnd one : alloc::kDeviceEnds) {
      const std::uint64_t at = alloc::label_offset(one, size);
      REQUIRE(as_text(ByteView(mended).subspan(at, alloc::kHeaderSlotSize)) ==
              as_text(ByteView(sound).subspan(at, alloc::kHeaderSlotSize)));
    }
  }
}

TEST_CASE("opening: a device that does not take its label again is used all the same") {
  StoreFixture fixture;
  FaultySystem system(fixture.memory);
  fixture.media(1)->write(alloc::kHeadOffset, Bytes(512));
  bool refused = false;
  system.watch([&](const io::IoRequest& request) {
    const bool label = request.op == io::IoOp::kWrite && request.offset == alloc::kHeadOffset;
    refused = refused || label;
    if (label) system.fault(fixture.device(1)).writes = true;
  });
  const StoreParts parts = open(fixture, Access::kReadWrite, &system).value();
  REQUIRE(refused);
  REQUIRE(parts.members->usable(1));
  REQUIRE(std::count_if(parts.notes.begin(), parts.notes.end(), [](const std::string& note) {
            return note.find("could not be written") != std::string::npos;
          }) == 1);
}

TEST_CASE("opening: inspect names every device's trouble where no root can be chosen") {
  StoreFixture fixture;
  fixture.take_away(1);
  // All slots of the roots on four others.
  for (const std::size_t device : {0, 2, 3, 4}) {
    const std::uint64_t size = fixture.media(device)->size();
    for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
      for (const unsigned slot : {0u, 1u}) {
        fixture.media(device)->write(alloc::root_offset(end, slot, size),
                                     Bytes(4096, std::byte{0x5a}));
      }
    }
  }
  REQUIRE(code_of(open(fixture, Access::kReadOnly)) == ErrorCode::kUnavailable);
  const StoreStatus status = inspect_devices(fixture.pool, fixture.system).value();
  REQUIRE(status.health == Health::kUnavailable);
  REQUIRE(status.notes.size() == 1);
  REQUIRE(status.devices.size() == 7);
  for (const DeviceStatus& row : status.devices) {
    const bool away = row.path == fixture.device(1);
    REQUIRE(row.state == (away ? "missing" : "ok"));
    REQUIRE(row.size == (away ? 0 : row.role == "log" ? row.size : 8_MiB + alloc::kEndsSize));
  }
  REQUIRE(status.devices.back().role == "log");
}

}  // namespace
}  // namespace hexad::core
