// What do a durable put and a get cost, through the whole store, on files of this machine? Time per
// operation at 4 KiB, 64 KiB and 4 MiB, one at a time and with 64 in flight; incompressible data;
// 4+2 over six files of one disk, a log on three of them and in the fast directory. Beside it
// stands the ceiling: one durable write of 4 KiB to a pre-written file of the same disk.
//
// memory_*: the same through a store in memory, the ceiling of the CPU path: what a put and a get
// cost when devices and index answer at once.
//
// cached_*: the same through the read cache, on one and on two threads; time per operation is that
// of all threads together.
//
// cpu_us: processor time of the whole process per operation. raw/user: bytes written to all devices
// per user byte, log and parity included. Files lie in $TEST_TMPDIR or /tmp.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "benchmarks/must.h"
#include "benchmarks/noise.h"
#include "core/hexad.h"
#include "io/rng.h"
#include "io/system.h"
#include "tests/io/temporary.h"
#include "tools/bench/cpu_time.h"

namespace {

using namespace hexad;
using bench::must;
using bench::noise;
using tools::cpu_us;

class TemporaryPool {
 public:
  explicit TemporaryPool(std::uint64_t device_size) {
    FormatOptions options;
    for (int i = 0; i < 6; ++i) {
      options.devices.push_back(directory_.path("device" + std::to_string(i)));
    }
    options.fast_directories = {directory_.path("fast")};
    options.device_size = device_size;
    pool_ = must(Store::format(options));
  }
  const PoolDescription& pool() const { return pool_; }

 private:
  io::testing::TemporaryDirectory directory_;
  PoolDescription pool_;
};

// For all rows that use devices, one after the other: to make one takes longer than most of them.
const PoolDescription& shared_pool() {
  static const TemporaryPool pool(512_MiB);
  return pool.pool();
}

std::uint64_t written(Store& store) {
  std::uint64_t bytes = 0;
  for (const DeviceStatus& device : store.status().devices) bytes += device.bytes_written;
  return bytes;
}

// Names cycle, so that space comes back: enough of them to write over 64 MiB before a repeat.
std::string name_of(std::uint64_t i, std::uint64_t size) {
  return "object" + std::to_string(size) + "-" +
         std::to_string(i % std::max<std::uint64_t>(64, (64_MiB) / size));
}

Transaction put_of(std::uint64_t i, const Bytes& data) {
  Transaction t;
  t.put_borrowed(kDefaultCollection, name_of(i, data.size()), data, Hint::kIncompressible);
  return t;
}

// Objects [0, count), until the index has them. Not again if they are there.
void put_all(Store& store, std::uint64_t count, const Bytes& data) {
  if (store.stat(kDefaultCollection, name_of(count - 1, data.size())).ok()) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    store.submit(put_of(i, data), [](Result<Lsn> lsn) { must(std::move(lsn)); });
  }
  if (!store.checkpoint().ok()) std::abort();  // waits for them
}

void report(benchmark::State& state, Store& store, double cpu_before, std::uint64_t raw_before) {
  const auto operations = static_cast<double>(state.iterations());
  state.counters["cpu_us"] = (cpu_us() - cpu_before) / operations;
  state.counters["raw/user"] = static_cast<double>(written(store) - raw_before) /
                               (operations * static_cast<double>(state.range(0)));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

void put_one_by_one(benchmark::State& state, Store& store) {
  const Bytes data = noise(static_cast<std::uint64_t>(state.range(0)));
  const double cpu = cpu_us();
  const std::uint64_t raw = written(store);
  std::uint64_t i = 0;
  for (auto _ : state) {
    must(store.commit(put_of(i++, data)));
  }
  report(state, store, cpu, raw);
}

void durable_put(benchmark::State& state) {
  Store store = must(Store::open(shared_pool()));
  put_one_by_one(state, store);
}

void memory_put(benchmark::State& state) {
  Store store = must(Store::in_memory());
  put_one_by_one(state, store);
}

void put_64_in_flight(benchmark::State& state, Store& store) {
  const Bytes data = noise(static_cast<std::uint64_t>(state.range(0)));
  std::mutex mutex;
  std::condition_variable changed;
  int in_flight = 0;
  const double cpu = cpu_us();
  const std::uint64_t raw = written(store);
  std::uint64_t i = 0;
  for (auto _ : state) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return in_flight < 64; });
      ++in_flight;
    }
    store.submit(put_of(i++, data), [&](Result<Lsn> lsn) {
      must(std::move(lsn));
      const std::lock_guard<std::mutex> lock(mutex);
      --in_flight;
      changed.notify_one();
    });
  }
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return in_flight == 0; });
  lock.unlock();
  report(state, store, cpu, raw);
}

void durable_put_64_in_flight(benchmark::State& state) {
  Store store = must(Store::open(shared_pool()));
  put_64_in_flight(state, store);
}

void memory_put_64_in_flight(benchmark::State& state) {
  Store store = must(Store::in_memory());
  put_64_in_flight(state, store);
}

// 4 KiB at random inside a few objects of 4 MiB, which small writes have cut up already.
void memory_overwrite(benchmark::State& state) {
  Store store = must(Store::in_memory());
  const auto size = static_cast<std::uint64_t>(state.range(0));
  constexpr std::uint64_t kObject = 4_MiB;
  put_all(store, 4, noise(kObject));
  const Bytes data = noise(size, 2);
  const auto overwrite = [&](std::uint64_t object, std::uint64_t piece) {
    Transaction t;
    t.write(kDefaultCollection, name_of(object, kObject), piece * size, data,
            Hint::kIncompressible);
    must(store.commit(std::move(t)));
  };
  io::Rng rng(4);
  const auto any = [&] { overwrite(rng.below(4), rng.below(kObject / size)); };
  for (std::uint64_t i = 0; i < kObject / size; ++i) any();
  const double cpu = cpu_us();
  const std::uint64_t raw = written(store);
  for (auto _ : state) any();
  report(state, store, cpu, raw);
}

