#include "core/store.h"

#include <utility>

#include "base/refused_memory.h"
#include "core/check/fsck.h"
#include "core/check/known_damage.h"
#include "core/check/scrubber.h"
#include "core/engine/engine.h"
#include "core/engine/stream_reader.h"
#include "core/engine/stream_writer.h"
#include "core/opening/format.h"
#include "core/opening/memory_store.h"
#include "core/opening/opening.h"
#include "core/opening/shut_out.h"
#include "core/report/counter_report.h"
#include "core/report/space_report.h"
#include "core/report/status_report.h"
#include "io/no_unwinding.h"

namespace hexad {

namespace {

Status create_default_collection(Store& store) {
  Transaction transaction;
  transaction.create_collection(kDefaultCollection);
  return store.commit(std::move(transaction)).status();
}

// Of an engine that nobody else knows of before its threads start: until then all of it goes with
// what is thrown.
template <typename MakeParts>
Result<Store> start(const MakeParts& make_parts) {
  std::unique_ptr<core::Engine> engine;
  {
    const io::UnwindingAllowed allowed(io::UnwindingAllowed::Because::kNobodyElse);
    HEXAD_TRY_ASSIGN(core::StoreParts parts, make_parts());
    engine = std::make_unique<core::Engine>(std::move(parts));
  }
  HEXAD_TRY(engine->start());
  return Store(std::move(engine));
}

// A call of an open store: what it throws leaves the store whole (io/no_unwinding.h), and is its
// error.
template <typename Call>
auto call(const core::Engine& engine, const Call& body) -> decltype(body()) {
  return without_bad_alloc([&]() -> decltype(body()) {
    HEXAD_TRY(engine.here());
    return body();
  });
}

// The same of its devices, of which one that cannot be written changes nothing.
template <typename Call>
auto call_devices(core::Engine& engine, const Call& body) -> decltype(body(engine.devices())) {
  return call(engine, [&]() -> decltype(body(engine.devices())) {
    HEXAD_TRY(engine.writable());
    return body(engine.devices());
  });
}

// `body` of the system that the caller gives, or of the operating system.
template <typename Body>
auto with_system(io::System* system, const Body& body) -> decltype(body(*system)) {
  return without_bad_alloc([&]() -> decltype(body(*system)) {
    if (system != nullptr) return body(*system);
    HEXAD_TRY_ASSIGN(const std::unique_ptr<io::System> owned, io::make_real_system());
    return body(*owned);
  });
}

}  // namespace

Result<PoolDescription> Store::format(const FormatOptions& options, io::System* system,
                                      FormatReport* report) {
  return without_bad_alloc([&]() -> Result<PoolDescription> {
    HEXAD_TRY(options.validate());
    std::unique_ptr<io::System> owned;
    if (system == nullptr) {
      HEXAD_TRY_ASSIGN(owned, io::make_real_system());
      system = owned.get();
    }
    HEXAD_TRY_ASSIGN(PoolDescription pool, core::format_devices(options, *system, nullptr, report));
    // The first transaction goes the way of all others, which also proves that the store opens.
    HEXAD_TRY_ASSIGN(Store store, open(pool, {}, system));
    HEXAD_TRY(create_default_collection(store));
    HEXAD_TRY(store.close());
    return pool;
  });
}

Result<Store> Store::open(const PoolDescription& pool, const RuntimeOptions& options,
                          io::System* system) {
  return without_bad_alloc([&]() -> Result<Store> {
    return start([&] { return core::open_parts(pool, options, system); });
  });
}

Result<Store> Store::open_replacing(const PoolDescription& pool, const Replacement& replacement,
                                    const RuntimeOptions& options, io::System* system) {
  if (options.access != Access::kReadWrite) {
    return Error{ErrorCode::kReadOnly, "a device is replaced by an opening for writing", ""};
  }
  return without_bad_alloc([&]() -> Result<Store> {
    return start([&] { return core::open_parts(pool, options, system, nullptr, &replacement); });
  });
}

Result<std::vector<DeviceHolder>> Store::holders(const PoolDescription& pool, io::System* system) {
  return with_system(system, [&](io::System& any) { return core::find_holders(pool, any); });
}

Result<std::vector<DeviceHolder>> Store::take_over(const PoolDescription& pool,
                                                   io::System* system) {
  return with_system(system, [&](io::System& any) { return core::shut_out_holders(pool, any); });
}

Result<Store> Store::in_memory(const MemoryStoreOptions& options, const RuntimeOptions& runtime) {
  return without_bad_alloc([&]() -> Result<Store> {
    HEXAD_TRY_ASSIGN(Store store, start([&] { return core::make_memory_parts(options, runtime); }));
    HEXAD_TRY(create_default_collection(store));
    return store;
  });
}

Store::Store(std::unique_ptr<core::Engine> engine) : engine_(std::move(engine)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&& other) noexcept {
  if (this == &other) return *this;
  let_go();
  engine_ = std::move(other.engine_);
  return *this;
}
Store::~Store() { let_go(); }

// In a forked child nothing of it may be touched (Engine::here), so it stays where it is: its
// threads are not there, its rings and locks are the parent's. So does one whose requests a device
// does not answer: the device, or a thread of ours, may still write there.
void Store::let_go() {
  if (engine_ != nullptr && (engine_->in_child() || !engine_->may_end())) {
    static_cast<void>(engine_.release());
  }
  engine_.reset();
}

Status Store::close() {
  return call(*engine_, [&] { return engine_->close(); });
}
Result<Lsn> Store::commit(Transaction&& transaction, const CommitOptions& options) {
  return call(*engine_, [&] { return engine_->commit(std::move(transaction), options); });
}
void Store::submit(Transaction&& transaction, const CommitCallback& done,
                   const CommitOptions& options) {
  engine_->submit(std::move(transaction), done, options);
}
CommitAwaiter Store::commit_async(Transaction&& transaction, const CommitOptions& options,
                                  ResumeOn resume_on) {
  return {*engine_, std::move(transaction), options, std::move(resume_on)};
}
Status Store::sync() {
  return call(*engine_, [&] { return engine_->sync(); });
}
bool Store::waits_for_devices() const {
  return !engine_->in_child() && engine_->waits_for_devices();
}
Result<Bytes> Store::get(std::string_view collection, std::string_view name) {
  return call(*engine_, [&] { return engine_->reads().get(collection, name); });
}
std::optional<PinnedBytes> Store::cached(std::string_view collection, std::string_view name) {
  if (engine_->in_child()) return std::nullopt;
  return engine_->reads().cached(collection, name);
}
Result<std::uint64_t> Store::read(std::string_view collection, std::string_view name,
                                  std::uint64_t offset, MutByteView into) {
  return call(*engine_, [&] { return engine_->reads().read(collection, name, offset, into); });
}
Result<Bytes> Store::read_ranges(std::string_view collection, std::string_view name,
                                 std::span<const ByteRange> ranges) {
  return call(*engine_, [&] { return engine_->reads().read_ranges(collection, name, ranges); });
}
Status Store::read_ranges(std::string_view collection, std::string_view name,
                          std::span<RangeInto> ranges) {
  return call(*engine_, [&] { return engine_->reads().read_ranges(collection, name, ranges); });
}
Result<std::optional<Bytes>> Store::omap_get(std::string_view collection, std::string_view name,
                                             std::string_view key) {
  return call(*engine_, [&]() -> Result<std::optional<Bytes>> {
    const std::string wanted(key);
    HEXAD_TRY_ASSIGN(auto found, engine_->reads().omap_get(collection, name, {&wanted, 1}));
    if (found.empty()) return std::optional<Bytes>();
    return std::optional<Bytes>(std::move(found.begin()->second));
  });
}
Result<std::map<std::string, Bytes>> Store::omap_get(std::string_view collection,
                                                     std::string_view name,
                                                     std::span<const std::string> keys) {
  return call(*engine_, [&] { return engine_->reads().omap_get(collection, name, keys); });
}
Result<Bytes> Store::omap_header(std::string_view collection, std::string_view name) {
  return call(*engine_, [&] { return engine_->reads().omap_header(collection, name); });
}
Result<OmapPage> Store::omap_list(std::string_view collection, std::string_view name,
                                  const OmapOptions& options) {
  return call(*engine_, [&] { return engine_->reads().omap_list(collection, name, options); });
}
Result<std::vector<ByteRange>> Store::extents(std::string_view collection, std::string_view name,
                                              const ByteRange& range) {
  return call(*engine_, [&] { return engine_->reads().extents(collection, name, range); });
}
Result<RangeChecksum> Store::checksum(std::string_view collection, std::string_view name,
                                      const ByteRange& range, ChecksumType type) {
  return call(*engine_, [&] { return engine_->reads().checksum(collection, name, range, type); });
}
Result<bool> Store::exists(std::string_view collection, std::string_view name) {
  return call(*engine_, [&] { return engine_->reads().exists(collection, name); });
}
Result<ObjectStat> Store::stat(std::string_view collection, std::string_view name) {
  return call(*engine_, [&] { return engine_->reads().stat(collection, name); });
}
std::optional<std::uint64_t> Store::cached_read(std::string_view collection, std::string_view name,
                                                std::uint64_t offset, MutByteView into) {
  if (engine_->in_child()) return std::nullopt;
  return engine_->reads().cached_read(collection, name, offset, into);
}
std::optional<std::uint64_t> Store::cached_size(std::string_view collection,
                                                std::string_view name) {
  if (engine_->in_child()) return std::nullopt;
  return engine_->reads().cached_size(collection, name);
}
std::optional<ObjectStat> Store::cached_stat(std::string_view collection, std::string_view name) {
  if (engine_->in_child()) return std::nullopt;
  return engine_->reads().cached_stat(collection, name);
}
Result<Attributes> Store::attributes(std::string_view collection, std::string_view name) {
  return call(*engine_, [&] { return engine_->reads().attributes(collection, name); });
}
Result<std::optional<std::string>> Store::attribute(std::string_view collection,
                                                    std::string_view name,
                                                    std::string_view attribute) {
  return call(*engine_, [&] { return engine_->reads().attribute(collection, name, attribute); });
}
Result<ListPage> Store::list(std::string_view collection, const ListOptions& options) {
  return call(*engine_, [&] { return engine_->list(collection, options); });
}
Result<std::vector<CollectionInfo>> Store::collections() {
  return call(*engine_, [&] { return engine_->reads().collections(); });
}
Result<CollectionInfo> Store::collection(std::string_view name) {
  return call(*engine_, [&] { return engine_->reads().collection(name); });
}
Result<CollectionUsage> Store::collection_usage(std::string_view name) {
  return call(*engine_, [&] { return engine_->reads().collection_usage(name); });
}

Result<std::unique_ptr<ObjectWriter>> Store::open_writer(std::string_view collection,
                                                         std::string_view name,
                                                         std::optional<Hint> hint) {
  return call(*engine_, [&]() -> Result<std::unique_ptr<ObjectWriter>> {
    HEXAD_TRY_ASSIGN(std::unique_ptr<core::StreamWriter> writer,
                     core::StreamWriter::open(*engine_, collection, name, hint));
    return std::make_unique<ObjectWriter>(std::move(writer));
  });
}

Result<std::unique_ptr<ObjectReader>> Store::open_reader(std::string_view collection,
                                                         std::string_view name) {
  return call(*engine_, [&]() -> Result<std::unique_ptr<ObjectReader>> {
    HEXAD_TRY_ASSIGN(std::unique_ptr<core::StreamReader> reader,
                     core::StreamReader::open(*engine_, collection, name));
    return std::make_unique<ObjectReader>(std::move(reader));
  });
}

Status Store::checkpoint() {
  return call(*engine_, [&] { return engine_->checkpoint(); });
}
StoreStatus Store::status() {
  if (const Status here = engine_->here(); !here.ok()) {
    StoreStatus status;
    status.notes.push_back(here.error().message);
    return status;
  }
  return engine_->status_report().status();
}
Result<SpaceUsage> Store::space(SpaceDetail detail) {
  return call(*engine_, [&] { return engine_->space_report().usage(detail); });
}
Status Store::set_cache_size(std::uint64_t bytes) {
  return call(*engine_, [&] { return engine_->set_cache_size(bytes); });
}
Result<ObjectRoom> Store::room_for(std::uint64_t object_size) {
  return call(*engine_, [&] { return engine_->space_report().room_for(object_size); });
}
std::vector<Counter> Store::counters() {
  if (engine_->in_child()) return {};
  return engine_->counter_report().all();
}
Result<FsckReport> Store::fsck(const FsckOptions& options) {
  return call(*engine_, [&] { return engine_->fsck().run(options); });
}
Result<CatchUpReport> Store::catch_up(const CatchUpOptions& options) {
  return call_devices(*engine_,
                      [&](core::Devices& devices) { return devices.catch_ups().run(options); });
}
Status Store::bring_back_device(DeviceId device, const std::string& path) {
  return call_devices(
      *engine_, [&](core::Devices& devices) { return devices.returns().bring_back(device, path); });
}
Result<DeviceId> Store::replace_device(const Replacement& replacement) {
  return call_devices(
      *engine_, [&](core::Devices& devices) { return devices.replacement().run(replacement); });
}
Result<DeviceId> Store::add_device(
    const std::string& path,
    const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress,
    const std::string& failure_domain) {
  return call_devices(*engine_, [&](core::Devices& devices) {
    return devices.changes().add(path, {}, progress, failure_domain);
  });
}
Result<DeviceId> Store::add_fast_device(
    const std::string& directory,
    const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress) {
  return call_devices(*engine_, [&](core::Devices& devices) {
    return devices.changes().add_fast(directory, progress);
  });
}
Status Store::drain_device(DeviceId device) {
  return call_devices(*engine_,
                      [&](core::Devices& devices) { return devices.drains().drain(device); });
}
Status Store::undrain_device(DeviceId device) {
  return call_devices(*engine_,
                      [&](core::Devices& devices) { return devices.drains().undrain(device); });
}
Status Store::remove_device(DeviceId device) {
  return call_devices(*engine_,
                      [&](core::Devices& devices) { return devices.changes().remove(device); });
}
Result<MoveReport> Store::move_slabs(const MoveOptions& options) {
  return call_devices(*engine_,
                      [&](core::Devices& devices) { return devices.moves().move(options); });
}
Status Store::clear_device_errors(const std::vector<DeviceId>& devices) {
  return call_devices(*engine_, [&](core::Devices& all) { return all.clear_errors(devices); });
}
Result<std::vector<Damage>> Store::damage() {
  return call(*engine_, [&] { return engine_->damage().find(); });
}

Result<std::vector<Damage>> Store::acknowledge_damage(std::span<const ObjectName> objects) {
  return call(*engine_, [&] { return engine_->damage().acknowledge(objects); });
}

Result<std::vector<Damage>> Store::acknowledge_all_damage() {
  return call(*engine_, [&] { return engine_->damage().acknowledge(std::nullopt); });
}

Result<ScrubReport> Store::scrub(const ScrubOptions& options) {
  return call(*engine_, [&] { return engine_->scrubber().scrub(options); });
}
Status Store::serve_control() {
  return call(*engine_, [&] { return engine_->serve_control(); });
}
std::vector<EffectiveOption> Store::effective_options() const {
  return engine_->effective_options();
}

Result<StoreStatus> inspect(const PoolDescription& pool, io::System* system) {
  return without_bad_alloc([&] { return core::inspect_devices(pool, system); });
}

}  // namespace hexad
