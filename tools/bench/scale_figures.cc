#include "tools/bench/scale_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "base/units.h"

namespace hexad::tools {

namespace {

using Json = nlohmann::ordered_json;

// Of a pool of FormatOptions().profile.
constexpr std::uint64_t kDataCells = 4;
constexpr std::uint64_t kAllCells = 6;

double ratio(double of, std::uint64_t by) { return by > 0 ? of / static_cast<double>(by) : 0; }
double ratio(std::uint64_t of, std::uint64_t by) { return ratio(static_cast<double>(of), by); }

double microseconds(const Histogram& latency, std::uint64_t percent) {
  return static_cast<double>(latency.percentile(percent, 100)) / 1000;
}

Json latency_json(const Histogram& latency) {
  return {{"count", latency.count()},
          {"p50", microseconds(latency, 50)},
          {"p99", microseconds(latency, 99)}};
}

double mebibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(1_MiB);
}

// Bytes written to all devices, by cause.
std::map<std::string, std::uint64_t> causes(const Traffic& traffic) {
  std::map<std::string, std::uint64_t> sum;
  for (const DeviceStatus& device : traffic.devices) {
    for (const auto& [cause, bytes] : device.written_for) sum[cause] += bytes;
  }
  return sum;
}

std::uint64_t value_of(const std::map<std::string, std::uint64_t>& values,
                       const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? 0 : found->second;
}

// What checkpoints and merges wrote.
Json upkeep_json(const Traffic& traffic) {
  const std::map<std::string, std::uint64_t> written = causes(traffic);
  return {{"checkpoints", value_of(traffic.counters, "checkpoints")},
          {"checkpoint_bytes", value_of(written, "run")},
          {"super_bytes", value_of(written, "super")},
          {"runs_merged", value_of(traffic.counters, "runs_merged")},
          {"merge_bytes", value_of(written, "merge")},
          {"index_bytes", value_of(traffic.counters, "index_bytes")}};
}

Json json_of(const Reopening& reopening, std::uint64_t objects) {
  Json json{{"after_leaving_s", reopening.after_leaving_s},
            {"transactions", reopening.transactions},
            {"log_bytes", reopening.log_bytes},
            {"close_s", reopening.close_s}};
  json.update(upkeep_json(reopening.traffic));
  json.update(Json{{"after_closing_s", reopening.after_closing_s},
                   {"stored_per_object",
                    {{"data", ratio(reopening.data_bytes(), objects)},
                     {"runs", ratio(reopening.run_bytes(), objects)},
                     {"index", ratio(reopening.space.metadata, objects)}}},
                   {"space_s", reopening.space_s}});
  return json;
}

}  // namespace

std::uint64_t Reopening::run_bytes() const {
  return space.internal_metadata / kDataCells * kAllCells;
}

std::uint64_t Reopening::data_bytes() const {
  return space.used - std::min(space.used, run_bytes());
}

Json scale_json(const ScaleWindow& window) {
  Json written = Json::object();
  for (const auto& [cause, bytes] : causes(window.traffic)) {
    if (bytes > 0) written[cause] = ratio(bytes, window.puts);
  }
  Json json{{"objects", window.objects},
            {"puts", window.puts},
            {"put_s", window.put_s},
            {"puts_per_s", window.put_s > 0 ? static_cast<double>(window.puts) / window.put_s : 0},
            {"cpu_us_per_put", ratio(window.put_cpu_us, window.puts)},
            {"get_us", latency_json(window.get)},
            {"stat_us", latency_json(window.stat)},
            {"written_per_put", written},
            {"not_stored_per_put", ratio(window.not_stored, window.puts)}};
  json.update(upkeep_json(window.traffic));
  json.update(Json{{"memory", window.memory}, {"disk", window.disk}});
  if (window.reopening.has_value()) {
    json["reopening"] = json_of(*window.reopening, window.objects);
  }
  return json;
}

std::string scale_heading() {
  return fmt::format(
      "{:>12} {:>8} {:>7} | {:>13} | {:>13} | {:^41} | {:>8} {:>9}\n"
      "{:>12} {:>8} {:>7} | {:>6} {:>6} | {:>6} {:>6} | {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} | "
      "{:>8} {:>9}\n",
      "", "", "cpu us", "us of a get", "us of a stat", "bytes written per put", "memory", "disk",
      "objects", "puts/s", "per put", "p50", "p99", "p50", "p99", "log", "cells", "super", "run",
      "merge", "index", "MiB", "MiB");
}

std::string scale_line(const ScaleWindow& window) {
  const auto per_put = [&](std::uint64_t bytes) { return ratio(bytes, window.puts); };
  const std::map<std::string, std::uint64_t> written = causes(window.traffic);
  std::string text = fmt::format(
      "{:>12} {:>8.0f} {:>7.1f} | {:>6.0f} {:>6.0f} | {:>6.0f} {:>6.0f} | {:>6.0f} {:>6.0f} "
      "{:>6.1f} {:>6.1f} {:>6.1f} {:>6.1f} | {:>8.1f} {:>9.1f}\n",
      window.objects, window.put_s > 0 ? static_cast<double>(window.puts) / window.put_s : 0,
      ratio(window.put_cpu_us, window.puts), microseconds(window.get, 50),
      microseconds(window.get, 99), microseconds(window.stat, 50), microseconds(window.stat, 99),
      per_put(value_of(written, "log")),
      per_put(value_of(written, "user") + value_of(written, "parity")),
      per_put(value_of(written, "super")), per_put(value_of(written, "run")),
      per_put(value_of(written, "merge")),
      per_put(value_of(window.traffic.counters, "index_bytes")), mebibytes(window.memory),
      mebibytes(window.disk));
  if (!window.reopening.has_value()) return text;
  const Reopening& reopening = *window.reopening;
  const auto per_object = [&](std::uint64_t bytes) { return ratio(bytes, window.objects); };
  return text +
         fmt::format(
             "{:>12} left open, then opened in {:.3f} s with {} transactions in {} of the "
             "log; closed in {:.3f} s, opened in {:.3f} s\n"
             "{:>12} per object: {:.0f} B of data with parity, {:.1f} B of runs with parity, "
             "{:.1f} B of index; finding that out: {:.3f} s\n",
             "", reopening.after_leaving_s, reopening.transactions,
             format_size(reopening.log_bytes), reopening.close_s, reopening.after_closing_s, "",
             per_object(reopening.data_bytes()), per_object(reopening.run_bytes()),
             per_object(reopening.space.metadata), reopening.space_s);
}

// Not by read_whole_file(), which gives up once a signal has come.
Result<std::uint64_t> anonymous_memory() {
  static constexpr std::string_view kKey = "RssAnon:";
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    std::istringstream rest(line.substr(kKey.size()));
    if (std::uint64_t kibibytes = 0; rest >> kibibytes) return kibibytes * 1_KiB;
  }
  return Error{ErrorCode::kIo, "/proc/self/status does not say how much memory is anonymous", ""};
}

}  // namespace hexad::tools
