#include "tests/crash/crash_world.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "alloc/device_layout.h"
#include "base/assert.h"
#include "base/units.h"
#include "core/engine/engine.h"
#include "core/opening/format.h"
#include "core/opening/opening.h"
#include "core/opening/pool_options.h"
#include "io/rng.h"
#include "kv/memory/memory_index.h"
#include "tests/core/omap_model.h"
#include "tests/kv/lmdb_recorder.h"

namespace hexad::testing {

namespace {

constexpr const char* kIndexDisk = "index";
constexpr const char* kOther = "other";

constexpr std::uint64_t kMemoryOfRuns = 64_KiB;
constexpr std::uint64_t kRoomOfBlocks = 512_KiB;

// Of indexes that are smaller than the room that there is.
class NarrowHome final : public kv::IndexHome {
 public:
  NarrowHome(io::Executor& executor, std::uint64_t limit)
      : inner_(kv::make_memory_index_home(executor, {limit})) {}
  Result<std::unique_ptr<kv::Index>> open(const std::string& directory, const Uuid& store,
                                          io::OpenMode mode) override {
    return inner_->open(directory, store, mode);
  }
  Status remove(const std::string& directory) override { return inner_->remove(directory); }
  std::optional<std::uint64_t> room(const std::string&) override { return kRoomOfBlocks; }

 private:
  const std::unique_ptr<kv::IndexHome> inner_;
};

// So that blocks are asked for, and come.
void read_some(Store& store, std::size_t from) {
  ListOptions all;
  all.limit = kMaxListPage;
  const Result<ListPage> page = store.list(kDefaultCollection, all);
  HEXAD_ASSERT(page.ok());
  for (std::size_t i = from % 3; i < page->entries.size(); i += 3) {
    const Result<Attributes> found = store.attributes(kDefaultCollection, page->entries[i].name);
    HEXAD_ASSERT(found.ok() || found.error().code == ErrorCode::kNotFound);
  }
}

std::string bytes_of(std::uint64_t seed, std::size_t size) {
  io::Rng rng(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(rng.next());
  return bytes;
}

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  HEXAD_ASSERT(result.ok());
  return std::move(result).value();
}

void must(const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  HEXAD_ASSERT(status.ok());
}

}  // namespace

CrashWorld::CrashWorld(const CrashWorldOptions& options)
    : options_(options), stacks_(std::make_shared<io::FiberStacks>()) {
  if (!options_.script.empty()) {
    options_.transactions = static_cast<int>(options_.script.size());
    options_.in_flight = 1;
  }
  for (int i = 0; i < options_.data_disks; ++i) pool_.devices.push_back("disk" + std::to_string(i));
  if (options_.fast) pool_.fast_directories = {"fast"};
  before_ = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path(""));
}

CrashWorld::~CrashWorld() { std::filesystem::current_path(before_); }

io::SimDiskOptions CrashWorld::disk_options() const {
  io::SimDiskOptions disk;
  disk.physical_block = options_.physical_block;
  disk.flush_domain = options_.flush_domain;
  return disk;
}

