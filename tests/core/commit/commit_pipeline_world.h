// A pipeline without the engine around it: six data disks with one zone, a log disk, and
// submissions as the sequencer makes them. The disks are simulated, so that requests can be held
// back, or fail.
//
// Tests call what does not wait from outside of the simulation, start() what does, and check
// outside after settle().
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "core/commit/commit_pipeline.h"
#include "core/record/keys.h"
#include "io/sim/sim_system.h"
#include "kv/log/log_scan.h"

namespace hexad::testing {

struct PipelineOptions {
  LogDurability durability = LogDurability::kFull;
  // All disks have one; else what has completed is durable.
  bool volatile_cache = false;
  // Each a flush domain of its own; else all are one.
  bool own_caches = false;
  std::uint32_t slab_units = 1024;
  std::uint64_t unit = 4096;  // bytes; k of them ride in the log of one group at most
  std::uint64_t log_size = 1_MiB;
  std::uint64_t seed = 1;
};

// What a submission is made of.
struct Want {
  std::size_t metadata = 100;        // bytes
  std::size_t stripe = 0;            // bytes of a blob with a stripe of its own; 0: none
  int stripes = 1;                   // so many of them
  std::size_t unplaced = 0;          // bytes of a blob whose place the group decides about; 0: none
  std::uint32_t unplaced_blobs = 1;  // so many of them
  Durability durability = Durability::kDurable;
};

struct PipelineAnswer {
  Lsn lsn = 0;
  std::optional<ErrorCode> code;  // nothing: it went well
  bool published = false;         // all its blobs lay in live units when the callback ran
  bool budget_back = false;       // and what it held had been let go of
};

// That of the simulation, which may refuse threads as the system does when a process has too many.
class PipelineExecutor final : public io::Executor {
 public:
  explicit PipelineExecutor(io::Executor& inner) : inner_(inner) {}

  Result<std::unique_ptr<io::Thread>> try_start(const std::string& name, io::Task task) override {
    if (refuses) return Error{ErrorCode::kIo, "the system refuses the thread " + name, ""};
    return inner_.try_start(name, std::move(task));
  }
  void post(io::Task task) override { inner_.post(std::move(task)); }
  void sleep_for(io::Nanos duration) override { inner_.sleep_for(duration); }
  io::Clock& clock() override { return inner_.clock(); }
  io::FiberScheduler* fibers() override { return inner_.fibers(); }

  bool refuses = false;

 private:
  io::Executor& inner_;
};

class PipelineWorld {
 public:
  static constexpr std::uint32_t kDisks = 6;

  explicit PipelineWorld(const PipelineOptions& options = {})
      : system(io::SimOptions{.seed = options.seed}) {
    shape.uuid.bytes[0] = 1;
    shape.unit = options.unit;
    shape.max_pack_units = 32;
    shape.private_threshold = 1_MiB;
    std::vector<core::Member> rows(kDisks + 1);
    for (std::uint32_t i = 0; i <= kDisks; ++i) {
      const bool fast = i == kDisks;
      alloc::LayoutRequest request;
      request.role = fast ? alloc::DeviceRole::kLog : alloc::DeviceRole::kData;
      request.unit = options.unit;
      request.log_size = options.log_size;
      request.slab_units = fast ? 0 : options.slab_units;
      request.device_size = alloc::least_device_size(
          options.log_size + (fast ? 0 : options.slab_units * shape.unit), options.unit);
      rows[i].id = i;
      rows[i].role = request.role;
      rows[i].layout = alloc::plan_layout(request).value();
      rows[i].path = disk_name(i);
      io::SimDiskOptions disk;
      disk.volatile_cache = options.volatile_cache;
      disk.flush_domain = options.volatile_cache && !options.own_caches ? 0 : -1;
      system.add_disk(disk_name(i), std::make_shared<io::CowImage>(request.device_size), disk);
      rows[i].device = system.open_device(disk_name(i), io::OpenMode::kReadWrite).value();
    }
    log_offset_ = rows[0].layout.log_offset;
    log_end_ = log_offset_ + rows[0].layout.log_size;
    members.emplace(system.executor(), std::move(rows));
    space.emplace(system.executor(), shape, *members, counters, log_blobs);
    const core::ZoneCreation zone = space->prepare_zone(core::Space::Zeroing::kNone).value();
    REQUIRE(space->add_zone(zone).ok());
    space->open_zone(zone.zone);
    placer.emplace(shape, *codec, preparer, *space);
    kv::LogWriterOptions log;
    log.uuid = shape.uuid;
    log.areas = areas({kDisks, 0, 1});
    pipeline_.emplace(executor, shape, *members, *space, log_blobs, cells, *placer, counters,
                      kv::LogWriter::create(std::move(log)).value(), options.durability,
                      [this] { ++repairs; });
    hold([](const io::SimOp&) { return false; });
  }
  ~PipelineWorld() {
    release();
    pipeline().stop(Error{ErrorCode::kClosed, "the test is over", ""});
    system.run([this] { pipeline().wait_idle(); });
  }

