// What the omap of an object should hold, in a plain map: the part of tests/core/store_model.h that
// is about omaps.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/api/transaction.h"
#include "core/store.h"
#include "io/rng.h"

namespace hexad::testing {

struct ModelOmap {
  std::map<std::string, std::shared_ptr<const std::string>> keys;
  std::string header;
};
// Null: nothing was ever set, or not since it was cleared.
using ModelOmapRef = std::shared_ptr<const ModelOmap>;

bool is_omap_op(OpKind kind);  // guards are none

// Of an object that is there. Whether that changed it.
bool apply_omap_op(const TransactionOp& op, ModelOmapRef& omap);

// Precondition: a guard about an omap.
bool omap_guard_holds(const TransactionOp& op, const ModelOmapRef& omap);

// "" or what differs. `rng` picks pages.
std::string omap_difference(Store& store, const std::string& collection, const std::string& name,
                            const ModelOmapRef& omap, io::Rng& rng);

}  // namespace hexad::testing
