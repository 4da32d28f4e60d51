// The functions of hexad._native that make, find, look at and open pools.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

namespace hexad::python {

// Paths of devices and of fast directories.
PoolDescription to_pool(const nanobind::sequence& devices, const nanobind::sequence& fast);

void bind_pools(nanobind::module_& module);

}  // namespace hexad::python
