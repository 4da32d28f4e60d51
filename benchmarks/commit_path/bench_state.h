// What the rows have in common: the plan, fio's file, and how a load becomes a sample.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/commit_path/load.h"
#include "benchmarks/commit_path/pool.h"
#include "benchmarks/commit_path/report.h"
#include "benchmarks/commit_path/rows.h"

namespace hexad::bench {

// What counts as one operation of a load.
struct Operations {
  double per_transaction = 1;
  std::uint64_t user_bytes = 0;  // of one operation; 0: raw/user is not said
};

class Bench {
 public:
  explicit Bench(const Plan& plan);

  const Plan& plan() const { return plan_; }
  // The written file that fio writes to.
  const std::string& fio_file() const { return fio_file_; }
  std::vector<Row>& rows() { return rows_; }

  // Whether the row is to be measured.
  bool wants(const std::string& id) const;
  // Measures the row `plan.repetitions` times, `hexad` and `fio` in turn, and keeps it. `fio` is
  // not asked when there is none; it may be empty.
  void add(Row row, const std::function<Sample()>& hexad, const std::function<double()>& fio = {});
  // The same with so many repetitions.
  void add(Row row, unsigned repetitions, const std::function<Sample()>& hexad,
           const std::function<double()>& fio = {});

 private:
  const Plan& plan_;
  std::string fio_file_;
  std::vector<Row> rows_;
};

double thousands_per_second(const Measured& measured, double operations_per_transaction);
// A sample without its value. Latencies are of transactions.
Sample sample_of(const Measured& measured, const Operations& operations);
// The sample with it, in the unit of its row.
Sample with_value(Sample sample, double value);

// The parts of measure(), in its order.
void measure_puts(Bench& bench, BenchPool& pool);
void measure_overwrites(Bench& bench, BenchPool& pool);
void measure_deletes(Bench& bench, BenchPool& pool);
void measure_cached(Bench& bench, BenchPool& pool);
// Leaves the pool open with log durability fast.
void measure_fast_log(Bench& bench, BenchPool& pool);
// Leaves the pool open without a cache.
void measure_cold_gets(Bench& bench, BenchPool& pool);
// On pools of their own, made and removed one after another.
void measure_fresh(Bench& bench);
void measure_space(Bench& bench);

}  // namespace hexad::bench
