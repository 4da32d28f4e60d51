#include "benchmarks/commit_path/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace hexad::bench {

namespace {

// Three significant digits.
std::string number(double value) {
  const double size = std::fabs(value);
  if (size == 0) return "0";
  if (size >= 100) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  if (size >= 0.1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string spread(const std::vector<double>& values) {
  if (values.size() < 2) return "";
  const Summary summary = summarise(values);
  return fmt::format(" ({}..{})", number(summary.least), number(summary.most));
}

std::vector<double> values_of(const Row& row) {
  std::vector<double> values;
  for (const Sample& sample : row.samples) values.push_back(sample.value);
  return values;
}

std::vector<double> fio_of(const Row& row) {
  std::vector<double> values;
  for (const Sample& sample : row.samples) {
    if (sample.fio.has_value()) values.push_back(*sample.fio);
  }
  return values;
}

std::string bar_text(const Bar& bar) {
  if (bar.of == Bar::Of::kNone) return "";
  const char* side = bar.side == Bar::Side::kAtMost ? "<=" : ">=";
  return fmt::format("{} {}{}", side, number(bar.limit), bar.of == Bar::Of::kRatio ? " x" : "");
}

template <typename Member>
std::optional<double> median_of(const Row& row, Member member) {
  std::vector<double> values;
  for (const Sample& sample : row.samples) {
    if ((sample.*member).has_value()) values.push_back(*(sample.*member));
  }
  if (values.empty()) return std::nullopt;
  return median(std::move(values));
}

// The medians, by name, in the order in which the samples have them.
std::vector<std::pair<std::string, double>> counted_of(const Row& row) {
  std::vector<std::pair<std::string, std::vector<double>>> columns;
  for (const Sample& sample : row.samples) {
    for (const auto& [name, value] : sample.counted) {
      const auto is_it = [&name = name](const auto& column) { return column.first == name; };
      auto at = std::find_if(columns.begin(), columns.end(), is_it);
      if (at == columns.end()) at = columns.insert(at, {name, {}});
      at->second.push_back(value);
    }
  }
  std::vector<std::pair<std::string, double>> result;
  for (auto& [name, values] : columns) result.emplace_back(name, median(std::move(values)));
  return result;
}

std::string figures(const std::vector<Row>& rows) {
  std::string text =
      "| | hexad | unit | fio beside it | ratio | bar | |\n|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    const std::vector<double> values = values_of(row);
    const std::vector<double> fio = fio_of(row);
    const std::vector<double> ratio = ratios(row);
    std::string beside;
    if (!row.fio.empty()) {
      beside = fio.empty() ? "no fio" : number(median(fio)) + spread(fio) + ": " + row.fio;
      if (!fio.empty() && row.fio_scale != 1)
        beside += fmt::format(", x {}", number(row.fio_scale));
    }
    text += fmt::format("| {} | {}{} | {} | {} | {} | {} | {} |\n", row.what,
                        number(median(values)), spread(values), row.unit, beside,
                        ratio.empty() ? "" : number(median(ratio)) + spread(ratio),
                        bar_text(row.bar), judge(row));
  }
  return text;
}

std::string costs(const std::vector<Row>& rows) {
  std::string text = "| | CPU per op, us | p50 / p95 / p99, us | counted |\n|---|---|---|---|\n";
  for (const Row& row : rows) {
    std::string latency;
    if (const auto p50 = median_of(row, &Sample::p50_us)) {
      latency = fmt::format("{} / {} / {}", number(*p50), number(*median_of(row, &Sample::p95_us)),
                            number(*median_of(row, &Sample::p99_us)));
    }
    std::string counted;
    for (const auto& [name, value] : counted_of(row)) {
      counted += (counted.empty() ? "" : ", ") + name + " " + number(value);
    }
    const auto cpu = median_of(row, &Sample::cpu_us);
    text +=
        fmt::format("| {} | {} | {} | {} |\n", row.what, cpu ? number(*cpu) : "", latency, counted);
  }
  return text;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Summary summarise(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {median(values), *least, *most};
}

std::vector<double> ratios(const Row& row) {
  std::vector<double> result;
  for (const Sample& sample : row.samples) {
    if (sample.fio.has_value()) result.push_back(sample.value / (*sample.fio * row.fio_scale));
  }
  return result;
}

std::string judge(const Row& row) {
  if (row.bar.of == Bar::Of::kNone) return "";
  const std::vector<double> values = row.bar.of == Bar::Of::kRatio ? ratios(row) : values_of(row);
  if (values.empty()) return "not judged";
  const double value = median(values);
  const bool met =
      row.bar.side == Bar::Side::kAtMost ? value <= row.bar.limit : value >= row.bar.limit;
  return met ? "met" : "missed";
}

std::string to_markdown(const Settings& settings, const std::vector<Row>& rows) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += (text.empty() ? "" : "; ") + name + ": " + value;
  }
  return text + ".\n\n" + figures(rows) + "\n" + costs(rows);
}

std::string to_json(const Settings& settings, const std::vector<Row>& rows) {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : settings) json["settings"][name] = value;
  json["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json out;
    out["id"] = row.id;
    out["what"] = row.what;
    out["unit"] = row.unit;
    out["value"] = median(values_of(row));
    out["values"] = values_of(row);
    if (!row.fio.empty()) {
      out["fio"] = row.fio;
      out["fio_scale"] = row.fio_scale;
      out["fio_values"] = fio_of(row);
      const std::vector<double> ratio = ratios(row);
      if (!ratio.empty()) out["ratio"] = median(ratio);
      out["ratios"] = ratio;
    }
    if (row.bar.of != Bar::Of::kNone) {
      out["bar"] = bar_text(row.bar);
      out["judgement"] = judge(row);
    }
    if (const auto cpu = median_of(row, &Sample::cpu_us)) out["cpu_us"] = *cpu;
    if (const auto p50 = median_of(row, &Sample::p50_us)) {
      out["p50_us"] = *p50;
      out["p95_us"] = *median_of(row, &Sample::p95_us);
      out["p99_us"] = *median_of(row, &Sample::p99_us);
    }
    for (const auto& [name, value] : counted_of(row)) out["counted"][name] = value;
    json["rows"].push_back(std::move(out));
  }
  return json.dump(2) + "\n";
}

}  // namespace hexad::bench
