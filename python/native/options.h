// Options by name, as keyword arguments give them: numbers, or the words of the command line.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

namespace hexad::python {

// A name that there is not: kInvalidArgument, which lists those that there are. Sizes are bytes, or
// text such as "256 MiB".
FormatOptions to_format_options(const nanobind::dict& given);
MemoryStoreOptions to_memory_options(const nanobind::dict& given);
RuntimeOptions to_runtime_options(const nanobind::dict& given);

// "aggressive,zstd,level=3" (compression/policy.h), from the default on.
compression::Policy to_policy(nanobind::handle text);

}  // namespace hexad::python
