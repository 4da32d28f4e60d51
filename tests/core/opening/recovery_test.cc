#include "core/opening/recovery.h"

#include <catch2/catch.hpp>
#include <map>

#include "base/checksum.h"
#include "core/record/keys.h"
#include "io/rng.h"
#include "kv/lmdb/lmdb_index.h"
#include "kv/log/log_writer.h"
#include "tests/core/device_table.h"
#include "tests/io/temporary.h"

namespace hexad::core {
namespace {

using hexad::testing::DeviceTable;
using hexad::testing::TableDevice;

constexpr std::uint32_t kUnit = 4096;
constexpr std::uint32_t kSlabUnits = 17;
constexpr std::uint32_t kSlabs = 4;

// 4+2: three copies of the log, on devices 0 to 2.
alloc::DeviceLayout layout() {
  alloc::DeviceLayout layout;
  layout.physical_block = layout.unit = kUnit;
  layout.log_offset = 64 << 10;
  layout.log_size = 256 << 10;
  layout.first_slab = 320 << 10;
  layout.slab_units = kSlabUnits;
  layout.slab_count = kSlabs;
  layout.device_size = layout.end();
  return layout;
}

// A store's devices and index whose log the test writes by hand, record after record, and what
// recovery makes of it.
struct Fixture {
  Fixture() {
    shape.uuid.bytes.fill(3);
    shape.record.checksum_block = 4096;
    for (DeviceId id = 0; id < 6; ++id) {
      table.add(alloc::DeviceRole::kData, layout());
      alloc::RootDevice row;
      row.id = id;
      row.uuid = table.rows[id].uuid;
      root.devices.push_back(row);
    }
    root.log_devices = {0, 1, 2};
    members = std::make_unique<Members>(*executor, std::move(table.rows));
    kv::LmdbOptions options;
    options.dir = directory.path("index");
    options.uuid = shape.uuid;
    index = kv::open_lmdb_index(options, *executor).value();
    kv::LogWriterOptions log_options;
    log_options.uuid = shape.uuid;
    for (const DeviceId id : root.log_devices) {
      log_options.areas.push_back(members->find(id)->log_area());
    }
    log.emplace(kv::LogWriter::create(std::move(log_options)).value());
    // What comes before a crash: space as the writer sees it.
    written = std::make_unique<Space>(*executor, shape, *members, writer_counters, writer_blobs);
  }

  TableDevice& device(std::size_t id) { return *table.devices[id]; }

  ZoneCreation new_zone() {
    ZoneCreation zone = written->prepare_zone(Space::Zeroing::kNone).value();
    REQUIRE(written->add_zone(zone).ok());
    written->open_zone(zone.zone);
    return zone;
  }

  // A stripe of random cells on the devices, and its proof.
  StripeProof new_stripe(std::uint32_t units = 2) {
    return stripe_at(written->allocate(units).value());
  }
  StripeProof stripe_at(const alloc::Extent& where) {
    StripeProof proof;
    proof.where = where;
    proof.cell_bytes = where.units * kUnit;
    const std::vector<CellPlace> places = written->locate(proof.where).value();
    std::vector<Bytes> cells(6, Bytes(proof.cell_bytes));
    std::vector<ByteView> data;
    std::vector<MutByteView> parity;
    for (std::uint32_t role = 0; role < 6; ++role) {
      for (std::byte& byte : cells[role]) byte = static_cast<std::byte>(rng.next());
      if (role < 4) data.emplace_back(cells[role]);
      if (role >= 4) parity.emplace_back(cells[role]);
    }
    REQUIRE(codec->encode(data, parity).ok());
    for (std::uint32_t role = 0; role < 6; ++role) {
      proof.cell_sums.push_back(checksum(shape.record.checksum, cells[role]));
      REQUIRE(places[role].device->write(places[role].offset, cells[role]).ok());
    }
    return proof;
  }
  // Changes one byte of the cells in `roles`.
  void damage(const StripeProof& proof, std::uint32_t roles) {
    const std::vector<CellPlace> places = written->locate(proof.where).value();
    for (std::uint32_t role = 0; role < 6; ++role) {
      if ((roles >> role & 1) == 0) continue;
      device(places[role].id).bytes[places[role].offset + rng.below(proof.cell_bytes)] ^=
          std::byte{1};
    }
  }
  // By device, the bytes of the cells.
  std::map<DeviceId, Bytes> cells_of(const StripeProof& proof) {
    std::map<DeviceId, Bytes> cells;
    const std::vector<CellPlace> places = written->locate(proof.where).value();
    for (const CellPlace& place : places) {
      const ByteView cell =
          ByteView(device(place.id).bytes).subspan(place.offset, proof.cell_bytes);
      cells[place.id] = Bytes(cell.begin(), cell.end());
    }
    return cells;
  }

