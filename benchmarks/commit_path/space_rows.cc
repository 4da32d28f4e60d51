// What objects take at rest, and what was written to get them there.
#include <fmt/format.h>

#include "base/units.h"
#include "benchmarks/commit_path/bench_state.h"
#include "benchmarks/commit_path/must.h"

namespace hexad::bench {

namespace {

constexpr double kParityFactor = 6.0 / 4.0;

void space(Bench& bench, std::uint64_t size, double bar) {
  const std::string id = fmt::format("space_{}k", size / 1_KiB);
  if (!bench.wants(id)) return;
  // Counts, no timing: once is enough.
  bench.add(
      {id, fmt::format("bytes on data devices per user byte at rest, {} KiB objects", size / 1_KiB),
       "", Bar::value_at_most(bar)},
      1, [&] {
        BenchPool pool(bench.plan().directory / "space", bench.plan().device_size, Age::kFresh);
        const std::uint64_t count = bench.plan().space_bytes / size;
        const Bytes data = noise(size);
        const Measured measured = submit_for(
            pool.store(), {3600, 2, 64, count}, [&](Transaction& t, std::uint64_t index) {
              t.put_borrowed(kDefaultCollection, object_name("rest", index), data,
                             Hint::kIncompressible);
            });
        must(pool.store().checkpoint());
        const SpaceUsage usage = must(pool.store().space());
        if (usage.user_bytes != count * size) die("the store counts other bytes than were put");
        Sample sample;
        const auto user = static_cast<double>(usage.user_bytes);
        sample.value = static_cast<double>(usage.allocated) * kParityFactor / user;
        sample.cpu_us = measured.cpu_us / static_cast<double>(count);
        sample.counted.emplace_back("units in use/user", static_cast<double>(usage.used) / user);
        const Counts total = counts(pool.store());
        for (const char* cause : {"device_user_bytes", "device_parity_bytes", "write_pad_bytes",
                                  "device_log_bytes", "device_super_bytes", "index_bytes"}) {
          sample.counted.emplace_back(std::string(cause) + "/user",
                                      static_cast<double>(total.of(cause)) / user);
        }
        return sample;
      });
}

}  // namespace

void measure_space(Bench& bench) {
  space(bench, 64_KiB, 1.01 * kParityFactor);
  space(bench, 4_KiB, 1.06 * kParityFactor);
  space(bench, 1_KiB, 1.75);
}

}  // namespace hexad::bench
