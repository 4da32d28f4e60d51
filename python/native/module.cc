// hexad._native: the engine for hexad's Python files; not for applications.
#include <nanobind/nanobind.h>

#include "python/native/apart.h"
#include "python/native/changes.h"
#include "python/native/completions.h"
#include "python/native/errors.h"
#include "python/native/flat.h"
#include "python/native/pools.h"
#include "python/native/store.h"
#include "python/native/stream.h"

NB_MODULE(_native, module) {
  // Python itself leaves objects of its modules behind when it ends.
  nanobind::set_leak_warnings(false);
  hexad::python::translate_failures();
  hexad::python::bind_apart(module);
  hexad::python::bind_flat(module);
  hexad::python::bind_streams(module);
  hexad::python::bind_changes(module);
  hexad::python::bind_completions(module);
  hexad::python::bind_pools(module);
  hexad::python::bind_store(module);
}
