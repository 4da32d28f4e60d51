#include "tools/bench/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace hexad::tools {

namespace {

using Json = nlohmann::json;

Error wrong(const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, what,
               "Give the bench.json of ./run bench, a --json file of one of its programs, or lines "
               "of hexad bench run POOL --json."};
}

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

// A number written as JSON, for the names of runs.
std::string number_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->dump() : "?";
}

bool counts(const Json& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0;
}

Better better_of(const Json& row, const std::string& unit) {
  const std::string better = text_of(row, "better");
  if (better == "less") return Better::kLess;
  if (better == "more") return Better::kMore;
  // Times are less, rates and shares are more; so are units nobody thought of.
  static constexpr std::string_view kTimes[] = {"ns", "us", "ms", "s", "B"};
  const std::string word = unit.substr(0, unit.find_first_of(", /"));
  const bool rate = unit.find("/s") != std::string::npos;
  const bool time = std::find(std::begin(kTimes), std::end(kTimes), word) != std::end(kTimes);
  return time && !rate ? Better::kLess : Better::kMore;
}

Result<std::vector<Series>> series_of_rows(const Json& rows) {
  std::vector<Series> result;
  for (const Json& row : rows) {
    if (!row.is_object()) return wrong("a row of figures is no object");
    Series series{text_of(row, "id"), text_of(row, "unit"), Better::kMore, {}};
    const auto values = row.find("values");
    if (series.id.empty() || values == row.end() || !values->is_array()) {
      return wrong("a row of figures has no id or no values");
    }
    series.better = better_of(row, series.unit);
    bool whole = !values->empty();
    for (const Json& value : *values) whole = whole && counts(value);
    if (!whole) continue;
    for (const Json& value : *values) series.values.push_back(value.get<double>());
    result.push_back(std::move(series));
  }
  return result;
}

// The job's name, or what makes two runs the same.
std::string id_of_run(const Json& run) {
  std::string job = text_of(run, "job");
  if (!job.empty()) return job;
  const std::string batch = number_of(run, "batch");  // "?": of a version that had none
  return fmt::format("{} bs={} size={} objects={} {}x{}{}", text_of(run, "rw"),
                     number_of(run, "bs"), number_of(run, "size"), number_of(run, "objects"),
                     number_of(run, "threads"), number_of(run, "iodepth"),
                     batch == "?" || batch == "1" ? "" : " batch=" + batch);
}

Result<std::vector<Series>> series_of_lines(std::string_view text) {
  std::vector<Series> result;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Json run = Json::parse(line, nullptr, false);
    if (!run.is_object() || text_of(run, "rw").empty()) {
      return wrong("a line is no result of hexad bench run POOL --json");
    }
    const auto rate = run.find("ops_per_s");
    if (rate == run.end() || !counts(*rate)) continue;
    const std::string id = id_of_run(run);
    auto at = std::find_if(result.begin(), result.end(),
                           [&](const Series& series) { return series.id == id; });
    if (at == result.end()) {
      result.push_back({id, "/s", Better::kMore, {}});
      at = result.end() - 1;
    }
    at->values.push_back(rate->get<double>());
  }
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Half of what lies between the least and the most, of the median.
double noise_of(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return (*most - *least) / 2 / median(values);
}

Comparison compare_one(const Series& before, const Series& after) {
  Comparison result{before.id, before.unit, median(before.values), median(after.values)};
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(before.values.size(), after.values.size()); ++i) {
    ratios.push_back(after.values[i] / before.values[i]);
  }
  result.ratio = median(ratios);
  result.noise = std::max(noise_of(before.values), noise_of(after.values));
  if (ratios.size() < 2) return result;
  const auto [least_before, most_before] =
      std::minmax_element(before.values.begin(), before.values.end());
  const auto [least_after, most_after] =
      std::minmax_element(after.values.begin(), after.values.end());
  const bool all_more = *least_after > *most_before;
  const bool all_less = *most_after < *least_before;
  result.verdict = Verdict::kSame;
  if ((all_more || all_less) && std::fabs(result.ratio - 1) > result.noise) {
    result.verdict =
        all_more == (before.better == Better::kMore) ? Verdict::kBetter : Verdict::kWorse;
  }
  return result;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kNotJudged:
      break;
  }
  return "not judged";
}

Result<std::vector<Series>> parse_series(std::string_view text) {
  const Json whole = Json::parse(text, nullptr, false);
  if (whole.is_object() && whole.contains("rows")) {
    if (!whole["rows"].is_array()) return wrong("its rows are no list");
    return series_of_rows(whole["rows"]);
  }
  HEXAD_TRY_ASSIGN(std::vector<Series> series, series_of_lines(text));
  if (series.empty()) return wrong("there are no figures in it");
  return series;
}

std::vector<Comparison> compare(const std::vector<Series>& before,
                                const std::vector<Series>& after) {
  std::vector<Comparison> result;
  for (const Series& one : before) {
    const auto other = std::find_if(after.begin(), after.end(), [&](const Series& series) {
      return series.id == one.id && series.unit == one.unit;
    });
    if (other != after.end()) result.push_back(compare_one(one, *other));
  }
  return result;
}

}  // namespace hexad::tools