void get_from_devices(benchmark::State& state, Store& store) {
  const auto size = static_cast<std::uint64_t>(state.range(0));
  const std::uint64_t objects = std::max<std::uint64_t>(64, (64_MiB) / size);
  const Bytes data = noise(size);
  put_all(store, objects, data);
  Bytes into(size);
  const double cpu = cpu_us();
  const std::uint64_t raw = written(store);
  io::Rng rng(2);
  for (auto _ : state) {
    if (must(store.read(kDefaultCollection, name_of(rng.below(objects), size), 0, into)) != size) {
      std::abort();
    }
  }
  if (into != data) std::abort();  // checked once
  report(state, store, cpu, raw);
}

RuntimeOptions without_cache() {
  RuntimeOptions options;
  options.cache_size = 0;  // what a get from the devices costs
  return options;
}

void get(benchmark::State& state) {
  Store store = must(Store::open(shared_pool(), without_cache()));
  get_from_devices(state, store);
}

void memory_get(benchmark::State& state) {
  Store store = must(Store::in_memory({}, without_cache()));
  get_from_devices(state, store);
}

// Objects that were read before, 16 MiB of them: what a get and a stat cost when neither the index
// nor a device is asked. One store, all threads.
constexpr std::uint64_t kCachedBytes = 16_MiB;
std::optional<Store> shared_store;

void open_shared(const benchmark::State& state) {
  shared_store.emplace(must(Store::open(shared_pool())));
  const auto size = static_cast<std::uint64_t>(state.range(0));
  const Bytes data = noise(size);
  put_all(*shared_store, kCachedBytes / size, data);
  for (std::uint64_t i = 0; i < kCachedBytes / size; ++i) {
    if (must(shared_store->get(kDefaultCollection, name_of(i, size))) != data) std::abort();
  }
}

std::uint64_t counted(std::string_view name) {
  for (const Counter& counter : shared_store->counters()) {
    if (counter.name == name) return counter.since_open;
  }
  std::abort();
}

void close_shared(benchmark::State& state) {
  state.counters["served_by_cache"] = static_cast<double>(counted("cache_reads"));
  shared_store.reset();
}

std::vector<std::string> names_of(const benchmark::State& state) {
  const auto size = static_cast<std::uint64_t>(state.range(0));
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < kCachedBytes / size; ++i) names.push_back(name_of(i, size));
  return names;
}

// `ask`, of one object after the other, by all threads.
template <typename Ask>
void ask_cached(benchmark::State& state, const Ask& ask) {
  if (state.thread_index() == 0) open_shared(state);
  const std::vector<std::string> names = names_of(state);
  io::Rng rng(static_cast<std::uint64_t>(state.thread_index()));
  for (auto _ : state) ask(names[rng.below(names.size())]);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
  if (state.thread_index() == 0) close_shared(state);
}

void cached_get(benchmark::State& state) {
  ask_cached(state, [&](const std::string& name) {
    const Result<Bytes> bytes = shared_store->get(kDefaultCollection, name);
    if (!bytes.ok() || bytes->size() != static_cast<std::uint64_t>(state.range(0))) std::abort();
    benchmark::DoNotOptimize(bytes->data());
  });
}

void cached_stat(benchmark::State& state) {
  ask_cached(state, [&](const std::string& name) {
    const Result<ObjectStat> stat = shared_store->stat(kDefaultCollection, name);
    if (!stat.ok() || stat->size != static_cast<std::uint64_t>(state.range(0))) std::abort();
  });
}

void ceiling_one_durable_write(benchmark::State& state) {
  const auto system = must(io::make_real_system());
  const std::string path = shared_pool().devices[0] + ".ceiling";
  const auto device = must(system->create_device(path, 64_MiB));
  const AlignedBuffer block = AlignedBuffer::zeroed(static_cast<std::size_t>(state.range(0)));
  for (std::uint64_t at = 0; at < 64_MiB; at += block.size()) {
    if (!device->write(at, block).ok()) std::abort();
  }
  if (!device->flush().ok()) std::abort();
  io::Rng rng(3);
  for (auto _ : state) {
    const std::uint64_t at = rng.below(64_MiB / block.size()) * block.size();
    if (!device->write(at, block, io::WriteMode::kDurable).ok()) std::abort();
  }
  std::filesystem::remove(path);
}

BENCHMARK(ceiling_one_durable_write)->Arg(4 << 10)->Arg(64 << 10)->UseRealTime();
BENCHMARK(durable_put)->Arg(4 << 10)->Arg(64 << 10)->Arg(4 << 20)->UseRealTime();
BENCHMARK(durable_put_64_in_flight)->Arg(4 << 10)->Arg(64 << 10)->Arg(4 << 20)->UseRealTime();
BENCHMARK(memory_put)->Arg(4 << 10)->Arg(64 << 10)->UseRealTime();
BENCHMARK(memory_put_64_in_flight)->Arg(4 << 10)->Arg(64 << 10)->UseRealTime();
BENCHMARK(memory_overwrite)->Arg(4 << 10)->UseRealTime();
BENCHMARK(memory_get)->Arg(4 << 10)->Arg(64 << 10)->UseRealTime();
BENCHMARK(cached_get)->Arg(4 << 10)->Arg(64 << 10)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(cached_stat)->Arg(4 << 10)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(get)->Arg(4 << 10)->Arg(64 << 10)->Arg(4 << 20)->UseRealTime();

}  // namespace
