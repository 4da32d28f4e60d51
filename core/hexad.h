// hexad: an embeddable, erasure-coded object store. Applications include <hexad/hexad.h>.
//
//   auto pool = hexad::read_pool("/pool");                       // made by `hexad mkfs`
//   auto store = hexad::Store::open(*pool);
//   hexad::Transaction t;
//   t.put("default", "run7/weights", weights, hexad::Hint::kIncompressible);
//   t.put("default", "run7/meta.json", "{...}");
//   hexad::Result<hexad::Lsn> lsn = store->commit(std::move(t));  // both, durably, or neither
//   hexad::Result<hexad::Bytes> back = store->get("default", "run7/meta.json");
//
// Every call that can fail returns a Status or a Result (base/error.h). Sizes and offsets are
// bytes. Names are opaque bytes.
#pragma once

#include "core/api/damage.h"            // IWYU pragma: export
#include "core/api/device_questions.h"  // IWYU pragma: export
#include "core/api/group.h"             // IWYU pragma: export
#include "core/api/object_room.h"       // IWYU pragma: export
#include "core/api/options.h"           // IWYU pragma: export
#include "core/api/pool.h"              // IWYU pragma: export
#include "core/api/stream.h"            // IWYU pragma: export
#include "core/api/transaction.h"       // IWYU pragma: export
#include "core/api/types.h"             // IWYU pragma: export
#include "core/store.h"                 // IWYU pragma: export
#include "io/recall.h"                  // IWYU pragma: export
