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

  bool is_slow() const { return handle->is_slow(); }
};

// The calls that change nothing (store_reads.cc).
void bind_store_reads(nanobind::module_& module, nanobind::class_<StoreObject>& store);
void bind_store(nanobind::module_& module);

}  // namespace hexad::python
