// The blocks and filters of one run: found in the cache, or read, checked, and kept there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "kv/run/run_block.h"
#include "kv/run/run_cache.h"
#include "kv/run/run_file.h"
#include "kv/run/run_filter.h"
#include "kv/run/run_format.h"

namespace hexad::kv {

inline constexpr std::uint64_t kRunReadAhead = 128 << 10;  // bytes

// Any thread. Two that want one block at once may both read it.
// Errors of all: kCorruption with the LSNs of the run, the offset of the block and a hint; those of
// the file.
class RunSource {
 public:
  RunSource(std::shared_ptr<const RunFile> file, const RunFooter& footer, RunCache& cache)
      : file_(std::move(file)), footer_(footer), cache_(cache), serial_(cache.new_run()) {}

  const RunFooter& footer() const { return footer_; }
  const RunInfo& info() const { return footer_.info; }
  const RunFile& file() const { return *file_; }

  // --- past the cache ---
  Result<RunBlock> read_block(const RunBlockAddress& address) const;
  // `stored`: the block's bytes in the file.
  Result<RunBlock> parse_block(const RunBlockAddress& address, ByteView stored) const;
  Result<RunFilter> read_filter(const RunBlockAddress& address) const;
  Status read_bytes(std::uint64_t offset, MutByteView out) const;

  // --- through it ---
  // What a look-up may do for a piece that is not kept.
  enum class Reads : std::uint8_t {
    kNone,      // nothing
    kDataOnly,  // read it, when it is a block of data
    kAll,       // read it
  };
  // Null: not kept, and not read.
  Result<std::shared_ptr<const RunBlock>> index_block(const RunBlockAddress& address,
                                                      Reads reads = Reads::kAll) const;
  Result<std::shared_ptr<const RunFilter>> filter(const RunBlockAddress& address,
                                                  Reads reads = Reads::kAll) const;
  Result<std::shared_ptr<const RunBlock>> data_block(const RunBlockAddress& address,
                                                     Reads reads = Reads::kAll,
                                                     RunAdmit admit = RunAdmit::kAll) const;
  // Null: not kept.
  std::shared_ptr<const RunPiece> find(RunPieceKind kind, const RunBlockAddress& address,
                                       RunCache::Asking asking) const {
    return cache_.find({kind, serial_, address.offset}, asking);
  }
  // `stored`: the piece's bytes in the file, which were read since it was not kept.
  Result<std::shared_ptr<const RunPiece>> keep(RunPieceKind kind, const RunBlockAddress& address,
                                               ByteView stored) const;
  std::shared_ptr<const RunBlock> keep_data(const RunBlockAddress& address, RunBlock block,
                                            RunAdmit admit) const;

  // What the entry `at` of the block `index` names.
  Result<RunChild> child(const RunBlockAddress& index_address, const RunBlock& index,
                         std::size_t at, RunBlockKind kind) const;
  Error corrupt(std::uint64_t offset, const std::string& what) const;

 private:
  Result<std::shared_ptr<const RunPiece>> piece(RunPieceKind kind, const RunBlockAddress& address,
                                                Reads reads, RunAdmit admit) const;
  Result<RunPiece> parse(RunPieceKind kind, const RunBlockAddress& address, ByteView stored) const;
  Result<std::string> unpack(const RunBlockAddress& address, ByteView stored) const;

  const std::shared_ptr<const RunFile> file_;
  const RunFooter footer_;
  RunCache& cache_;
  const std::uint64_t serial_;  // RB4
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
