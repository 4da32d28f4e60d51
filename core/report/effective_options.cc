#include "core/report/effective_options.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/units.h"
#include "ec/codec.h"

namespace hexad::core {

std::vector<EffectiveOption> effective_options(const StoreParts& store) {
  const RuntimeOptions& given = store.options;
  const RuntimeOptions defaults;
  const StoreShape& shape = *store.shape;
  std::vector<EffectiveOption> options;
  const auto from_label = [&](const char* name, std::string value) {
    options.push_back({name, std::move(value), "label"});
  };
  from_label("profile", ec::to_string(shape.profile));
  from_label("codec", ec::codec_to_string(shape.profile));
  from_label("redundant_devices", store.redundant_devices ? "true" : "false");
  from_label("min_alloc", format_size(shape.unit));
  from_label("physical_block", format_size(shape.block));
  from_label("log_block", format_size(shape.log_block));
  from_label("checksum", std::string(hexad::to_string(shape.record.checksum)));
  from_label("checksum_block", format_size(shape.record.checksum_block));
  from_label("compression", compression::to_string(store.compression));
  const auto runtime = [&](const char* name, std::uint64_t value, std::uint64_t usual,
                           std::string text) {
    options.push_back({name, std::move(text), value == usual ? "default" : "given"});
  };
  runtime("access", static_cast<std::uint64_t>(given.access),
          static_cast<std::uint64_t>(defaults.access),
          given.access == Access::kReadWrite ? "read-write" : "read-only");
  runtime("memtable_size", given.memtable_size, defaults.memtable_size,
          format_size(given.memtable_size));
  runtime("max_transaction", given.max_transaction, defaults.max_transaction,
          format_size(given.max_transaction));
  runtime("max_in_flight", given.max_in_flight, defaults.max_in_flight,
          format_size(given.max_in_flight));
  runtime("stream_buffer", given.stream_buffer, defaults.stream_buffer,
          format_size(given.stream_buffer));
  const std::uint64_t cache_size = store.cache->capacity();  // which may be changed at any time
  runtime("cache_size", cache_size, defaults.cache_size, format_size(cache_size));
  runtime("flush_sharing", static_cast<std::uint64_t>(given.flush_sharing),
          static_cast<std::uint64_t>(defaults.flush_sharing),
          given.flush_sharing == FlushSharing::kWhereSafe ? "where-safe" : "never");
  runtime("unwritable_devices", static_cast<std::uint64_t>(given.unwritable_devices),
          static_cast<std::uint64_t>(defaults.unwritable_devices),
          given.unwritable_devices == Unwritable::kRefuse ? "refuse" : "lose");
  runtime("log_durability", static_cast<std::uint64_t>(given.log_durability),
          static_cast<std::uint64_t>(defaults.log_durability),
          std::string(to_string(given.log_durability)));
  runtime("split_risk", static_cast<std::uint64_t>(given.split_risk),
          static_cast<std::uint64_t>(defaults.split_risk),
          given.split_risk == SplitRisk::kRefuse ? "refuse" : "take");
  runtime("bus_errors", static_cast<std::uint64_t>(given.bus_errors),
          static_cast<std::uint64_t>(defaults.bus_errors),
          given.bus_errors == BusErrors::kLeave ? "leave" : "explain");
  runtime("catch_up", static_cast<std::uint64_t>(given.catch_up),
          static_cast<std::uint64_t>(defaults.catch_up),
          given.catch_up == CatchUp::kInBackground ? "background" : "asked");
  runtime("returns", static_cast<std::uint64_t>(given.returns),
          static_cast<std::uint64_t>(defaults.returns),
          given.returns == Returns::kByThemselves ? "by-themselves" : "when-asked");
  runtime("hedged_reads", static_cast<std::uint64_t>(given.hedged_reads),
          static_cast<std::uint64_t>(defaults.hedged_reads),
          std::string(to_string(given.hedged_reads)));
  runtime("device_patience", given.device_patience, defaults.device_patience,
          std::to_string(given.device_patience) + " s");
  runtime("drain_lost_after", given.drain_lost_after, defaults.drain_lost_after,
          std::to_string(given.drain_lost_after) + " s");
  options.push_back({"io_queue", store.system->queue().name(), "computed"});
  return options;
}

}  // namespace hexad::core