// Every op there is, over a few names, so that each transaction meets what earlier ones left. Names
// are split by lane: transactions in flight at once touch different objects and cannot fail.
Transaction CrashWorld::transaction(std::size_t index) const {
  Transaction t;
  if (!options_.script.empty()) {
    options_.script[index](t);
    return t;
  }
  const std::string lane = std::to_string(index % static_cast<std::size_t>(options_.in_flight));
  const std::uint64_t round = index / static_cast<std::size_t>(options_.in_flight);
  const std::string a = "a" + lane;
  const std::string b = "b" + lane;
  const std::string moved = "moved" + lane;
  const std::string copy = "copy" + lane;
  const std::string album = "album" + lane;
  const std::string shelf = "shelf" + lane;
  const std::string small = "small" + lane;
  const std::uint64_t seed = options_.seed * 1000 + index;
  switch (round % 8) {
    case 0:
      t.put(kDefaultCollection, a, bytes_of(seed, 900 + index * 37));
      t.put(kDefaultCollection, b, bytes_of(seed + 500, 100));
      break;
    case 1:
      t.write(kDefaultCollection, a, 300, as_bytes(bytes_of(seed, 2500)));
      t.set_attr(kDefaultCollection, a, "version", std::to_string(index));
      t.omap_set(kDefaultCollection, a, "inline", bytes_of(seed, 20));
      t.omap_set(kDefaultCollection, a, "large", bytes_of(seed, 5000));
      break;
    case 2:
      t.put(kDefaultCollection, b, bytes_of(seed, 6000));
      t.append(kDefaultCollection, a, as_bytes(bytes_of(seed, 40)));
      t.create_collection(album);
      t.create_collection(shelf);
      t.put(album, small, bytes_of(seed, 100));
      t.put(album, "large", bytes_of(seed, 7000));
      break;
    case 3:
      t.remove(kDefaultCollection, moved);
      t.rename(kDefaultCollection, a, kDefaultCollection, moved);
      t.clone(kDefaultCollection, moved, kDefaultCollection, copy);
      t.split_collection(album, "s", shelf);
      break;
    case 4:
      t.put(kOther, a, bytes_of(seed, 9000));
      t.clone_range(kDefaultCollection, moved, 100, 1500, kOther, a, 3000);
      t.truncate(kDefaultCollection, b, 1000);
      t.zero(kDefaultCollection, b, 100, 200);
      t.put(album, "since", bytes_of(seed, 300));  // where the shelf's names were
      break;
    case 5:
      t.remove(kDefaultCollection, b);
      t.set_attr(kDefaultCollection, moved, "kept", "yes");
      t.omap_set(kDefaultCollection, moved, "large", bytes_of(seed, 600));
      t.remove_collection(album, Contents::kRemoved);
      break;
    case 6:
      t.put(kDefaultCollection, b, bytes_of(seed, 4096));
      t.remove_attr(kDefaultCollection, moved, "kept");
      t.rename(kOther, a, kDefaultCollection, a);
      t.remove(kOther, small);
      t.merge_collection(shelf, kOther);
      break;
    default:
      t.put(kDefaultCollection, a, bytes_of(seed, 257));
      t.write(kDefaultCollection, b, 4000, as_bytes(bytes_of(seed, 300)));
      t.write(kDefaultCollection, copy, 500, as_bytes(bytes_of(seed, 600)));
      break;
  }
  return t;
}

void CrashWorld::record_index(io::CrashRecorder& recorder, io::CrashRecorder::DiskIndex disk) {
  kv::testing::start_recording(index_file(), [&recorder, disk](const kv::testing::FileEvent& e) {
    using Kind = kv::testing::FileEvent::Kind;
    switch (e.kind) {
      case Kind::kWrite:
        recorder.record_write(disk, e.offset, as_bytes(e.bytes),
                              e.durable ? io::WriteMode::kDurable : io::WriteMode::kCached);
        break;
      case Kind::kSync:
        recorder.record_sync(disk);
        break;
      case Kind::kResize:
        recorder.record_resize(disk, e.size);
        break;
    }
  });
}

