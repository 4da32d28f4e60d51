// Gets, cold and cached, alone and among puts.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "benchmarks/commit_path/bench_state.h"
#include "benchmarks/commit_path/fio.h"
#include "benchmarks/commit_path/must.h"
#include "io/rng.h"

namespace hexad::bench {

namespace {

constexpr unsigned kInFlight = 16;
constexpr std::uint64_t kCachedObjects = 4096;  // of 4 KiB
constexpr unsigned kCachedThreads = 2;

// A generator per thread, seeded by its number.
std::vector<io::Rng> generators(unsigned threads) {
  std::vector<io::Rng> result;
  for (unsigned i = 0; i < threads; ++i) result.emplace_back(100 + i);
  return result;
}

std::vector<std::string> names_of(const std::string& family, std::uint64_t count) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < count; ++i) names.push_back(object_name(family, i));
  return names;
}

void read_once(Store& store, const std::vector<std::string>& names, const Bytes& expected) {
  for (const std::string& name : names) {
    if (must(store.get(kDefaultCollection, name)) != expected) die(name + " has other bytes");
  }
}

void cold(Bench& bench, BenchPool& pool, std::uint64_t size, double bar) {
  const std::string word = fmt::format("{}k", size / 1_KiB);
  const std::string id = "get_" + word + "_cold";
  if (!bench.wants(id)) return;
  const std::uint64_t objects = std::min<std::uint64_t>(pool.live_limit() / size, 200'000);
  put_all(pool.store(), id, objects, size);
  const std::vector<std::string> names = names_of(id, objects);
  const Bytes expected = noise(size);
  bench.add(
      {id, fmt::format("{} KiB random get, cold, 16 in flight", size / 1_KiB), "k/s",
       Bar::ratio_at_least(bar), word + " randread of the same files, 16 in flight"},
      [&] {
        std::vector<io::Rng> rng = generators(kInFlight);
        std::vector<Bytes> into(kInFlight, Bytes(size));
        const Measured measured =
            call_for(pool.store(), {bench.plan().seconds, kInFlight, kInFlight},
                     [&](unsigned thread, std::uint64_t) {
                       const std::string& name = names[rng[thread].below(names.size())];
                       const std::uint64_t got =
                           must(pool.store().read(kDefaultCollection, name, 0, into[thread]));
                       if (got != size) die(name + " is too short");
                     });
        if (into[0] != expected) die("a get found other bytes");
        Sample sample = with_value(sample_of(measured, {1, 0}), thousands_per_second(measured, 1));
        sample.counted.emplace_back("reads from the cache",
                                    static_cast<double>(measured.counts.of("cache_reads")));
        return sample;
      },
      [&] {
        return run_fio(pool.device_files(), bench.plan().seconds,
                       {"ioengine=io_uring", "iodepth=16", "rw=randread", "readonly", "bs=" + word})
                   .operations_per_second /
               1000;
      });
  remove_all(pool.store(), id, objects);
}

// Two threads ask for objects of the cache as fast as they can. Their latency is not measured: a
// look at the clock would double it.
template <typename Ask>
Measured ask_cached(Bench& bench, BenchPool& pool, const std::vector<std::string>& names,
                    const Ask& ask) {
  std::vector<io::Rng> rng = generators(kCachedThreads);
  return call_for(
      pool.store(), {bench.plan().seconds, kCachedThreads, kCachedThreads},
      [&](unsigned thread, std::uint64_t) { ask(names[rng[thread].below(names.size())]); },
      Latency::kNotMeasured);
}

void cached_get_and_stat(Bench& bench, BenchPool& pool, const std::vector<std::string>& names) {
  if (bench.wants("get_4k_cached")) {
    bench.add(
        {"get_4k_cached", "cached 4 KiB get, two threads", "ns", Bar::value_at_most(300)}, [&] {
          const Measured measured = ask_cached(bench, pool, names, [&](const std::string& name) {
            const Result<Bytes> bytes = pool.store().get(kDefaultCollection, name);
            if (!bytes.ok() || bytes->size() != 4_KiB) die("cannot get " + name);
          });
          return with_value(sample_of(measured, {1, 0}),
                            kCachedThreads * 1e9 / measured.per_second());
        });
  }
  if (bench.wants("stat_cached")) {
    bench.add(
        {"stat_cached", "cached stat, two threads together", "M/s", Bar::value_at_least(3)}, [&] {
          const Measured measured = ask_cached(bench, pool, names, [&](const std::string& name) {
            const Result<ObjectStat> stat = pool.store().stat(kDefaultCollection, name);
            if (!stat.ok() || stat->size != 4_KiB) die("cannot stat " + name);
          });
          return with_value(sample_of(measured, {1, 0}), measured.per_second() / 1e6);
        });
  }
}

enum class WritesGo : std::uint8_t { kElsewhere, kToWhatIsRead };

// Of four operations of a thread three are gets, at random. Each thread waits for each of its own.
void mixed(Bench& bench, BenchPool& pool, const std::vector<std::string>& names, WritesGo writes) {
  const bool same = writes == WritesGo::kToWhatIsRead;
  const std::string id = same ? "mixed_same" : "mixed";
  if (!bench.wants(id)) return;
  const Bytes data = noise(4_KiB);
  bench.add(
      {id,
       std::string("mixed 75/25 4 KiB, 16 in flight, ") +
           (same ? "puts to the objects that are read" : "reads warm, puts to other objects"),
       "k/s", same ? Bar::none() : Bar::value_at_least(70)},
      [&] {
        must(pool.store().checkpoint());
        read_once(pool.store(), names, data);
        std::vector<io::Rng> rng = generators(kInFlight);
        const Measured measured = call_for(
            pool.store(), {bench.plan().seconds, kInFlight, kInFlight},
            [&](unsigned thread, std::uint64_t) {
              const std::uint64_t index = rng[thread].below(names.size());
              if (rng[thread].below(4) > 0) {
                const Result<Bytes> bytes = pool.store().get(kDefaultCollection, names[index]);
                if (!bytes.ok() || bytes->size() != 4_KiB) die("cannot get " + names[index]);
                return;
              }
              Transaction t;
              t.put_borrowed(kDefaultCollection, same ? names[index] : object_name("other", index),
                             data, Hint::kIncompressible);
              must(pool.store().commit(std::move(t)).status());
            });
        Sample sample = with_value(sample_of(measured, {1, 0}), thousands_per_second(measured, 1));
        const auto reads = static_cast<double>(measured.counts.of("reads"));
        const auto cached = static_cast<double>(measured.counts.of("cache_reads"));
        sample.counted.emplace_back("share of gets answered by the cache", cached / reads);
        return sample;
      });
  if (!same) remove_all(pool.store(), "other", names.size());
}

}  // namespace

void measure_cached(Bench& bench, BenchPool& pool) {
  put_all(pool.store(), "cached", kCachedObjects, 4_KiB);
  const std::vector<std::string> names = names_of("cached", kCachedObjects);
  read_once(pool.store(), names, noise(4_KiB));
  cached_get_and_stat(bench, pool, names);
  mixed(bench, pool, names, WritesGo::kElsewhere);
  mixed(bench, pool, names, WritesGo::kToWhatIsRead);
  remove_all(pool.store(), "cached", kCachedObjects);
}

void measure_cold_gets(Bench& bench, BenchPool& pool) {
  RuntimeOptions options;
  options.cache_size = 0;
  pool.reopen(options);
  cold(bench, pool, 64_KiB, 0.9);
  cold(bench, pool, 4_KiB, 0.85);
}

}  // namespace hexad::bench