  core::CommitPipeline& pipeline() { return *pipeline_; }
  static std::string disk_name(std::uint32_t id) {
    return id == kDisks ? "log" : "dev" + std::to_string(id);
  }
  std::vector<kv::LogArea> areas(const std::vector<DeviceId>& ids) const {
    std::vector<kv::LogArea> found;
    for (const DeviceId id : ids) found.push_back(members->find(id)->log_area());
    return found;
  }

  // While the pipeline is paused: the fence of a new epoch, on all three copies of the log.
  void begin_epoch(Epoch epoch) {
    const Result<kv::PreparedBlock> fence = pipeline().begin_epoch(areas({kDisks, 0, 1}), epoch);
    REQUIRE(fence.ok());
    REQUIRE(fence->requests.size() == 3);
    for (const io::IoRequest& request : fence->requests) {
      REQUIRE(request.device->write(request.offset, {request.data, request.length}).ok());
    }
  }

  // --- submissions ---

  // With the next LSN.
  core::Submission make(const Want& want) {
    core::Submission made;
    made.lsn = pipeline().next_lsn();
    made.durability = want.durability;
    made.record.images.push_back({core::object_key(1, std::to_string(made.lsn)),
                                  std::string(want.metadata, static_cast<char>(made.lsn))});
    std::vector<alloc::Extent> places;
    for (int i = 0; want.stripe > 0 && i < want.stripes; ++i) {
      core::StripeWrite stripe;
      stripe.prepared = preparer.code(as_bytes(noise(want.stripe))).value();
      stripe.where = space->allocate(stripe.prepared.units).value();
      places.push_back(stripe.where);
      const core::Blob& blob = stripe.prepared.blob;
      made.record.allocated.push_back({stripe.where, blob.cell_bytes, false, blob.cell_sums, 0});
      made.stripes.push_back(std::move(stripe));
    }
    std::vector<core::LogPlace> unplaced;
    for (std::uint32_t i = 0; want.unplaced > 0 && i < want.unplaced_blobs; ++i) {
      core::UnplacedBlob blob;
      blob.place = {made.lsn, i};
      blob.stored = core::SharedBytes::copy_of(as_bytes(noise(want.unplaced)));
      blob.owner = made.record.images[0].key;
      blob.units = static_cast<std::uint32_t>(divide_up(want.unplaced, shape.k() * shape.unit));
      REQUIRE(space->try_reserve(blob.units));
      unplaced.push_back(blob.place);
      made.unplaced.push_back(std::move(blob));
    }
    made.encoded = core::encode_own_part(made.record, shape.record);
    made.budget = std::make_shared<int>();
    made.done = [this, lsn = made.lsn, places, unplaced,
                 budget = std::weak_ptr<void>(made.budget)](const Result<Lsn>& result) {
      PipelineAnswer answer;
      answer.lsn = lsn;
      if (!result.ok()) answer.code = result.error().code;
      answer.published = result.ok() && *result == lsn && is_published(places, unplaced);
      answer.budget_back = budget.expired();
      answers.push_back(answer);  // others may answer while this one looks
    };
    return made;
  }
  // False when the log has no room.
  bool submit(const Want& want = {}) {
    core::Submission made = make(want);
    if (!pipeline().try_reserve(made).value()) {
      give_up(made);
      return false;
    }
    pipeline().enqueue(std::move(made));
    return true;
  }
  // Of a submission that is not enqueued: its space.
  void give_up(const core::Submission& made) {
    for (const core::StripeWrite& stripe : made.stripes) space->discard(stripe.where);
    for (const core::UnplacedBlob& blob : made.unplaced)
      space->release(core::PromisedUnits(blob.units));
  }
  // And sends the group, when there may be another one.
  void submit_and_pump(const Want& want = {}) {
    REQUIRE(submit(want));
    pipeline().pump();
  }
  // Buffered commits until the log has no room for another one.
  void fill_log() {
    const std::uint64_t most = pipeline().max_record();
    for (const std::uint64_t bytes : {most / 6 * 5, most / 5, std::uint64_t{100}}) {
      while (submit({.metadata = bytes, .durability = Durability::kBuffered})) continue;
    }
  }

  // The LSNs that were answered, as the callbacks came.
  std::vector<Lsn> answered() const {
    std::vector<Lsn> lsns;
    for (const PipelineAnswer& answer : answers) lsns.push_back(answer.lsn);
    return lsns;
  }

  // --- time and requests ---

