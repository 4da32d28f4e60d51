// The blocks of one run: read, checked, and those of the index and the filters kept for a while.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "io/executor.h"
#include "kv/run/run_block.h"
#include "kv/run/run_file.h"
#include "kv/run/run_filter.h"
#include "kv/run/run_format.h"

namespace hexad::kv {

inline constexpr std::uint64_t kRunCacheBytes = 4 << 20;   // of index and filters of one run
inline constexpr std::uint64_t kRunReadAhead = 128 << 10;  // bytes

// Any thread. Two that want one block at once may both read it.
// Errors of all: kCorruption with the LSNs of the run, the offset of the block and a hint; those of
// the file.
class RunSource {
 public:
  RunSource(std::shared_ptr<const RunFile> file, const RunFooter& footer, io::Executor& executor)
      : file_(std::move(file)), footer_(footer), mutex_(executor) {}

  const RunFooter& footer() const { return footer_; }
  const RunInfo& info() const { return footer_.info; }

  // Not kept.
  Result<RunBlock> read_block(const RunBlockAddress& address) const;
  // `stored`: the block's bytes in the file.
  Result<RunBlock> parse_block(const RunBlockAddress& address, ByteView stored) const;
  Result<RunFilter> read_filter(const RunBlockAddress& address) const;
  Status read_bytes(std::uint64_t offset, MutByteView out) const;
  // Kept while there is room, the ones used last first.
  Result<std::shared_ptr<const RunBlock>> index_block(const RunBlockAddress& address) const;
  Result<std::shared_ptr<const RunFilter>> filter(const RunBlockAddress& address) const;
  // What the entry `at` of the block `index` names.
  Result<RunChild> child(const RunBlockAddress& index_address, const RunBlock& index,
                         std::size_t at, RunBlockKind kind) const;

  Error corrupt(std::uint64_t offset, const std::string& what) const;
  // Memory that the kept blocks take, bytes.
  std::uint64_t cached_bytes() const;

 private:
  struct Kept {
    std::uint64_t offset = 0;
    std::shared_ptr<const RunBlock> block;    // one
    std::shared_ptr<const RunFilter> filter;  // of the two
    std::uint64_t memory = 0;
  };

  Result<std::string> read_raw(const RunBlockAddress& address) const;
  Result<std::string> unpack(const RunBlockAddress& address, ByteView stored) const;
  Kept find_kept(std::uint64_t offset) const;
  void keep(Kept kept) const;

  const std::shared_ptr<const RunFile> file_;
  const RunFooter footer_;
  // Guards what follows; a leaf in the order of locks, never held while reading.
  mutable io::Mutex mutex_;
  mutable std::list<Kept> kept_;  // used last first
  mutable std::unordered_map<std::uint64_t, std::list<Kept>::iterator> by_offset_;
  mutable std::uint64_t kept_bytes_ = 0;
};

// Blocks of data one behind the other, many with one read. One thread; ends before the source does.
class RunWindow {
 public:
  // Reads as far as kRunReadAhead goes, but not beyond `end`, where something else begins.
  Result<RunBlock> block(const RunSource& source, const RunBlockAddress& address,
                         std::uint64_t end);

 private:
  Bytes bytes_;
  std::uint64_t offset_ = 0;  // of them in the file
};

}  // namespace hexad::kv
