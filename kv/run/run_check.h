// Whether all of a run is as its writer left it, trusting nothing but the footer.
#pragma once

#include "base/error.h"
#include "kv/run/run_source.h"

namespace hexad::kv {

// Reads every byte: checksums, order, separators, counts, that the blocks lie one behind the other
// without gaps, and that the filters know all keys. Keeps nothing in the source's cache. Errors:
// kCorruption, those of the file.
Status check_run(const RunSource& source);

}  // namespace hexad::kv