  // One block with this record on all copies; the LSNs before it were durable up to `watermark`.
  Lsn write(const LogRecord& record, Lsn watermark) {
    return write_bytes(encode_log_record(record, shape.record), watermark);
  }
  Lsn write_bytes(std::string_view bytes, Lsn watermark) {
    const std::vector<std::string_view> records = {bytes};
    const Lsn lsn = log->next_lsn();
    kv::PreparedBlock block = log->prepare(lsn, records, watermark).value();
    for (const io::IoRequest& request : block.requests) {
      REQUIRE(request.device->write(request.offset, {request.data, request.length}).ok());
    }
    return lsn;
  }
  LogRecord record_of(const std::string& name, const std::vector<StripeProof>& stripes) {
    LogRecord record;
    record.images = {{object_key(1, name), "value of " + name}};
    record.allocated = stripes;
    return record;
  }

  // "a", with the first zone and a stripe in it.
  LogRecord first_record() {
    LogRecord record = record_of("a", {});
    record.zones = {new_zone()};
    record.allocated = {new_stripe()};
    return record;
  }
  LogRecord write_first() {
    LogRecord record = first_record();
    write(record, 0);
    return record;
  }

  // Opens everything as it is found now.
  Result<Recovered> try_run() {
    space = std::make_unique<Space>(*executor, shape, *members, counters, log_blobs);
    metadata = std::make_unique<Metadata>(*executor, *index);
    reader = std::make_unique<BlobReader>(shape, *codec, compressor, *space, table.queue, counters,
                                          log_blobs);
    recovery = std::make_unique<Recovery>(shape, root, *members, *index, *metadata, *space, *reader,
                                          counters);
    return recovery->run();
  }
  Recovered run() {
    Result<Recovered> found = try_run();
    INFO((found.ok() ? "" : found.error().to_string()));
    REQUIRE(found.ok());
    return std::move(found).value();
  }
  Error refusal() {
    const Result<Recovered> found = try_run();
    REQUIRE_FALSE(found.ok());
    return found.error();
  }
  std::string value(const std::string& name) {
    return metadata->get_latest(object_key(1, name)).value().value_or("nothing");
  }
  std::uint64_t counted(CounterId id) const { return counters.since_open(id); }

  io::testing::TemporaryDirectory directory;
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  io::Rng rng{17};
  StoreShape shape;
  alloc::Root root;
  DeviceTable table;
  std::unique_ptr<Members> members;
  std::unique_ptr<kv::Index> index;
  std::unique_ptr<ec::Codec> codec = ec::make_codec(shape.profile).value();
  compression::Counters compression_counters;
  compression::Compressor compressor{executor->clock(), compression_counters};
  Counters writer_counters;
  LogBlobs writer_blobs{*executor, shape.record};
  std::unique_ptr<Space> written;
  std::optional<kv::LogWriter> log;