void CrashWorld::write_index(const io::CowImage& image) const {
  const int file = ::open(index_file().c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  HEXAD_ASSERT(file >= 0);
  HEXAD_ASSERT(::ftruncate(file, static_cast<off_t>(image.size())) == 0);
  Bytes page(io::CowImage::kPage);
  for (std::uint64_t at = 0; at < image.size(); at += page.size()) {
    const std::size_t length = std::min<std::uint64_t>(page.size(), image.size() - at);
    image.read(at, MutByteView(page).first(length));
    if (is_zero(ByteView(page).first(length))) continue;
    HEXAD_ASSERT(::pwrite(file, page.data(), length, static_cast<off_t>(at)) ==
                 static_cast<ssize_t>(length));
  }
  ::close(file);
}

// By number, so that a state that is opened again meets the same.
void CrashWorld::harm_index(std::uint64_t state) const {
  const int file = ::open(index_file().c_str(), O_RDWR | O_CLOEXEC);
  HEXAD_ASSERT(file >= 0);
  io::Rng rng(state);
  const auto size = static_cast<std::uint64_t>(::lseek(file, 0, SEEK_END));
  const auto at = static_cast<off_t>(rng.below(size));
  switch (state % 6) {
    case 0:
      HEXAD_ASSERT(::unlink(index_file().c_str()) == 0);
      break;
    case 2:
      HEXAD_ASSERT(::ftruncate(file, 0) == 0);
      HEXAD_ASSERT(::pwrite(file, first_index_.data(), first_index_.size(), 0) ==
                   static_cast<ssize_t>(first_index_.size()));
      break;
    case 4: {
      char byte = 0;
      HEXAD_ASSERT(::pread(file, &byte, 1, at) == 1);
      byte = static_cast<char>(byte ^ (1 << rng.below(8)));
      HEXAD_ASSERT(::pwrite(file, &byte, 1, at) == 1);
      break;
    }
    default:
      break;
  }
  ::close(file);
}

Transaction CrashWorld::first_transaction() const {
  Transaction t;
  t.create_collection(kDefaultCollection);
  t.create_collection(kOther);
  if (options_.before) options_.before(t);
  return t;
}

std::unique_ptr<kv::IndexHome> CrashWorld::narrow_home(io::Executor& executor,
                                                       std::uint64_t limit) {
  return std::make_unique<NarrowHome>(executor, limit);
}

Result<Store> CrashWorld::open_recorded(io::System& system, kv::IndexHome* indexes) const {
  RuntimeOptions runtime;
  runtime.log_durability = options_.log_durability;
  if (indexes != nullptr) runtime.cache_size = 0;
  HEXAD_TRY_ASSIGN(core::StoreParts parts, core::open_parts(pool_, runtime, &system, indexes));
  parts.ranges_at_once = options_.ranges_at_once;
  if (indexes != nullptr) parts.cache->keep_less_of_runs(kMemoryOfRuns);
  auto engine = std::make_unique<core::Engine>(std::move(parts));
  HEXAD_TRY(engine->start());
  return Store(std::move(engine));
}

Result<Store> CrashWorld::open_narrow(io::System& system, kv::IndexHome& indexes) const {
  return open_recorded(system, &indexes);
}

void CrashWorld::run() {
  Lsn first_lsn = 0;
  std::vector<std::pair<std::string, std::shared_ptr<const io::CowImage>>> fresh;
  {
    io::SimSystem system(io::SimOptions{options_.seed, {}, disk_options(), nullptr, stacks_});
    system.run([&] {
      FormatOptions format;
      format.devices = pool_.devices;
      format.profile = options_.profile;
      format.redundant_devices = options_.profile.m == 0;
      format.fast_directories = pool_.fast_directories;
      format.device_size = options_.device_size + alloc::kEndsSize;
      format.slab_size = options_.slab_size;
      format.log_size = options_.log_size;
      format.min_alloc = options_.min_alloc;
      format.checksum_block = 4096;
      std::unique_ptr<kv::IndexHome> indexes;
      if (options_.index_limit > 0) {
        indexes = narrow_home(system.executor(), options_.index_limit);
      }
      must(core::format_devices(format, system, indexes.get()));
      Store store = indexes == nullptr ? must(Store::open(pool_, {}, &system))
                                       : must(open_narrow(system, *indexes));
      first_lsn = must(store.commit(first_transaction()));
      must(store.close());
    });
    for (const std::string& name : pool_.devices) {
      fresh.emplace_back(name, system.disk(name).snapshot());
    }
    for (const std::string& directory : pool_.fast_directories) {
      const std::string log = core::fast_log_path(directory);
      fresh.emplace_back(log, system.disk(log).snapshot());
    }
  }

  Model model;
  HEXAD_ASSERT(!model.apply(first_transaction()).has_value());
  model.stamp(first_lsn);
  io::SimSystem system(io::SimOptions{options_.seed, {}, disk_options(), &recorder_, stacks_});
  for (auto& [name, image] : fresh) system.add_disk(name, image, disk_options());
  if (options_.index_limit > 0) {
    // Nobody flushes it, so all that was ever written there would be pending for ever.
    io::SimDiskOptions kept = disk_options();
    kept.volatile_cache = false;
    system.add_disk(kBlocks, std::make_shared<io::CowImage>(0), kept);
  }
  if (has_lmdb()) {
    auto index = std::make_shared<io::CowImage>(0);
    const Result<std::string> bytes = [&]() -> Result<std::string> {
      std::string content;
      const int file = ::open(index_file().c_str(), O_RDONLY | O_CLOEXEC);
      HEXAD_ASSERT(file >= 0);
      content.resize(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)));
      HEXAD_ASSERT(::pread(file, content.data(), content.size(), 0) ==
                   static_cast<ssize_t>(content.size()));
      ::close(file);
      return content;
    }();
    first_index_ = *bytes;
    index->resize(bytes->size());
    index->write(0, as_bytes(*bytes));
    const auto disk = recorder_.add_disk(kIndexDisk, index);
    recorder_.keep_writes_whole(disk);
    record_index(recorder_, disk);
  }

  Lsn first_checkpoint = 0;
  system.run([&] {
    std::unique_ptr<kv::IndexHome> indexes;
    if (options_.index_limit > 0) indexes = narrow_home(system.executor(), options_.index_limit);
    Store store = must(open_recorded(system, indexes.get()));
    first_checkpoint = store.status().checkpoint_lsn;
    io::Mutex mutex(system.executor());
    io::CondVar changed(system.executor());
    std::size_t pending = 0;
    // One chain of commits per lane; each waits for its own last one, so that they overlap.
    std::vector<std::unique_ptr<io::Thread>> lanes;
    for (int lane = 0; lane < options_.in_flight; ++lane) {
      lanes.push_back(system.executor().start("lane" + std::to_string(lane), [&, lane] {
        for (int i = lane; i < options_.transactions; i += options_.in_flight) {
          io::Lock lock(mutex);
          bool answered = false;
          ++pending;
          lock.unlock();
          const int every = options_.checkpoint_every;
          if (every > 0 ? i % every == every - 1 : i == options_.transactions / 3) {
            must(store.checkpoint());
          }
          const bool buffered = options_.buffered && i / options_.in_flight % 4 != 3;
          const auto done = [&, i, buffered](Result<Lsn> lsn) {
            const io::Lock inner(mutex);
            if (lsn.ok() || options_.script.empty()) {
              const Lsn drawn = must(std::move(lsn));
              const std::uint64_t promised = buffered ? kNever : recorder_.position();
              done_.push_back({drawn, promised, static_cast<std::size_t>(i)});
            }
            answered = true;
            --pending;
            changed.notify_all();
          };
          store.submit(transaction(static_cast<std::size_t>(i)), done,
                       {buffered ? Durability::kBuffered : Durability::kDurable});
          lock.lock();
          changed.wait(lock, [&] { return answered; });
          lock.unlock();
          if (indexes != nullptr) read_some(store, static_cast<std::size_t>(i));
          if (options_.pause > 0) system.executor().sleep_for(options_.pause);
        }
      }));
    }
    for (auto& lane : lanes) lane->join();
    for (const Counter& counter : store.counters()) {
      if (counter.name == "checkpoints") checkpoints_ = counter.since_open;
      if (counter.name == "runs_merged") runs_merged_ = counter.since_open;
      if (counter.name == "merge_moved_bytes") merge_moved_ = counter.since_open;
      if (counter.name == "cleaned_blobs") blobs_moved_ = counter.since_open;
      if (counter.name == "compacted_lists") lists_compacted_ = counter.since_open;
      if (counter.name == "indexes_rebuilt") indexes_made_ = counter.since_open;
      if (counter.name == "run_resident_hits") blocks_found_ = counter.since_open;
      if (counter.name == "run_resident_bytes") blocks_written_ = counter.since_open;
      if (counter.name == "device_log_bytes")
        log_laps_ = counter.since_open / (options_.profile.m + 1 + pool_.fast_directories.size()) /
                    options_.log_size;
    }
  });
  kv::testing::stop_recording();
  trace_hash_ = system.trace_hash();
  look_at_log();

  std::sort(done_.begin(), done_.end(), [](const Done& x, const Done& y) { return x.lsn < y.lsn; });
  models_.push_back(model);
  std::size_t next = 0;  // of the script: what comes before it has been applied or has failed
  for (const Done& done : done_) {
    for (; !options_.script.empty() && next < done.script; ++next) {
      HEXAD_ASSERT(model.apply(transaction(next)).has_value());
    }
    next = done.script + 1;
    HEXAD_ASSERT(!model.apply(transaction(done.script)).has_value());
    model.stamp(done.lsn);
    models_.push_back(model);
  }
  for (; next < options_.script.size(); ++next) {
    HEXAD_ASSERT(model.apply(transaction(next)).has_value());
  }
}

