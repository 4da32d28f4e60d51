// The rows of a comparison with the bare disk: samples in, medians and spreads out, as a markdown
// table and as JSON. Knows nothing of stores.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hexad::bench {

// One repetition of a row.
struct Sample {
  double value = 0;              // in the row's unit
  std::optional<double> fio;     // of the same minute, in the row's unit
  std::optional<double> cpu_us;  // processor time of the process, per operation
  std::optional<double> p50_us;  // latencies of transactions
  std::optional<double> p95_us;
  std::optional<double> p99_us;
  // Other things counted, by name, one column each. A sample may lack some: those of commits, where
  // it made none.
  std::vector<std::pair<std::string, double>> counted;
};

// What architecture.md section 7 asks for.
struct Bar {
  enum class Of { kNone, kValue, kRatio } of = Of::kNone;
  enum class Side { kAtMost, kAtLeast } side = Side::kAtMost;
  double limit = 0;

  static Bar none() { return {}; }
  static Bar value_at_most(double limit) { return {Of::kValue, Side::kAtMost, limit}; }
  static Bar value_at_least(double limit) { return {Of::kValue, Side::kAtLeast, limit}; }
  static Bar ratio_at_most(double limit) { return {Of::kRatio, Side::kAtMost, limit}; }
  static Bar ratio_at_least(double limit) { return {Of::kRatio, Side::kAtLeast, limit}; }
};

struct Row {
  std::string id;    // one word, for programs
  std::string what;  // for people
  std::string unit;
  Bar bar;
  std::string fio{};     // what fio did beside it; empty: nothing
  double fio_scale = 1;  // the ratio is value / (fio x this)
  std::vector<Sample> samples{};
};

double median(
    std::vector<double> values);  // not empty; of an even number, the mean of the middle two

struct Summary {
  double median = 0;
  double least = 0;
  double most = 0;
};
Summary summarise(const std::vector<double>& values);  // not empty

// The ratios of the repetitions, each with fio of its own minute. Empty without fio.
std::vector<double> ratios(const Row& row);
// "met", "missed"; "not judged" when fio is missing; "" without a bar.
std::string judge(const Row& row);

// The settings the figures hold under, in order.
using Settings = std::vector<std::pair<std::string, std::string>>;

// Two tables: the figures with their bars, and what they took.
std::string to_markdown(const Settings& settings, const std::vector<Row>& rows);
std::string to_json(const Settings& settings, const std::vector<Row>& rows);

}  // namespace hexad::bench
