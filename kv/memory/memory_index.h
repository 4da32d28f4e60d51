// Indexes in memory, for stores in memory and for tests: what one holds stays while its home does,
// so that it can be closed and opened again, and nothing outlives that. Entries carry no checksums,
// as little as those of a memtable do.
//
// A snapshot takes one short lock and waits for nobody, and apply() waits for no reader: each state
// is an immutable tree (kv/memory/memory_tree.h), which goes with the last reader of it. Changes
// are there all at once, never in slices.
#pragma once

#include <cstdint>
#include <memory>

#include "io/executor.h"
#include "kv/index.h"

namespace hexad::kv {

struct MemoryIndexOptions {
  // Bytes of one index, as IndexStats::bytes_used counts them; apply() beyond it is kNoSpace.
  std::uint64_t max_size = std::uint64_t{1} << 40;
};

// `executor` outlives it.
std::unique_ptr<IndexHome> make_memory_index_home(io::Executor& executor,
                                                  const MemoryIndexOptions& options = {});

}  // namespace hexad::kv
