// The index in an LMDB environment (doc/format.md, "LMDB index"): default sync mode, so that a
// commit is durable when it returns and a crash at any point leaves the state before or after it.
//
// The file is extended and synced before the map is allowed to use the new part; so the file is
// never shorter than what its meta pages mention, and a shorter one is refused before it is
// mapped, where it would be a SIGBUS. Growing waits for no reader (kv/lmdb/lmdb_snapshot.h); a
// reader that stays costs room, since the pages of its state are not used again. Where the process
// may not have the address space, the index does not grow: kNoSpace.
//
// LMDB itself trusts its pages. A directory that may have been damaged is checked first with
// verify_lmdb_file(), which reads and trusts nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/ids.h"
#include "io/executor.h"
#include "io/system.h"
#include "kv/index.h"

namespace hexad::kv {

struct LmdbOptions {
  std::string dir;  // created (0700) when missing and writable; holds data.mdb and lock.mdb (0600)
  Uuid uuid;        // of the store
  io::OpenMode mode = io::OpenMode::kReadWrite;
  std::uint64_t initial_size = 4u << 20;            // bytes
  std::uint64_t max_size = std::uint64_t{1} << 40;  // bytes; the budget of this environment
  // So many states are kept for readers one by one, each with any number of readers. Where there
  // are more, one keeps the pages of those after it, too.
  std::uint32_t max_pins = 1000;
  // A transaction is ended and the next one begun when about so many pages may have changed.
  std::uint32_t pages_per_slice = 32768;
};

// Opens, in kReadWrite creates. One Index per directory and process. Read-only opening writes
// nothing, needs no lock file, works on a read-only file system, and relies on the caller that
// nobody writes meanwhile.
// Errors: kNotFound (read-only and missing), kCorruption (not an index of ours, short, another
// store's, no LSN marker: drop the directory and build it again), kNoSpace, kReadOnly (may not
// write), kIo.
Result<std::unique_ptr<Index>> open_lmdb_index(const LmdbOptions& options, io::Executor& executor);

// Checks a data.mdb without LMDB and without mapping it: meta pages, page structure, key order,
// every entry's checksum, uuid. Nobody may write meanwhile. Cost: reads all pages in use.
// Errors: kNotFound, kCorruption, kIo.
Status verify_lmdb_file(const std::string& dir, const Uuid& uuid);

// Deletes data.mdb and lock.mdb and the directory if then empty; missing files are fine.
// Errors: kIo.
Status remove_lmdb_index(const std::string& dir);

// The indexes in directories of the operating system, as the functions above open and remove them.
// `like`: sizes and limits; what else it says counts for nothing. `executor` outlives it and them.
std::unique_ptr<IndexHome> make_lmdb_home(io::Executor& executor, const LmdbOptions& like = {});

}  // namespace hexad::kv
