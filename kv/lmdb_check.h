// Reads a whole LMDB file page by page and believes nothing: what LMDB itself would step into
// (pages outside the file, nodes outside their page, a page in two places) is found before it does.
#pragma once

#include "base/error.h"
#include "base/ids.h"
#include "kv/lmdb_file.h"

namespace hexad::kv {

// Page structure, key order, separators, free pages, every entry's checksum, markers and segments,
// the LSN marker and its uuid. Nobody may write meanwhile. Cost: reads every page in use once;
// memory: one bit per page and the heads of long keys. Errors: kCorruption, kIo.
Status check_lmdb_file(const LmdbFile& file, const Uuid& uuid);

}  // namespace hexad::kv
