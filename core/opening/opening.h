// Opening a store: labels, roots, index, log, recovery. doc/architecture.md#opening
#pragma once

#include "core/opening/store_parts.h"

namespace hexad::core {

// Everything up to the point where commits may begin: with Access::kReadWrite the tail is healed
// and fenced and the membership is durable (R8, R13); with kReadOnly nothing has been written.
// `system` null: the operating system. `indexes`: where the index is; null: in the first fast
// directory of the operating system. Both outlive the parts where they are given. `replacement`:
// for writing, a device that is to take the place of a lost one, or null.
Result<StoreParts> open_parts(const PoolDescription& pool, const RuntimeOptions& options,
                              io::System* system, kv::IndexHome* indexes = nullptr,
                              const Replacement* replacement = nullptr);

// Devices, labels and roots alone: what is wrong with a device stands in its row. Errors:
// those of survey_devices() and io::make_real_system().
Result<StoreStatus> inspect_devices(const PoolDescription& pool, io::System* system);

}  // namespace hexad::core