  Counters counters;
  LogBlobs log_blobs{*executor, shape.record};
  std::unique_ptr<Space> space;
  std::unique_ptr<Metadata> metadata;
  std::unique_ptr<BlobReader> reader;
  std::unique_ptr<Recovery> recovery;
};

TEST_CASE("recovery: a new store has nothing to recover") {
  Fixture f;
  const Recovered found = f.run();
  REQUIRE(found.last_lsn == 0);
  REQUIRE(found.incomplete.empty());
  REQUIRE(found.notes.empty());
  REQUIRE(f.space->zone_ids().empty());
}

TEST_CASE("recovery: a sound tail is kept and replayed, in memory only") {
  Fixture f;
  const LogRecord first = f.write_first();
  LogRecord second = f.record_of("b", {f.new_stripe(3)});
  second.freed = {first.allocated[0].where};
  second.images.push_back({object_key(1, "a"), std::nullopt});
  f.write(second, 0);
  std::vector<Bytes> before;
  for (int i = 0; i < 6; ++i) before.push_back(f.device(i).bytes);

  const Recovered found = f.run();
  CHECK(found.last_lsn == 2);
  CHECK(found.incomplete.empty());
  CHECK(found.notes.empty());
  CHECK(f.value("a") == "nothing");
  CHECK(f.value("b") == "value of b");
  CHECK_FALSE(f.space->is_live(first.allocated[0].where));
  CHECK(f.space->is_live(second.allocated[0].where));
  CHECK(f.space->counters().deferred == 2);
  CHECK(f.counted(CounterId::kRecoveryTailKept) == 2);
  CHECK(f.counted(CounterId::kRecoveredTransactions) == 2);
  CHECK(f.counted(CounterId::kRecoveryTailCut) == 0);
  for (int i = 0; i < 6; ++i) REQUIRE(f.device(i).bytes == before[i]);
}

TEST_CASE("recovery: every set of damaged cells in the tail: healed up to m, cut above") {
  for (std::uint32_t roles = 0; roles < 64; ++roles) {
    CAPTURE(roles);
    Fixture f;
    const LogRecord first = f.write_first();
    const StripeProof victim = f.new_stripe();
    f.write(f.record_of("b", {victim, f.new_stripe(1)}), 1);
    f.write(f.record_of("c", {f.new_stripe(1)}), 1);
    const std::map<DeviceId, Bytes> whole = f.cells_of(victim);
    f.damage(victim, roles);

    const Recovered found = f.run();
    CHECK(f.value("a") == "value of a");
    CHECK(f.space->is_live(first.allocated[0].where));
    if (__builtin_popcount(roles) > 2) {
      CHECK(found.last_lsn == 1);
      CHECK(found.incomplete.empty());
      REQUIRE(found.notes.size() == 1);
      CHECK(found.notes[0] ==
            "recovery: cut the log at LSN 1: the data of LSN 2 was not complete, nobody was told "
            "that it was");
      CHECK(f.value("b") == "nothing");
      CHECK(f.value("c") == "nothing");
      CHECK_FALSE(f.space->is_live(victim.where));
      CHECK(f.counted(CounterId::kRecoveryTailCut) == 2);
      continue;
    }
    CHECK(found.last_lsn == 3);
    CHECK(f.value("c") == "value of c");
    CHECK(f.counted(CounterId::kRecoveryTailKept) == 2);
    REQUIRE(found.incomplete.size() == (roles == 0 ? 0 : 1));
    const Result<std::set<DeviceId>> healed = f.recovery->heal(found.incomplete);
    REQUIRE(healed.ok());
    CHECK(healed->empty());
    CHECK(f.cells_of(victim) == whole);
    CHECK(f.counted(CounterId::kCellsHealed) ==
          static_cast<std::uint64_t>(__builtin_popcount(roles)));
  }
}

TEST_CASE("recovery: for reading, it says which cells a crash has torn, and changes nothing") {
  for (std::uint32_t roles = 1; roles < 64; ++roles) {
    if (__builtin_popcount(roles) > 2) continue;
    CAPTURE(roles);
    Fixture f;
    f.write_first();
    const StripeProof victim = f.new_stripe();
    const StripeProof sound = f.new_stripe(1);
    f.write(f.record_of("b", {victim, sound}), 1);
    f.damage(victim, roles);
    const std::map<DeviceId, Bytes> torn = f.cells_of(victim);
    const std::vector<CellPlace> places = f.written->locate(victim.where).value();

    const Recovered found = f.run();
    REQUIRE(found.incomplete.size() == 1);
    CHECK(found.incomplete[0].not_good == ec::ShardSet::from_bits(roles));
    // A device that gives an error instead is to be told of.
    const std::uint32_t first = *found.incomplete[0].not_good.begin();
    bool fails = roles % 2 == 1;
    f.device(places[first].id).fails = [&](const io::IoRequest& request) {
      return fails && request.op == io::IoOp::kRead;
    };
    const Result<TornCells> cells = f.recovery->find_torn(found.incomplete);
    fails = false;
    REQUIRE(cells.ok());
    ec::ShardSet expected = ec::ShardSet::from_bits(roles);
    if (roles % 2 == 1) expected.remove(first);
    CHECK(cells->count() == expected.size());
    CHECK(cells->explain(victim.where, expected) == !expected.empty());
    CHECK_FALSE(cells->explain(victim.where, {}));
    for (std::uint32_t role = 0; role < 6; ++role) {
      CHECK(cells->explain(victim.where, {role}) == expected.contains(role));
      CHECK_FALSE(cells->explain(sound.where, {role}));
    }
    CHECK(f.cells_of(victim) == torn);
    CHECK(f.counted(CounterId::kChecksumErrors) == 0);
  }
}

// R7. A crash leaves bytes of some kind wherever it cuts a write: what gives an error may have been
// whole, and acknowledged.
TEST_CASE("recovery: cells that give read errors are not taken for ones that were not written") {
  for (std::uint32_t damaged = 0; damaged <= 3; ++damaged) {
    for (std::uint32_t unread = 1; damaged + unread <= 6; ++unread) {
      for (const int answers_after : {0, 1, 2, 100}) {
        CAPTURE(damaged, unread, answers_after);
        Fixture f;
        f.write_first();
        const StripeProof victim = f.new_stripe();
        f.write(f.record_of("b", {victim}), 1);
        f.damage(victim, (1U << damaged) - 1);
        const std::vector<CellPlace> places = f.written->locate(victim.where).value();
        for (std::uint32_t role = damaged; role < damaged + unread; ++role) {
          int left = answers_after;
          f.device(places[role].id).fails = [&places, role,
                                             left](const io::IoRequest& request) mutable {
            const std::uint64_t at = places[role].offset;
            const bool touches = request.offset <= at && at < request.offset + request.length;
            return request.op == io::IoOp::kRead && touches && left-- > 0;
          };
        }
        const bool unknown = damaged <= 2 && damaged + unread > 2 && answers_after > 3;
        if (unknown) {
          const Error error = f.refusal();
          CHECK(error.code == ErrorCode::kUnavailable);
          CHECK(error.message.find("not known whether LSN 2 was complete") != std::string::npos);
          CHECK(error.message.find("told to fail") != std::string::npos);
          CHECK(error.message.find(std::to_string(places[damaged].offset)) != std::string::npos);
          CHECK(f.counted(CounterId::kRecoveryTailCut) == 0);
          continue;
        }
        CHECK(f.run().last_lsn == (damaged > 2 ? 1 : 2));
      }
    }
  }
}

TEST_CASE("recovery: a place of the log that no copy gives is not taken for the log's end") {
  for (const std::size_t copies : {1, 2, 3}) {
    CAPTURE(copies);
    Fixture f;
    f.write_first();
    const std::uint64_t at = layout().log_offset + f.log->last().end;
    f.write(f.record_of("b", {f.new_stripe()}), 1);
    for (std::size_t id = 0; id < copies; ++id) {
      f.device(id).fails = [at](const io::IoRequest& request) {
        return request.op == io::IoOp::kRead && request.offset <= at &&
               at < request.offset + request.length;
      };
    }
    if (copies < 3) {
      CHECK(f.run().last_lsn == 2);
      continue;
    }
    const Error error = f.refusal();
    CHECK(error.code == ErrorCode::kUnavailable);
    CHECK(error.message.find("whether anything follows LSN 1") != std::string::npos);
    CHECK(error.message.find("byte " + std::to_string(at)) != std::string::npos);
    // Written over, it says that nothing is there.
    for (std::size_t id = 0; id < 3; ++id) {
      f.device(id).fails = [](const io::IoRequest&) { return false; };
      fill_zero(MutByteView(f.device(id).bytes).subspan(at, kUnit));
    }
    CHECK(f.run().last_lsn == 1);
  }
}

// Of a tail that is cut nobody has heard, nor of what follows it.
TEST_CASE("recovery: behind a tail that is cut nothing has to be readable") {
  Fixture f;
  f.write_first();
  const StripeProof victim = f.new_stripe();
  f.write(f.record_of("b", {victim}), 1);
  f.damage(victim, 0b111);
  const std::uint64_t at = layout().log_offset + f.log->last().end;
  for (std::size_t id = 0; id < 3; ++id) {
    f.device(id).fails = [at](const io::IoRequest& request) {
      return request.op == io::IoOp::kRead && request.offset <= at &&
             at < request.offset + request.length;
    };
  }
  CHECK(f.run().last_lsn == 1);
}

TEST_CASE("recovery: a device that cannot be healed is named") {
  Fixture f;
  const LogRecord record = f.write_first();
  f.damage(record.allocated[0], 0b001001);
  const std::vector<CellPlace> places = f.written->locate(record.allocated[0].where).value();
  const Recovered found = f.run();
  f.device(places[3].id).fail(io::IoOp::kWrite);
  const Result<std::set<DeviceId>> failed = f.recovery->heal(found.incomplete);
  REQUIRE(failed.ok());
  REQUIRE(*failed == std::set<DeviceId>{places[3].id});
  REQUIRE(f.counted(CounterId::kCellsHealed) == 1);
}

TEST_CASE("recovery: a stripe that loses more cells after its proof is an error, not a guess") {
  Fixture f;
  const LogRecord record = f.write_first();
  f.damage(record.allocated[0], 0b11);
  const Recovered found = f.run();
  REQUIRE(found.incomplete.size() == 1);
  f.damage(record.allocated[0], 0b100);
  const Result<std::set<DeviceId>> failed = f.recovery->heal(found.incomplete);
  REQUIRE(failed.error().code == ErrorCode::kUnavailable);
}

TEST_CASE("recovery: the zones of a transaction that is cut are gone, with their slabs") {
  Fixture f;
  LogRecord first = f.record_of("a", {});
  first.zones = {f.new_zone()};
  f.write(first, 0);
  REQUIRE(f.written->allocate(kSlabUnits - 1).ok());
  LogRecord second = f.record_of("b", {});
  second.zones = {f.new_zone()};
  second.allocated = {f.new_stripe()};
  f.write(second, 0);
  f.damage(second.allocated[0], 0b111);
  REQUIRE(f.run().last_lsn == 1);
  REQUIRE(f.space->zone_ids() == std::vector<alloc::ZoneId>{first.zones[0].zone});
  REQUIRE(f.space->zones_to_come() == kSlabs - 1);
  REQUIRE(f.space->replay_zones(second).ok());
}

TEST_CASE("recovery: what was acknowledged or durable before is kept without proof") {
  const bool below_watermark = GENERATE(false, true);
  CAPTURE(below_watermark);
  Fixture f;
  LogRecord record = f.first_record();
  if (!below_watermark) {
    record.allocated[0].durable_before = true;
    record.allocated[0].cell_sums.clear();
  }
  f.write(record, 0);
  if (below_watermark) f.write(f.record_of("b", {}), 1);
  f.damage(record.allocated[0], 0b111111);
  const Recovered found = f.run();
  CHECK(f.value("a") == "value of a");
  CHECK(found.notes.empty());
  CHECK(found.incomplete.empty());
  CHECK(f.space->is_live(record.allocated[0].where));
}

TEST_CASE("recovery: a watermark in the root counts like one in the log") {
  Fixture f;
  const LogRecord record = f.write_first();
  f.damage(record.allocated[0], 0b111);
  f.root.recorded_watermark = 1;
  const Recovered found = f.run();
  REQUIRE(found.last_lsn == 1);
  REQUIRE(f.value("a") == "value of a");
}

TEST_CASE("recovery: cells of a device that is away do not cut the tail, and are not healed") {
  Fixture f;
  const LogRecord record = f.write_first();
  f.members->mark_failed(4, "told to");
  f.members->mark_failed(5, "told to");
  const Recovered found = f.run();
  REQUIRE(found.last_lsn == 1);
  REQUIRE(found.incomplete.empty());
  f.members->mark_failed(3, "told to");
  REQUIRE(f.run().last_lsn == 0);
}

TEST_CASE("recovery: what was written after a device left is missing on it") {
  Fixture f;
  const LogRecord first = f.write_first();
  LogRecord second = f.record_of("b", {f.new_stripe(3)});
  f.write(second, 1);
  f.root.devices[5].state = alloc::MemberState::kLeft;
  f.root.devices[5].left_lsn = 1;
  f.members->mark_failed(5, "left");
  f.run();
  REQUIRE(f.space->counters().missing == 3);
}

TEST_CASE(
    "recovery: what a device lacked of an older stripe says nothing about the cells of a new one") {
  Fixture f;
  // "a" was written without devices 4 and 5; its units are free again, and "c" has them, with all
  // its cells, two of which are damaged.
  const LogRecord first = f.write_first();
  LogRecord second = f.record_of("a", {});
  second.freed = {first.allocated[0].where};
  f.write(second, 1);
  const LogRecord third = f.record_of("c", {f.stripe_at(first.allocated[0].where)});
  f.damage(third.allocated[0], 0b11);
  f.write(third, 2);
  for (const DeviceId id : {4, 5}) {
    f.root.devices[id].state = alloc::MemberState::kLeft;
    f.root.devices[id].left_lsn = 0;
  }
  REQUIRE(f.run().last_lsn == 3);
  CHECK(f.value("c") == "value of c");
  // Without one of those cells it is no longer whole.
  f.damage(third.allocated[0], 0b100);
  REQUIRE(f.run().last_lsn == 2);
}

TEST_CASE("recovery: what was kept of the tail is missing on a device that was not there") {
  Fixture f;
  f.write_first();
  f.write(f.record_of("b", {f.new_stripe(3)}), 1);
  f.members->mark_failed(5, "away");
  const Recovered found = f.run();
  REQUIRE(found.last_lsn == 2);
  REQUIRE(found.scan.max_watermark == 1);
  REQUIRE(f.recovery->note_departures(found.scan, {}, 1).ok());
  REQUIRE(f.space->counters().missing == 0);
  REQUIRE(f.recovery->note_departures(found.scan, {5}, 1).ok());
  // The next opening finds the same by the root.
  REQUIRE(f.space->counters().missing == 3);
  f.root.devices[5].state = alloc::MemberState::kLeft;
  f.root.devices[5].left_lsn = 1;
  f.run();
  REQUIRE(f.space->counters().missing == 3);
}

TEST_CASE("recovery: the log is taken from any one of its copies") {
  for (std::uint32_t lost = 0; lost < 8; ++lost) {
    CAPTURE(lost);
    Fixture f;
    f.write(f.record_of("a", {}), 0);
    for (DeviceId id = 0; id < 3; ++id) {
      if ((lost >> id & 1) != 0) f.members->mark_failed(id, "told to");
    }
    const Result<Recovered> found = f.try_run();
    REQUIRE(found.ok() == (lost != 7));
    if (found.ok()) {
      REQUIRE(f.value("a") == "value of a");
      continue;
    }
    CHECK(found.error().code == ErrorCode::kUnavailable);
    CHECK(found.error().message == "none of the 3 devices that hold the log can be used");
  }
}

TEST_CASE("recovery: what the index holds is not applied again") {
  Fixture f;
  const LogRecord first = f.write_first();
  f.written->publish(1, first);
  const std::string image = alloc::encode_zone_image(f.written->dirty_images(1).value()[0]);
  const std::string zone = zone_key(first.zones[0].zone);
  const std::string object = object_key(1, "a");
  std::vector<kv::IndexChange> changes = {{object, "from the index"}, {zone, image}};
  std::sort(changes.begin(), changes.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  REQUIRE(f.index->apply(1, 1, changes).ok());
  f.write(f.record_of("b", {f.new_stripe()}), 1);
  f.run();
  CHECK(f.value("a") == "from the index");
  CHECK(f.value("b") == "value of b");
  CHECK(f.space->counters().live == 4);
  CHECK(f.counted(CounterId::kRecoveredTransactions) == 1);
}

TEST_CASE("recovery: an index newer than the log is refused") {
  Fixture f;
  f.write(f.record_of("a", {}), 0);
  REQUIRE(f.index->apply(2, 1, {}).ok());
  const Error error = f.refusal();
  CHECK(error.code == ErrorCode::kCorruption);
  CHECK(error.message == "the log ends at LSN 1, the index holds LSN 2");
}

TEST_CASE("recovery: an index with zones that cannot be is refused") {
  Fixture f;
  const ZoneCreation zone = f.new_zone();
  alloc::ZoneImage image = f.written->dirty_images(0).value()[0];
  std::string bytes;
  std::string problem;
  SECTION("under the number of another") {
    image.zone = zone.zone + 1;
    bytes = alloc::encode_zone_image(image);
    problem = "zone 1: its image names zone 2";
  }
  SECTION("on a slab that no device has") {
    image.slots[2].slab = kSlabs;
    bytes = alloc::encode_zone_image(image);
    problem = "does not exist or belongs to another zone";
  }
  SECTION("cut off") {
    bytes = alloc::encode_zone_image(image);
    bytes.resize(bytes.size() - 1);
  }
  const std::string key = zone_key(1);
  const std::vector<kv::IndexChange> change = {{key, bytes}};
  REQUIRE(f.index->apply(1, 1, change).ok());
  const Error error = f.refusal();
  CHECK(error.code == ErrorCode::kCorruption);
  CHECK(error.message.find(problem) != std::string::npos);
}

TEST_CASE("recovery: records that do not decode or contradict the zones are damage") {
  Fixture f;
  const LogRecord first = f.write_first();
  SECTION("bytes that are no record, acknowledged or not") {
    f.write_bytes("no record", GENERATE(0, 1));
  }
  SECTION("units that are in use") { f.write(first, 1); }
  SECTION("units that are free") {
    LogRecord record = f.record_of("b", {});
    record.freed = {{first.zones[0].zone, 9, 1}};
    f.write(record, 1);
  }
  SECTION("a zone on slabs of another") {
    LogRecord record = f.record_of("b", {});
    record.zones = first.zones;
    record.zones[0].zone = 5;
    f.write(record, 1);
  }
  REQUIRE(f.refusal().code == ErrorCode::kCorruption);
}

TEST_CASE("recovery: a hole below the watermark is damage, above it the end of the log") {
  const bool acknowledged = GENERATE(false, true);
  CAPTURE(acknowledged);
  Fixture f;
  for (const char* name : {"a", "b", "c"}) f.write(f.record_of(name, {}), 0);
  if (acknowledged) f.root.recorded_watermark = 3;
  for (int i = 0; i < 3; ++i) {  // the second block, on every copy
    fill_zero(MutByteView(f.device(i).bytes).subspan(layout().log_offset + kUnit, kUnit));
  }
  const Result<Recovered> found = f.try_run();
  REQUIRE(found.ok() == !acknowledged);
  if (acknowledged) {
    REQUIRE(found.error().code == ErrorCode::kCorruption);
  } else {
    REQUIRE(found->last_lsn == 1);
    REQUIRE(f.value("b") == "nothing");
  }
}

}  // namespace
}  // namespace hexad::core
