#include "tools/verbs/layers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/units.h"

namespace hexad::tools {

namespace {

std::optional<double> hit_share(const LayerStatus& layer) {
  const std::uint64_t asked = layer.hits + layer.misses;
  if (asked == 0) return std::nullopt;
  return static_cast<double>(layer.hits) / static_cast<double>(asked);
}

std::optional<double> mean_us(const LayerStatus& layer) {
  if (layer.timed == 0) return std::nullopt;
  return static_cast<double>(layer.timed_ns) / static_cast<double>(layer.timed) / 1e3;
}

Json as_json(const std::optional<double>& number) {
  return number.has_value() ? Json(*number) : Json(nullptr);
}

std::string where_text(const StoreStatus& status) {
  if (status.metadata_on == "index") {
    return status.memory_only ? "all of it in an index in memory"
                              : "all of it in the index on the fast tier";
  }
  if (status.metadata_on == "fast blocks") {
    return "in runs on the data devices; the index does not fit, the fast device keeps blocks of "
           "them";
  }
  return "in runs on the data devices; no index";
}

}  // namespace

std::string layers_text(const StoreStatus& status) {
  if (status.layers.empty()) return "";
  std::string text = fmt::format("metadata is {}\n", where_text(status));
  text += fmt::format("{:<12} {:>10} {:>10} {:>12} {:>12} {:>8} {:>10}\n", "layer", "bytes", "room",
                      "hits", "misses", "share", "mean");
  for (const LayerStatus& layer : status.layers) {
    if (!layer.in_use && layer.hits + layer.misses == 0) continue;
    const std::optional<double> share = hit_share(layer);
    const std::optional<double> mean = mean_us(layer);
    text += fmt::format(
        "  {:<10} {:>10} {:>10} {:>12} {:>12} {:>8} {:>10}{}\n", layer.name,
        format_size(layer.bytes), layer.room > 0 ? format_size(layer.room) : "-", layer.hits,
        layer.misses, share.has_value() ? fmt::format("{:.1f} %", 100 * *share) : "-",
        mean.has_value() ? fmt::format("{:.1f} us", *mean) : "-", layer.in_use ? "" : "  no more");
  }
  return text;
}

std::string fill_text(const FillForecast& fill) {
  if (fill.note.empty()) return "";
  if (!fill.hours_to_full.has_value()) return "full    " + fill.note + "\n";
  return fmt::format("full    in {:.1f} hours, {}\n", *fill.hours_to_full, fill.note);
}

void add_layers(Json& object, const StoreStatus& status) {
  object["metadata_on"] = status.metadata_on;
  object["layers"] = Json::array();
  for (const LayerStatus& layer : status.layers) {
    object["layers"].push_back(Json{{"name", layer.name},
                                    {"in_use", layer.in_use},
                                    {"bytes", layer.bytes},
                                    {"room", layer.room},
                                    {"hits", layer.hits},
                                    {"misses", layer.misses},
                                    {"hit_share", as_json(hit_share(layer))},
                                    {"timed", layer.timed},
                                    {"timed_ns", layer.timed_ns},
                                    {"mean_us", as_json(mean_us(layer))}});
  }
  object["fill"] = Json{{"available", status.fill.available},
                        {"observed_seconds", status.fill.observed_seconds},
                        {"bytes_per_hour", status.fill.bytes_per_hour},
                        {"hours_to_full", as_json(status.fill.hours_to_full)},
                        {"note", status.fill.note}};
}

}  // namespace hexad::tools
