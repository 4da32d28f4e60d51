// Where the bytes of a run are (kv/run/run_reader.h, kv/run/run_writer.h). kv knows nothing of
// stripes: who stores runs implements these two.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/error.h"

namespace hexad::kv {

class RunFile;

struct RunRead {
  const RunFile* file = nullptr;
  std::uint64_t offset = 0;
  MutByteView out;
};

// A whole run. Immutable; any thread.
class RunFile {
 public:
  virtual ~RunFile() = default;
  virtual std::uint64_t size() const = 0;  // bytes
  // All of `out`; it lies inside size(). Errors: kIo, kCorruption, kUnavailable.
  virtual Status read(std::uint64_t offset, MutByteView out) const = 0;
  // All of the reads, which are of files that were made by whoever made this one: at the same time
  // where that is possible. Errors: those of any.
  virtual Status read_together(std::span<const RunRead> reads) const {
    for (const RunRead& one : reads) HEXAD_TRY(one.file->read(one.offset, one.out));
    return {};
  }
};

// Takes the bytes of a run from the first to the last. One thread.
class RunSink {
 public:
  virtual ~RunSink() = default;
  // `bytes` are borrowed until the call returns. After an error the run is lost.
  virtual Status append(ByteView bytes) = 0;
};

}  // namespace hexad::kv
