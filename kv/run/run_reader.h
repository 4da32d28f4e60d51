// Reads one run (doc/format.md, "Runs").
//
// A key that is not there costs a filter, one that is there a block of data more; filters and the
// index are kept as far as kRunCacheBytes goes (kv/run/run_source.h). Nothing is read before it is
// needed, and nothing is believed before its checksum fits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"
#include "io/executor.h"
#include "kv/run/run_cursor.h"
#include "kv/run/run_file.h"
#include "kv/run/run_format.h"
#include "kv/run/run_source.h"

namespace hexad::kv {

// Any thread; immutable.
class RunReader {
 public:
  using Cursor = RunCursor;

  struct Found {
    bool there = false;
    std::optional<std::string> value;  // nothing although there: a tombstone
  };

  // Reads the footer only. `executor`: for the lock of the cache; outlives the reader. Errors:
  // kCorruption (the file is not the run of this store that `info` is about), kUnsupported (a later
  // version), those of the file.
  static Result<std::shared_ptr<RunReader>> open(std::shared_ptr<const RunFile> file,
                                                 const Uuid& store, const RunInfo& info,
                                                 io::Executor& executor);

  // Cost when nothing is kept: a block of each level, one filter and one block of data. Errors:
  // kInvalidArgument (a key that cannot exist), kCorruption, those of the file.
  Result<Found> get(std::string_view key) const;
  // Lives as long as it likes, also after the reader.
  std::unique_ptr<Cursor> cursor() const { return std::make_unique<Cursor>(source_); }
  const RunInfo& info() const { return source_->info(); }
  // Reads and checks everything (kv/run/run_check.h).
  Status verify() const;
  // What is kept of index and filters, bytes.
  std::uint64_t cached_bytes() const { return source_->cached_bytes(); }

 private:
  explicit RunReader(std::shared_ptr<const RunSource> source) : source_(std::move(source)) {}

  const std::shared_ptr<const RunSource> source_;
};

}  // namespace hexad::kv
