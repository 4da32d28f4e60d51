// hexad._native.Store. Arguments by position; hexad/_store.py gives them names, defaults and
// documentation.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "python/native/store_handle.h"

namespace hexad::python {

// What Python holds. Streams share the handle.
struct StoreObject {
  std::shared_ptr<StoreHandle> handle;
};

void bind_store(nanobind::module_& module);

}  // namespace hexad::python
