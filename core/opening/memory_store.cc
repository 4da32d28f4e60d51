#include "core/opening/memory_store.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "core/opening/format.h"
#include "core/opening/opening.h"
#include "core/record/record.h"
#include "io/memory_system.h"
#include "kv/memory/memory_index.h"

namespace hexad::core {

FormatOptions memory_format(const MemoryStoreOptions& options) {
  FormatOptions format;
  format.profile = options.profile;
  format.compression = options.compression;
  format.min_alloc = kDefaultMinAlloc;
  for (std::uint32_t i = 0; i < options.profile.shards(); ++i) {
    format.devices.push_back("memory" + std::to_string(i));
  }
  format.log_size =
      round_up(std::clamp<std::uint64_t>(options.capacity / 32, 16_MiB, 256_MiB), format.min_alloc);
  // A slab has room for several whole cells of a page behind the unit of its header, so that little
  // is left over at its end.
  constexpr std::uint64_t kLeastPages = 8;
  const std::uint64_t cells = options.capacity / options.profile.k + 1;  // bytes per device
  const std::uint64_t page_units =
      divide_up(divide_up(kPageSpan, std::uint64_t{options.profile.k}), format.min_alloc);
  const std::uint64_t slab_units =
      std::clamp<std::uint64_t>(alloc::default_slab_units(cells, format.min_alloc),
                                1 + kLeastPages * page_units, alloc::kMaxSlabUnits);
  format.slab_size = slab_units * format.min_alloc;
  // Some zones more, for what the store moves about itself.
  const std::uint64_t pages_per_slab = (slab_units - 1) / page_units;
  const std::uint64_t slabs = divide_up(divide_up(options.capacity, kPageSpan), pages_per_slab) + 2;
  format.device_size =
      alloc::least_device_size(format.log_size + slabs * format.slab_size, format.min_alloc);
  return format;
}

Result<StoreParts> make_memory_parts(const MemoryStoreOptions& options,
                                     const RuntimeOptions& runtime) {
  HEXAD_TRY(options.validate());
  HEXAD_TRY(runtime.validate());
  if (runtime.access != Access::kReadWrite) {
    return Error{ErrorCode::kInvalidArgument,
                 "a store in memory begins empty: there is nothing to open it read-only for", ""};
  }
  auto system = std::make_unique<io::MemorySystem>();
  std::unique_ptr<kv::IndexHome> indexes = kv::make_memory_index_home(system->executor());
  const FormatOptions format = memory_format(options);
  HEXAD_TRY(format.validate());
  HEXAD_TRY_ASSIGN(const PoolDescription pool, format_devices(format, *system, indexes.get()));
  HEXAD_TRY_ASSIGN(StoreParts parts, open_parts(pool, runtime, system.get(), indexes.get()));
  parts.owned_system = std::move(system);
  parts.owned_indexes = std::move(indexes);
  parts.memory_only = true;
  parts.notes.push_back(
      "in memory only: nothing is durable, and all of it is gone when the store ends");
  return parts;
}

}  // namespace hexad::core