// What was there before, and every write since, to whichever disk.
void CrashWorld::look_at_log() {
  for (const io::CrashRecorder::Disk& disk : recorder_.disks()) {
    if (disk.name == kIndexDisk || disk.name == kBlocks) continue;
    log_.see_device([&](std::uint64_t offset, std::uint64_t length) {
      Bytes bytes(length);
      disk.initial->read(offset, bytes);
      return bytes;
    });
  }
  for (const io::CrashRecorder::Event& event : recorder_.events()) {
    if (event.data != nullptr) log_.see(*event.data);
  }
  log_problem_ = log_.problem();
}

std::optional<std::string> CrashWorld::reopen(const io::CrashState& state,
                                              io::CrashRecorder* recorder, const Use& use) {
  return reopen(state, recorder,
                UseInTime([&use](Store& store, io::Executor&) { return use(store); }));
}

std::optional<std::string> CrashWorld::reopen(const io::CrashState& state,
                                              io::CrashRecorder* recorder, const UseInTime& use) {
  // The index is the last of the recording's disks, if there is one; the simulation gets it as a
  // disk, too, which nobody opens.
  for (std::size_t i = 0; i < state.disks().size(); ++i) {
    if (state.disks()[i].name == kIndexDisk) write_index(*state.image(i));
  }
  // Not where the opening itself is recorded: its crashes harm it.
  if (recorder == nullptr && has_lmdb()) harm_index(state.number());
  io::SimOptions sim{options_.seed, {}, disk_options(), recorder, stacks_};
  sim.latency.immediate = true;
  io::SimSystem system(state, sim);
  if (recorder != nullptr && has_lmdb()) {
    const auto disk = recorder->disk_index(kIndexDisk);
    recorder->keep_writes_whole(disk);
    record_index(*recorder, disk);
  }
  std::optional<std::string> problem;
  system.run([&] {
    Result<Store> store = Store::open(pool_, {}, &system);
    problem = store.ok() ? use(*store, system.executor()) : "open: " + store.error().to_string();
  });
  if (recorder != nullptr) kv::testing::stop_recording();
  return problem;
}

