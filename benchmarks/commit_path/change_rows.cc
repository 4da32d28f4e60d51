// Changes of what is there: small overwrites in large objects, deletes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/units.h"
#include "benchmarks/commit_path/bench_state.h"
#include "benchmarks/commit_path/must.h"
#include "io/rng.h"
#include "tools/bench/cpu_time.h"

namespace hexad::bench {

namespace {

constexpr std::uint64_t kBatch = 64;
constexpr const char* kLarge = "large";

using Clock = std::chrono::steady_clock;

void overwrite(Bench& bench, BenchPool& pool, std::uint64_t objects, unsigned in_flight,
               double bar) {
  const std::string id = fmt::format("overwrite_4k_{}", in_flight);
  if (!bench.wants(id)) return;
  const Bytes data = noise(4_KiB, 7);
  io::Rng rng(in_flight);  // one submitter: one thread draws
  bench.add({id, fmt::format("4 KiB overwrite inside 4 MiB objects, {} in flight", in_flight),
             "k/s", Bar::value_at_least(bar)},
            [&] {
              must(pool.store().checkpoint());
              const Measured measured = submit_for(
                  pool.store(), {bench.plan().seconds, 1, in_flight},
                  [&](Transaction& t, std::uint64_t) {
                    const std::string name = object_name(kLarge, rng.below(objects));
                    const std::uint64_t offset = rng.below(4_MiB / 4_KiB) * 4_KiB;
                    t.write(kDefaultCollection, name, offset, data, Hint::kIncompressible);
                  });
              return with_value(sample_of(measured, {1, 4_KiB}), thousands_per_second(measured, 1));
            });
}

void delete_batches(Bench& bench, BenchPool& pool) {
  // As many as the bar asks for in the time of a run, as far as there is room.
  const auto wanted = static_cast<std::uint64_t>(200'000 * std::min(bench.plan().seconds, 2.0));
  const std::uint64_t objects =
      std::max(kBatch, std::min(pool.live_limit() / 4_KiB, wanted) / kBatch * kBatch);
  bench.add(
      {"delete_batch", "delete of 4 KiB objects in transactions of 64, 16 in flight", "k/s",
       Bar::value_at_least(200)},
      [&] {
        put_all(pool.store(), "doomed", objects, 4_KiB);
        // Long enough for all of them; the limit ends it.
        const Measured measured =
            submit_for(pool.store(), {3600, 2, 16, objects / kBatch},
                       [&](Transaction& t, std::uint64_t index) {
                         for (std::uint64_t i = 0; i < kBatch; ++i) {
                           t.remove(kDefaultCollection, object_name("doomed", index * kBatch + i));
                         }
                       });
        must(pool.store().checkpoint());
        return with_value(sample_of(measured, {kBatch, 0}), thousands_per_second(measured, kBatch));
      });
}

// How long one transaction takes that removes a collection with a million objects, how long a page
// of another one that takes its name, and until the background has taken everything back.
void delete_collection(Bench& bench, BenchPool& pool) {
  constexpr const char* kAlbum = "album";
  const auto objects = static_cast<std::uint64_t>(200'000 * std::min(bench.plan().seconds, 5.0));
  const auto ms_since = [](Clock::time_point began) {
    return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
  };
  const auto commit = [&](const std::function<void(Transaction&)>& build) {
    Transaction t;
    build(t);
    must(pool.store().commit(std::move(t)).status());
  };
  bench.add({"delete_collection",
             fmt::format("removal of a collection with {} objects of 100 bytes", objects), "ms",
             Bar::value_at_most(10)},
            1, [&] {
              commit([&](Transaction& t) { t.create_collection(kAlbum); });
              const Bytes data = noise(100);
              submit_for(pool.store(), {3600, 2, 16, objects / kBatch},
                         [&](Transaction& t, std::uint64_t index) {
                           for (std::uint64_t i = 0; i < kBatch; ++i) {
                             t.put_borrowed(kAlbum, object_name("n", index * kBatch + i), data,
                                            Hint::kIncompressible);
                           }
                         });
              must(pool.store().checkpoint());
              Sample sample;
              const double cpu_before = tools::cpu_us();
              const Clock::time_point began = Clock::now();
              commit([&](Transaction& t) {
                t.remove_collection(kAlbum, Contents::kRemoved);
                t.create_collection(kAlbum);
                t.create(kAlbum, "new");
              });
              sample.value = ms_since(began);
              sample.cpu_us = tools::cpu_us() - cpu_before;
              const Clock::time_point listed = Clock::now();
              const Result<ListPage> page = pool.store().list(kAlbum);
              must(page.status());
              sample.counted.emplace_back("ms of a page right after", ms_since(listed));
              if (page->entries.size() != 1) die("the new collection shows objects of the old one");
              while (pool.store().space()->objects != 1) {
                std::this_thread::sleep_for(std::chrono::milliseconds(250));
              }
              sample.counted.emplace_back("s until all is taken back", ms_since(began) / 1000);
              commit([&](Transaction& t) { t.remove_collection(kAlbum, Contents::kRemoved); });
              must(pool.store().checkpoint());
              return sample;
            });
}

}  // namespace

void measure_overwrites(Bench& bench, BenchPool& pool) {
  if (!bench.wants("overwrite_4k_1") && !bench.wants("overwrite_4k_32")) return;
  // Half of what may live: each overwritten block takes room of its own until its page is
  // rewritten.
  const std::uint64_t objects = std::clamp<std::uint64_t>(pool.live_limit() / 2 / 4_MiB, 1, 64);
  put_all(pool.store(), kLarge, objects, 4_MiB);
  overwrite(bench, pool, objects, 1, 7);
  overwrite(bench, pool, objects, 32, 60);
  remove_all(pool.store(), kLarge, objects);
}

void measure_deletes(Bench& bench, BenchPool& pool) {
  if (bench.wants("delete_batch")) delete_batches(bench, pool);
  if (bench.wants("delete_collection")) delete_collection(bench, pool);
}

}  // namespace hexad::bench
