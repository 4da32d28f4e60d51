// Reads one run (doc/format.md, "Runs").
//
// A key that is not there costs a filter, one that is there a block of data more, as far as these
// are not in the cache (kv/run/run_cache.h). Nothing is read before it is needed, and nothing is
// believed before its checksum fits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/ids.h"
#include "kv/run/run_cache.h"
#include "kv/run/run_cursor.h"
#include "kv/run/run_file.h"
#include "kv/run/run_format.h"
#include "kv/run/run_source.h"

namespace hexad::kv {

// Any thread; immutable.
class RunReader {
 public:
  using Cursor = RunCursor;

  using Reads = RunSource::Reads;

  struct Found {
    bool known = true;  // false: something that would have to be read for it was not
    bool there = false;
    std::optional<std::string_view> value;   // nothing although there: a tombstone
    std::shared_ptr<const RunBlock> holder;  // of `value`
  };

  // Reads the footer only. `cache` outlives the reader. Errors: kCorruption (the file is not the
  // run of this store that `info` is about), kUnsupported (a later version), those of the file.
  static Result<std::shared_ptr<RunReader>> open(std::shared_ptr<const RunFile> file,
                                                 const Uuid& store, const RunInfo& info,
                                                 RunCache& cache) {
    return open(std::move(file), store, info, cache, cache.new_run());
  }
  // The same, under a serial of new_run(), which is the reader's from here on when that is ok.
  static Result<std::shared_ptr<RunReader>> open(std::shared_ptr<const RunFile> file,
                                                 const Uuid& store, const RunInfo& info,
                                                 RunCache& cache, std::uint64_t serial);

  // Cost when nothing is kept: a block of each level, one filter and one block of data. Errors:
  // kInvalidArgument (a key that cannot exist), kCorruption, those of the file.
  Result<Found> get(std::string_view key, Reads reads = Reads::kAll) const;
  // Lives as long as it likes, also after the reader.
  std::unique_ptr<Cursor> cursor(RunCaching caching = RunCaching::kThrough) const {
    return std::make_unique<Cursor>(source_, caching);
  }
  const RunInfo& info() const { return source_->info(); }
  // Reads and checks everything (kv/run/run_check.h).
  Status verify() const;
  const RunSource& source() const { return *source_; }

 private:
  explicit RunReader(std::shared_ptr<const RunSource> source) : source_(std::move(source)) {}

  const std::shared_ptr<const RunSource> source_;
};

}  // namespace hexad::kv