std::optional<std::string> CrashWorld::with_disks(const io::CrashState& state,
                                                  const UseDisks& use) {
  HEXAD_ASSERT(options_.index_limit > 0);
  io::SimOptions sim{options_.seed, {}, disk_options(), nullptr, stacks_};
  sim.latency.immediate = true;
  io::SimSystem system(state, sim);
  std::optional<std::string> problem;
  system.run([&] { problem = use(system); });
  return problem;
}

std::optional<std::string> CrashWorld::check(Store& store, std::uint64_t position) const {
  if (!log_problem_.empty()) return "the log: " + log_problem_;
  const Lsn last = store.status().last_lsn;
  std::size_t present = 0;
  std::size_t promised = 0;
  for (std::size_t i = 0; i < done_.size(); ++i) {
    if (done_[i].lsn <= last) present = i + 1;
    if (done_[i].acknowledged <= position) promised = i + 1;
  }
  if (present < promised) {
    return "LSN " + std::to_string(done_[promised - 1].lsn) +
           " was acknowledged, the store ends at " + std::to_string(last);
  }
  // The LSNs up to `last` are transactions of the recording, but for those that the store has drawn
  // for itself since it was opened again (a zone made ahead of need).
  std::optional<std::string> problem;
  for (std::size_t count = present + 1; count-- > promised;) {
    const auto differs = compare(store, models_[count], last);
    if (!differs.has_value()) return check_metadata(store);
    if (!problem.has_value()) problem = differs;
  }
  return problem;
}

std::optional<std::string> CrashWorld::compare(Store& store, const Model& model, Lsn last) {
  const Result<std::vector<CollectionInfo>> collections = store.collections();
  if (!collections.ok()) return collections.error().to_string();
  if (collections->size() != model.collections.size()) {
    return std::to_string(collections->size()) + " collections at LSN " + std::to_string(last);
  }
  io::Rng rng(last);
  for (const auto& [collection, objects] : model.collections) {
    ListOptions all;
    all.limit = kMaxListPage;
    const Result<ListPage> page = store.list(collection, all);
    if (!page.ok()) return page.error().to_string();
    if (page->entries.size() != objects.size()) {
      return collection + ": " + std::to_string(page->entries.size()) + " objects instead of " +
             std::to_string(objects.size()) + " at LSN " + std::to_string(last);
    }
    auto entry = page->entries.begin();
    for (const auto& [name, object] : objects) {
      const std::string subject = collection + "/" + name + " at LSN " + std::to_string(last);
      if (entry->name != name || entry->size != object.data->size()) return subject + ": listing";
      ++entry;
      const Result<Bytes> data = store.get(collection, name);
      if (!data.ok()) return data.error().to_string();
      if (as_text(*data) != *object.data) return subject + ": data";
      const Result<Attributes> attributes = store.attributes(collection, name);
      if (!attributes.ok() || *attributes != object.attributes) return subject + ": attributes";
      const std::string omap = omap_difference(store, collection, name, object.omap, rng);
      if (!omap.empty()) return subject + ": " + omap;
    }
  }
  return std::nullopt;
}

std::optional<std::string> CrashWorld::check_metadata(Store& store) {
  const Result<FsckReport> report = store.fsck({});
  if (!report.ok()) return report.error().to_string();
  if (!report->findings.empty()) {
    return "fsck: " + report->findings[0].subject + ": " + report->findings[0].problem;
  }
  // What a crash has left undone is no device's fault.
  for (const DeviceStatus& device : store.status().devices) {
    if (device.has_had_errors()) {
      return device.path + ": read, write, flush, checksum errors, timeouts: " +
             std::to_string(device.read_errors) + ", " + std::to_string(device.write_errors) +
             ", " + std::to_string(device.flush_errors) + ", " +
             std::to_string(device.checksum_errors) + ", " + std::to_string(device.timeouts);
    }
  }
  return std::nullopt;
}

}  // namespace hexad::testing
