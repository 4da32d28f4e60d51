#include "tests/core/faults/disk_images.h"

#include <utility>

#include "alloc/device_layout.h"
#include "base/assert.h"
#include "base/units.h"
#include "core/opening/format.h"
#include "core/opening/opening.h"
#include "io/sim/sim_system.h"
#include "kv/log/log_scan.h"
#include "kv/memory/memory_index.h"
#include "tests/core/noise.h"

namespace hexad::testing {

namespace {

constexpr std::uint64_t kDiskSize = 2_MiB + alloc::kEndsSize;
constexpr std::uint64_t kLogSize = 64_KiB;
constexpr std::uint64_t kMostTurns = 300'000;  // of threads in one opening
constexpr const char* kOther = "other";

std::string disk_name(std::size_t index) { return "disk" + std::to_string(index); }

PoolDescription pool() {
  PoolDescription pool;
  for (std::size_t i = 0; i < kImageDisks; ++i) pool.devices.push_back(disk_name(i));
  return pool;
}

io::SimDiskOptions disk_options() {
  io::SimDiskOptions options;
  options.physical_block = 512;
  options.volatile_cache = false;
  return options;
}

io::SimOptions sim_options(const std::shared_ptr<io::FiberStacks>& stacks) {
  io::SimOptions options;
  options.disk = disk_options();
  options.latency.immediate = true;
  options.stacks = stacks;
  return options;
}

RuntimeOptions runtime(Access access) {
  RuntimeOptions options;
  options.access = access;
  options.cache_size = 1_MiB;
  return options;
}

void run(io::SimSystem& system, const io::Task& task) {
  system.sim_executor().set_step_limit(kMostTurns);
  const std::string stuck = system.sim_executor().run_or_explain(task);
  if (!stuck.empty()) std::fprintf(stderr, "%s\n", stuck.c_str());
  HEXAD_ASSERT(stuck.empty());
}

void commit(core::Engine& engine, const std::function<void(Transaction&)>& build) {
  Transaction transaction;
  build(transaction);
  const Result<Lsn> lsn = engine.commit(std::move(transaction));
  if (!lsn.ok()) std::fprintf(stderr, "%s\n", lsn.error().to_string().c_str());
  HEXAD_ASSERT(lsn.ok());
}

void fill(core::Engine& engine) {
  const char* const d = kDefaultCollection;
  commit(engine, [&](Transaction& t) {
    t.create_collection(d);
    t.create_collection(kOther);
    t.create_collection("album");
    t.create_collection("shelf");
    compression::Policy policy;
    policy.mode = compression::Mode::kForce;
    policy.algorithm = compression::Algorithm::kLz4;
    t.set_policy(kOther, policy);
  });
  commit(engine, [&](Transaction& t) {
    t.put(d, "inline", "some bytes");
    t.set_attr(d, "inline", "type", "a/b");
    t.put(d, "small", noise(3000, 1));
    t.put(d, "middle", noise(9000, 2));
    t.put(d, "large", noise(300'000, 3));
    t.put(kOther, "text", std::string(20'000, 'x') + noise(500, 4));
    t.omap_set(d, "inline", "key", "value");
    t.omap_set(d, "inline", "long", noise(700, 5));
    t.omap_set_header(d, "inline", as_bytes("header"));
  });
  commit(engine, [&](Transaction& t) {
    t.write(d, "pages", (1 << 20) + 100, as_bytes(noise(5000, 6)));
    t.write(d, "pages", 10, as_bytes(noise(300, 7)));
    t.clone(d, "large", d, "copy");
    t.clone(d, "inline", d, "twin");
    t.clone_range(d, "middle", 100, 5000, kOther, "part", 4096);
    for (const char* name : {"a1", "a2", "b1"}) t.put("album", name, noise(600, 8));
  });
}

void change(core::Engine& engine) {
  const char* const d = kDefaultCollection;
  commit(engine, [&](Transaction& t) {
    t.split_collection("album", "a", "shelf");
    t.omap_set(d, "twin", "key", "another");
    t.write(d, "copy", 1000, as_bytes(noise(2000, 9)));
    t.put(d, "young", noise(2000, 10));
    t.remove(d, "small");
  });
  commit(engine, [&](Transaction& t) {
    t.remove_collection("album", Contents::kRemoved);
    t.write(d, "pages", (1 << 20) + 200, as_bytes(noise(100, 11)));
    t.put(d, "packed", noise(5000, 12));
    t.set_quota(kOther, {100, 1'000'000});
  });
}

// --- what the disks hold -------------------------------------------------------------------------

void note_labels_and_roots(DiskImages& images, io::SimSystem& system) {
  for (std::size_t i = 0; i < kImageDisks; ++i) {
    const auto device = system.open_device(disk_name(i), io::OpenMode::kReadOnly);
    HEXAD_ASSERT(device.ok());
    Result<alloc::LabelCopy> label = alloc::read_label(**device);
    Result<std::vector<alloc::Root>> roots = alloc::read_roots({device->get(), kDiskSize});
    HEXAD_ASSERT(label.ok() && roots.ok() && !roots->empty());
    if (i == 0) images.label = label->label;
    if (i == 0 || alloc::is_newer(roots->front(), images.root)) images.root = roots->front();
  }
}

void note_log(DiskImages& images, io::SimSystem& system) {
  std::vector<std::unique_ptr<io::Device>> devices;
  std::vector<kv::LogArea> areas;
  for (const DeviceId id : images.root.log_devices) {
    auto device = system.open_device(disk_name(id), io::OpenMode::kReadOnly);
    HEXAD_ASSERT(device.ok());
    devices.push_back(std::move(device).value());
    areas.push_back(
        {devices.back().get(), images.label.layout.log_offset, images.label.layout.log_size});
  }
  const alloc::LogTrim& trim = images.root.log_trim;
  images.trim = {trim.position, trim.end, trim.crc, trim.epoch, trim.lsn};
  kv::LogScanOptions options;
  options.uuid = images.root.store;
  options.block_size = images.label.layout.block_of_log();
  options.trim = images.trim;
  options.recorded_watermark = images.root.recorded_watermark;
  const Result<kv::LogScan> scan = kv::scan_log(areas, options);
  HEXAD_ASSERT(scan.ok() && kv::check_log_scan(*scan).ok());
  for (std::size_t i = 0; i < scan->blocks.size(); ++i) {
    const Result<kv::LoadedLogBlock> loaded = kv::load_log_block(*scan, i);
    HEXAD_ASSERT(loaded.ok());
    ImageLogBlock& block = images.log.emplace_back();
    block.header = loaded->block.header;
    for (const kv::LogRecord& record : loaded->block.records) {
      block.records.emplace_back(record.bytes);
    }
  }
}

void note_metadata(DiskImages& images, core::Engine& engine) {
  images.shape = engine.shape();
  const Result<core::ReadState> state = engine.reads().read_state();
  HEXAD_ASSERT(state.ok());
  Result<core::MetaView::Cursor> cursor = state->view->cursor();
  HEXAD_ASSERT(cursor.ok() && cursor->seek("").ok());
  while (cursor->valid()) {
    images.metadata.emplace_back(cursor->key(), cursor->value());
    HEXAD_ASSERT(cursor->next().ok());
  }
}

}  // namespace

Status ImageOpener::open(DiskImages& images, Access access, const Use& use) {
  io::SimSystem system(sim_options(stacks_));
  for (std::size_t i = 0; i < images.disks.size(); ++i) {
    if (images.disks[i] == nullptr) continue;
    system.add_disk(disk_name(i), images.disks[i], disk_options());
  }
  const std::unique_ptr<kv::IndexHome> indexes = kv::make_memory_index_home(system.executor());
  Status opened;
  run(system, [&] {
    Result<core::StoreParts> parts =
        core::open_parts(pool(), runtime(access), &system, indexes.get());
    opened = parts.status();
    if (!opened.ok()) return;
    core::Engine engine(std::move(parts).value());
    opened = engine.start();
    if (opened.ok()) use(engine);
  });
  for (std::size_t i = 0; i < images.disks.size(); ++i) {
    if (images.disks[i] != nullptr) images.disks[i] = system.disk(disk_name(i)).snapshot();
  }
  return opened;
}

DiskImages make_images(Left left) {
  DiskImages images;
  for (std::size_t i = 0; i < kImageDisks; ++i) {
    images.disks.push_back(std::make_shared<io::CowImage>(kDiskSize));
  }
  {
    io::SimSystem system(sim_options(nullptr));
    for (std::size_t i = 0; i < kImageDisks; ++i) {
      system.add_disk(disk_name(i), images.disks[i], disk_options());
    }
    const std::unique_ptr<kv::IndexHome> indexes = kv::make_memory_index_home(system.executor());
    run(system, [&] {
      FormatOptions format;
      format.devices = pool().devices;
      format.device_size = kDiskSize;
      format.log_size = kLogSize;
      format.checksum_block = 4_KiB;
      HEXAD_ASSERT(core::format_devices(format, system, indexes.get()).ok());
    });
    for (std::size_t i = 0; i < kImageDisks; ++i) {
      images.disks[i] = system.disk(disk_name(i)).snapshot();
    }
  }
  ImageOpener opener;
  const Status opened = opener.open(images, Access::kReadWrite, [&](core::Engine& engine) {
    fill(engine);
    HEXAD_ASSERT(engine.checkpoint().ok());
    change(engine);
    if (left == Left::kClosed) HEXAD_ASSERT(engine.close().ok());
  });
  HEXAD_ASSERT(opened.ok());
  {
    io::SimSystem system(sim_options(nullptr));
    for (std::size_t i = 0; i < kImageDisks; ++i) {
      system.add_disk(disk_name(i), images.disks[i], disk_options());
    }
    run(system, [&] {
      note_labels_and_roots(images, system);
      note_log(images, system);
    });
  }
  HEXAD_ASSERT(opener
                   .open(images, Access::kReadOnly,
                         [&](core::Engine& engine) { note_metadata(images, engine); })
                   .ok());
  return images;
}

}  // namespace hexad::testing
