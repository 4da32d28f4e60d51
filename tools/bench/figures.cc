#include "tools/bench/figures.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"

namespace hexad::tools {

namespace {

using Json = nlohmann::ordered_json;

void subtract(std::map<std::string, std::uint64_t>& from,
              const std::map<std::string, std::uint64_t>& before) {
  for (auto& [name, value] : from) {
    if (const auto at = before.find(name); at != before.end()) value -= at->second;
  }
}

double microseconds(const Histogram& latency, std::uint64_t per_thousand) {
  return static_cast<double>(latency.percentile(per_thousand, 1000)) / 1000;
}

Json latency_json(const Histogram& latency) {
  return {{"p50", microseconds(latency, 500)},
          {"p95", microseconds(latency, 950)},
          {"p99", microseconds(latency, 990)},
          {"p999", microseconds(latency, 999)},
          {"max", microseconds(latency, 1000)}};
}

std::string latency_text(const Histogram& latency) {
  return fmt::format("p50 {:.0f}  p95 {:.0f}  p99 {:.0f}  p99.9 {:.0f}  worst {:.0f}",
                     microseconds(latency, 500), microseconds(latency, 950),
                     microseconds(latency, 990), microseconds(latency, 999),
                     microseconds(latency, 1000));
}

double per_second(std::uint64_t count, const Measured& measured) {
  return static_cast<double>(count) / measured.seconds;
}

double bytes_per_second(const LoadOptions& options, std::uint64_t operations,
                        const Measured& measured) {
  if (!moves_bytes(options.workload)) return 0;
  return per_second(operations, measured) * static_cast<double>(options.block);
}

double cpu_us_per_op(std::uint64_t operations, const Measured& measured) {
  return operations > 0 ? measured.cpu_us / static_cast<double>(operations) : 0;
}

Json tally_json(const Tally& tally, const LoadOptions& options, const Measured& measured) {
  return {{"operations", tally.operations},
          {"ops_per_s", per_second(tally.operations, measured)},
          {"bytes_per_s", bytes_per_second(options, tally.operations, measured)},
          {"latency_us", latency_json(tally.latency)}};
}

Json devices_json(const Traffic& traffic) {
  Json devices = Json::array();
  for (const DeviceStatus& device : traffic.devices) {
    devices.push_back({{"id", device.id},
                       {"role", device.role},
                       {"path", device.path},
                       {"written", device.bytes_written},
                       {"written_for", device.written_for},
                       {"read", device.bytes_read},
                       {"writes", device.writes},
                       {"writes_for", device.writes_for},
                       {"reads", device.reads},
                       {"flushes", device.flushes}});
  }
  return devices;
}

Json counters_json(const Traffic& traffic) {
  Json counters = Json::object();
  for (const auto& [name, value] : traffic.counters) {
    if (value > 0) counters[name] = value;
  }
  return counters;
}

// " (user 4 MiB in 80 writes, log 1 MiB in 20)": what was written for what.
std::string causes_text(const DeviceStatus& device) {
  std::string text;
  for (const auto& [cause, bytes] : device.written_for) {
    if (bytes == 0) continue;
    const auto writes = device.writes_for.find(cause);
    text += fmt::format("{}{} {} in {}{}", text.empty() ? " (" : ", ", cause, format_size(bytes),
                        writes == device.writes_for.end() ? 0 : writes->second,
                        text.empty() ? " writes" : "");
  }
  return text.empty() ? text : text + ")";
}

std::string size_text(double bytes) { return format_size(static_cast<std::uint64_t>(bytes)); }

}  // namespace

Traffic Traffic::of(Store& store) {
  Traffic result;
  result.devices = store.status().devices;
  for (const Counter& counter : store.counters()) {
    result.counters[counter.name] = counter.since_open;
  }
  return result;
}

Traffic Traffic::since(const Traffic& before) const {
  Traffic result = *this;
  for (std::size_t i = 0; i < devices.size() && i < before.devices.size(); ++i) {
    DeviceStatus& device = result.devices[i];
    const DeviceStatus& earlier = before.devices[i];
    device.bytes_written -= earlier.bytes_written;
    device.bytes_read -= earlier.bytes_read;
    device.writes -= earlier.writes;
    device.reads -= earlier.reads;
    device.flushes -= earlier.flushes;
    subtract(device.written_for, earlier.written_for);
    subtract(device.writes_for, earlier.writes_for);
  }
  subtract(result.counters, before.counters);
  return result;
}

Json figures_json(const Job& job, const LoadOptions& options, const Opened& opened,
                  const Measured& measured) {
  const Tally all = measured.load.both();
  Json object;
  if (!job.name.empty()) object["job"] = job.name;
  object.update(Json{{"rw", job.workload},
                     {"bs", options.block},
                     {"size", options.object_size},
                     {"objects", options.objects},
                     {"threads", options.threads},
                     {"iodepth", options.depth},
                     {"batch", options.batch},
                     {"zipf", options.zipf},
                     {"compressible", options.compressible_percent},
                     {"seed", options.seed},
                     {"durability", job.durability},
                     {"log_durability", opened.log_durability},
                     {"hedged_reads", opened.hedged_reads},
                     {"cache_size", opened.cache_size},
                     {"seconds", measured.seconds}});
  object.update(tally_json(all, options, measured));
  object["cpu_us_per_op"] = cpu_us_per_op(all.operations, measured);
  if (options.workload == Workload::kRandRw) {
    object["rwmixread"] = options.read_percent;
    object["read"] = tally_json(measured.load.looked, options, measured);
    object["write"] = tally_json(measured.load.changed, options, measured);
  }
  if (options.workload == Workload::kList) {
    object["entries_per_s"] = per_second(measured.load.entries, measured);
  }
  object["space_waits"] = measured.load.space_waits;
  object["devices"] = devices_json(measured.traffic);
  object["counters"] = counters_json(measured.traffic);
  return object;
}

std::string figures_text(const Job& job, const LoadOptions& options, const Opened& opened,
                         const Measured& measured) {
  const Tally all = measured.load.both();
  std::string text = fmt::format(
      "{} {} over {} objects, {} x {} in flight{}, {:.1f} s, {}, log durability {}\n", job.workload,
      format_size(options.block), options.objects, options.threads, options.depth,
      options.batch == 1 ? "" : fmt::format(" of {} in a transaction", options.batch),
      measured.seconds, job.durability, opened.log_durability);
  text += fmt::format("  {:.0f} per second", per_second(all.operations, measured));
  if (moves_bytes(options.workload)) {
    text += fmt::format(", {}/s of user data",
                        size_text(bytes_per_second(options, all.operations, measured)));
  }
  if (options.workload == Workload::kList) {
    text += fmt::format(", {:.0f} names per second", per_second(measured.load.entries, measured));
  }
  text += "\n";
  if (options.workload == Workload::kRandRw) {
    for (const auto& [word, tally] :
         {std::pair<const char*, const Tally*>{"reads", &measured.load.looked},
          {"writes", &measured.load.changed}}) {
      text += fmt::format("  {:<7} {:.0f} per second, latency us  {}\n", word,
                          per_second(tally->operations, measured), latency_text(tally->latency));
    }
  } else {
    text += fmt::format("  latency us  {}\n", latency_text(all.latency));
  }
  for (const DeviceStatus& device : measured.traffic.devices) {
    text += fmt::format("  device {}: {} in {} writes{}, {} in {} reads, {} flushes\n", device.id,
                        format_size(device.bytes_written), device.writes, causes_text(device),
                        format_size(device.bytes_read), device.reads, device.flushes);
  }
  text += fmt::format("  CPU {:.1f} us per operation, payload included\n",
                      cpu_us_per_op(all.operations, measured));
  return text;
}

std::string table_heading() {
  return fmt::format("{:<24} {:>10} {:>12} {:>9} {:>9} {:>9} {:>9} {:>8}\n", "job", "per second",
                     "user data/s", "p50 us", "p95 us", "p99 us", "p99.9 us", "CPU us");
}

std::string table_line(const Job& job, const LoadOptions& options, const Measured& measured) {
  const Tally all = measured.load.both();
  return fmt::format(
      "{:<24} {:>10.0f} {:>12} {:>9.0f} {:>9.0f} {:>9.0f} {:>9.0f} {:>8.1f}\n",
      job.name.empty() ? job.workload : job.name, per_second(all.operations, measured),
      moves_bytes(options.workload) ? size_text(bytes_per_second(options, all.operations, measured))
                                    : "",
      microseconds(all.latency, 500), microseconds(all.latency, 950),
      microseconds(all.latency, 990), microseconds(all.latency, 999),
      cpu_us_per_op(all.operations, measured));
}

}  // namespace hexad::tools
