#include "benchmarks/commit_path/bench_state.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "benchmarks/commit_path/cost.h"

namespace hexad::bench {

Bench::Bench(const Plan& plan) : plan_(plan), fio_file_((plan.directory / "fio").string()) {
  if (plan.fio) write_file(fio_file_, plan.device_size);
}

bool Bench::wants(const std::string& id) const { return plan_.only.empty() || plan_.only == id; }

void Bench::add(Row row, const std::function<Sample()>& hexad, const std::function<double()>& fio) {
  add(std::move(row), plan_.repetitions, hexad, fio);
}

void Bench::add(Row row, unsigned repetitions, const std::function<Sample()>& hexad,
                const std::function<double()>& fio) {
  for (unsigned i = 0; i < repetitions; ++i) {
    Sample sample = hexad();
    if (fio && plan_.fio) sample.fio = fio();
    std::fprintf(stderr, "%-24s %u of %u: %.4g %s, %.3g us CPU", row.id.c_str(), i + 1, repetitions,
                 sample.value, row.unit.c_str(), sample.cpu_us.value_or(0));
    if (sample.fio.has_value()) std::fprintf(stderr, "; fio %.4g", *sample.fio);
    std::fprintf(stderr, "\n");
    row.samples.push_back(std::move(sample));
  }
  rows_.push_back(std::move(row));
}

double thousands_per_second(const Measured& measured, double operations_per_transaction) {
  return measured.per_second() * operations_per_transaction / 1000;
}

Sample sample_of(const Measured& measured, const Operations& operations) {
  const double count = static_cast<double>(measured.transactions) * operations.per_transaction;
  Sample sample = cost_of(measured, count);
  const Counts& counted = measured.counts;
  const auto commits = static_cast<double>(counted.of("txc_count"));
  if (commits > 0) {
    const auto per_commit = [&](const char* name) {
      return static_cast<double>(counted.of(name)) / commits;
    };
    sample.counted.emplace_back("rounds/commit", per_commit("commit_rounds"));
    sample.counted.emplace_back("flushes/commit", per_commit("commit_flushes"));
    sample.counted.emplace_back("groups/commit", per_commit("commit_groups"));
  }
  if (operations.user_bytes > 0) {
    const double user = count * static_cast<double>(operations.user_bytes);
    sample.counted.emplace_back("raw/user", static_cast<double>(counted.bytes_written) / user);
  }
  for (const auto& [name, value] : measured.kernel) {
    sample.counted.emplace_back(name + "/op", value / count);
  }
  // Of what was small enough: the others had a place in a stripe from the beginning.
  if (const auto in_log = static_cast<double>(counted.of("log_first_blobs")); in_log > 0) {
    sample.counted.emplace_back("in the log/op", in_log / count);
  }
  sample.counted.emplace_back("bytes read/op", static_cast<double>(counted.bytes_read) / count);
  sample.counted.emplace_back("checkpoints", static_cast<double>(counted.of("checkpoints")));
  return sample;
}

Sample with_value(Sample sample, double value) {
  sample.value = value;
  return sample;
}

}  // namespace hexad::bench