  // Until nothing happens any more but for what is held back.
  void settle() {
    system.run([this] { system.executor().sleep_for(1'000'000'000); });
  }
  // Runs `task`, which may wait, on a fiber of its own. What it returned; nothing: it waits.
  template <typename Task>
  auto start(Task task) {
    auto outcome = std::make_shared<std::optional<decltype(task())>>();
    system.executor().post([outcome, task = std::move(task)] { *outcome = task(); });
    return outcome;
  }
  // Runs them at the same time, each on a fiber of its own; who is when where, the seed says.
  void at_once(const std::vector<io::Task>& tasks) {
    for (const io::Task& task : tasks) system.executor().post(task);
    settle();
  }
  bool is_log(const io::SimOp& op) const {
    return op.op == io::IoOp::kWrite && op.offset >= log_offset_ && op.offset < log_end_;
  }
  bool is_cell(const io::SimOp& op) const {
    return op.op == io::IoOp::kWrite && op.offset >= log_end_;
  }
  // From now on requests for which `which` says so wait for release().
  void hold(std::function<bool(const io::SimOp&)> which) {
    strike([which = std::move(which)](const io::SimOp& op) -> std::optional<io::FaultKind> {
      if (which(op)) return io::FaultKind::kHang;
      return std::nullopt;
    });
  }
  void strike(io::SimHook hook) {
    system.set_hook([this, hook = std::move(hook)](const io::SimOp& op) {
      log_writes += is_log(op) ? 1 : 0;
      cell_writes += is_cell(op) ? 1 : 0;
      flushes += op.op == io::IoOp::kFlush ? 1 : 0;
      return hook(op);
    });
  }
  void release() {
    hold([](const io::SimOp&) { return false; });
    for (std::uint32_t i = 0; i <= kDisks; ++i) system.disk(disk_name(i)).release_hung();
  }

  // --- looking ---

  std::uint64_t completed_writes() {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i <= kDisks; ++i) sum += system.disk(disk_name(i)).counts().writes;
    return sum;
  }
  std::uint64_t groups() const { return counters.since_open(core::CounterId::kGroups); }
  // The chain of blocks that one copy of the log has.
  kv::LogScan scan(DeviceId id = kDisks) const {
    kv::LogScanOptions options;
    options.uuid = shape.uuid;
    return kv::scan_log(areas({id}), options).value();
  }
  // The transactions in it, one after the other: which one, by what its record says.
  std::vector<std::string> logged() const {
    std::vector<std::string> keys;
    const kv::LogScan found = scan();
    for (std::size_t i = 0; i < found.blocks.size(); ++i) {
      const kv::LoadedLogBlock block = kv::load_log_block(found, i).value();
      for (const kv::LogRecord& record : block.block.records) {
        const auto decoded = core::decode_log_record(record.bytes, shape.record);
        keys.push_back(decoded.ok() ? decoded->images.at(0).key : decoded.error().message);
      }
    }
    return keys;
  }
  static std::vector<std::string> keys_up_to(Lsn last) {
    std::vector<std::string> keys;
    for (Lsn lsn = 1; lsn <= last; ++lsn) keys.push_back(core::object_key(1, std::to_string(lsn)));
    return keys;
  }

  io::SimSystem system;
  PipelineExecutor executor{system.executor()};  // the pipeline's
  core::StoreShape shape;
  core::Counters counters;
  compression::Counters compression_counters;
  compression::Compressor compressor{system.clock(), compression_counters};
  std::unique_ptr<ec::Codec> codec = ec::make_codec(shape.profile).value();
  core::BlobPreparer preparer{shape, *codec, compressor};
  core::LogBlobs log_blobs{system.executor(), shape.record};
  core::InFlightCells cells{system.executor()};
  std::optional<core::Members> members;
  std::optional<core::Space> space;
  std::optional<core::StripePlacer> placer;
  std::vector<PipelineAnswer> answers;
  int repairs = 0;
  // Requests since the beginning.
  int log_writes = 0;
  int cell_writes = 0;
  int flushes = 0;

 private:
  std::string noise(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(rng_.next());
    return bytes;
  }
  bool is_published(const std::vector<alloc::Extent>& places,
                    const std::vector<core::LogPlace>& unplaced) {
    bool live = true;
    for (const alloc::Extent& where : places) live = live && space->is_live(where);
    for (const core::LogPlace& place : unplaced) live = live && is_published(place);
    return live;
  }
  bool is_published(const core::LogPlace& unplaced) {
    const auto found = log_blobs.find(unplaced);
    if (!found.has_value()) return false;
    if (!found->place.has_value()) return !found->stored.empty();
    alloc::Extent where = found->place->where;
    where.units = std::max(where.units, 1U);  // of a pack stripe only the beginning is known
    return space->is_live(where);
  }

  io::Rng rng_{1};
  std::uint64_t log_offset_ = 0;
  std::uint64_t log_end_ = 0;
  std::optional<core::CommitPipeline> pipeline_;
};

inline const Error kGone{ErrorCode::kIo, "the devices are gone", ""};

inline std::vector<Lsn> up_to(Lsn last) {
  std::vector<Lsn> lsns(last);
  for (Lsn lsn = 1; lsn <= last; ++lsn) lsns[lsn - 1] = lsn;
  return lsns;
}

inline void require_good(const PipelineWorld& world) {
  for (const PipelineAnswer& answer : world.answers) {
    CAPTURE(answer.lsn);
    REQUIRE_FALSE(answer.code.has_value());
    REQUIRE(answer.published);
    REQUIRE(answer.budget_back);
  }
}

inline void require_failed(const PipelineWorld& world, ErrorCode code) {
  for (const PipelineAnswer& answer : world.answers) {
    CAPTURE(answer.lsn);
    REQUIRE(answer.code == code);
    REQUIRE(answer.budget_back);
  }
}

}  // namespace hexad::testing
