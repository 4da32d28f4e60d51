// Reads a whole LMDB file page by page and believes nothing: what LMDB itself would step into
// (pages outside the file, nodes outside their page, a page in two places) is found before it does.
#pragma once

#include "base/error.h"
#include "base/ids.h"
#include "kv/lmdb/lmdb_file.h"

namespace hexad::kv {

// Page structure, key order, separators, free pages, every entry's checksum, markers and segments,
// the LSN marker and its uuid, and that the entries together are what was written, which finds
// pages that a lost write has left as they were. Nobody may write meanwhile. Cost: reads every page
// in use once; memory: one bit per page and the heads of long keys. Errors: kCorruption, kIo.
Status check_lmdb_file(const LmdbFile& file, const Uuid& uuid);

// The part of that which LMDB steps into when it opens the file and the LSN marker is read: meta
// pages, what the trees are, the table of tables, the marker and its uuid. Without it even opening
// could end the process. Cost: a few pages. Errors: as above.
Status check_lmdb_head(const LmdbFile& file, const Uuid& uuid);

}  // namespace hexad::kv
