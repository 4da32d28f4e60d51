// Any buffer as plain bytes, for the Python files that cut it into pieces.
#pragma once

#include <nanobind/nanobind.h>

namespace hexad::python {

// A read-only memoryview of format B of what Buffer takes, nothing copied. It holds the memory as
// long as somebody looks at it: a bytearray keeps its size, a file its map. memoryview() itself
// takes fewer types of items, and casts fewer still.
nanobind::object to_flat(nanobind::handle data);

void bind_flat(nanobind::module_& module);

}  // namespace hexad::python
