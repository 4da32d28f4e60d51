#include "benchmarks/tiers/tier_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/units.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/noise.h"
#include "core/engine/engine.h"
#include "core/opening/opening.h"
#include "core/opening/pool_options.h"

namespace hexad::bench {

namespace {

constexpr std::uint64_t kTogether = 1000;  // objects of a transaction that fills
constexpr std::uint64_t kMemtable = 16_MiB;

void sleep_a_bit() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

// The index has been tried, and did not fit.
bool was_given_up(const StoreStatus& status) {
  return std::any_of(status.jobs.begin(), status.jobs.end(), [](const JobStatus& job) {
    return job.name == "index" && !job.problem.empty();
  });
}

std::uint64_t of(Store& store, std::string_view name) {
  for (const Counter& counter : store.counters()) {
    if (counter.name == name) return counter.since_open;
  }
  die(fmt::format("there is no counter '{}'", name));
}

// Nothing merges any more, for a while at least.
void wait_for_merges(Store& store) {
  std::uint64_t before = ~std::uint64_t{0};
  for (;;) {
    const std::uint64_t now = of(store, "runs_merged");
    if (now == before) return;
    before = now;
    std::this_thread::sleep_for(std::chrono::seconds(1));
    must(store.checkpoint());  // which takes in what was merged
  }
}

}  // namespace

std::string tier_object_name(std::uint64_t index) {
  return fmt::format("o/{:016x}", index * 0x9e3779b97f4a7c15u);
}

std::uint64_t device_reads(Store& store) { return of(store, "run_device_reads"); }

TierPool::TierPool(const TierPlace& place) : place_(place), system_(must(io::make_real_system())) {
  std::filesystem::create_directories(place.slow);
  FormatOptions format;
  for (int i = 0; i < 6; ++i) format.devices.push_back(place.slow / fmt::format("device{}", i));
  format.device_size = std::max<std::uint64_t>(256_MiB, place.objects * 800 / 1_MiB * 1_MiB);
  format.log_size = 16_MiB;
  format.fast_directories = {place.fast.string()};
  pool_ = must(Store::format(format, system_.get()));
  fill();
}

TierPool::~TierPool() { close(); }

void TierPool::close() {
  if (store_.has_value()) must(store_->close());
  store_.reset();
  home_.reset();
}

Store& TierPool::open(const TierRoom& room, Memory memory) {
  close();
  home_ = make_tier_home(system_->executor(), room);
  must(home_->remove(core::index_directory(pool_.fast_directories)));
  RuntimeOptions options;
  options.memtable_size = kMemtable;
  options.cache_size = 0;
  core::StoreParts parts = must(core::open_parts(pool_, options, system_.get(), home_.get()));
  if (memory == Memory::kLittle) parts.cache->keep_less_of_runs(place_.memory);
  metadata_bytes_ = 0;
  for (const auto& run : parts.index->runs()->runs()) metadata_bytes_ += run->info().bytes;
  auto engine = std::make_unique<core::Engine>(std::move(parts));
  must(engine->start());
  store_.emplace(std::move(engine));
  for (;; sleep_a_bit()) {
    const StoreStatus status = store_->status();
    if (status.metadata_on != "runs" || was_given_up(status)) break;
  }
  return *store_;
}

void TierPool::fill() {
  const Bytes data = noise(1_MiB);
  Store& store = open(TierRoom::none());
  for (std::uint64_t next = 0; next < place_.objects;) {
    Transaction t;
    for (const std::uint64_t end = std::min(place_.objects, next + kTogether); next < end; ++next) {
      t.put(kDefaultCollection, tier_object_name(next),
            ByteView(data).subspan(next * 97 % (data.size() - kTierObjectBytes), kTierObjectBytes));
    }
    must(store.commit(std::move(t)));
  }
  must(store.checkpoint());
  wait_for_merges(store);
}

}  // namespace hexad::bench
