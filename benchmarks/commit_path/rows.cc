#include "benchmarks/commit_path/rows.h"

#include "benchmarks/commit_path/bench_state.h"

namespace hexad::bench {

std::vector<Row> measure(const Plan& plan) {
  Bench bench(plan);
  {
    BenchPool pool(plan.directory / "pool", plan.device_size, Age::kWarm);
    measure_puts(bench, pool);
    measure_overwrites(bench, pool);
    measure_deletes(bench, pool);
    measure_cached(bench, pool);
    measure_fast_log(bench, pool);
    measure_cold_gets(bench, pool);
  }
  measure_fresh(bench);
  measure_space(bench);
  return bench.rows();
}

}  // namespace hexad::bench
