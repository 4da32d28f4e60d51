// The blocks and filters of one run: found in the cache, or read, checked, and kept there. What is
// read comes from a faster device where the cache has a copy there, else from the file of the run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
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
  // `serial`: of the cache's new_run(), which nobody else has had (RB4).
  RunSource(std::shared_ptr<const RunFile> file, const RunFooter& footer, RunCache& cache,
            std::uint64_t serial)
      : file_(std::move(file)), footer_(footer), cache_(cache), serial_(serial) {}
  ~RunSource() { cache_.end_run(serial_); }  // FB1 of kv/run/resident_pieces.h
  RunSource(const RunSource&) = delete;
  RunSource& operator=(const RunSource&) = delete;

  const RunFooter& footer() const { return footer_; }
  const RunInfo& info() const { return footer_.info; }
  const RunFile& file() const { return *file_; }

  // --- past the cache ---
  Result<RunBlock> read_block(const RunBlockAddress& address) const;
  // `stored`: the block's bytes in the file.
  Result<RunBlock> parse_block(const RunBlockAddress& address, ByteView stored) const;
  // Whether `stored` is what the address is of; it is not unpacked.
  Status check_stored(const RunBlockAddress& address, ByteView stored) const;
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
  // Whether a faster device has a copy of it.
  bool has_copy(RunPieceKind kind, const RunBlockAddress& address) const {
    return cache_.has_stored({kind, serial_, address.offset});
  }
  // Null: not kept.
  std::shared_ptr<const RunPiece> find(RunPieceKind kind, const RunBlockAddress& address,
                                       RunCache::Asking asking) const {
    return cache_.find({kind, serial_, address.offset}, asking);
  }
  std::shared_ptr<const RunBlock> keep_data(const RunBlockAddress& address, RunBlock block,
                                            RunAdmit admit) const;

  // Several pieces, of any sources of one cache, which are not kept.
  struct Wanted {
    const RunSource* source = nullptr;
    RunPieceKind kind = RunPieceKind::kData;
    RunBlockAddress address;
    std::shared_ptr<const RunPiece> piece = nullptr;  // the outcome

    RunPieceKey key() const { return {kind, source->serial_, address.offset}; }
  };
  // Reads, checks and keeps all of them, together where that is possible. Errors: of any; the
  // pieces that are there are there.
  static Status read_together(std::span<Wanted> wanted, RunAdmit admit);

  // What the entry `at` of the block `index` names.
  Result<RunChild> child(const RunBlockAddress& index_address, const RunBlock& index,
                         std::size_t at, RunBlockKind kind) const;
  Error corrupt(std::uint64_t offset, const std::string& what) const;

 private:
  using ReadFiles = Status (*)(std::span<const RunRead>);  // at least one
  static Status read_all(std::span<Wanted> wanted, RunAdmit admit, ReadFiles read_files);
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
