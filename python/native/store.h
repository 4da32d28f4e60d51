// hexad._native.Store and the functions that make, find and look at pools. Arguments by position;
// hexad/_store.py gives them names, defaults and documentation.
#pragma once

#include <nanobind/nanobind.h>

namespace hexad::python {

void bind_store(nanobind::module_& module);

}  // namespace hexad::python
