// The engine's side of ObjectReader.
#pragma once

#include <memory>

#include "core/engine.h"

namespace hexad::core {

// Keeps its LSN pinned, so that the extents it read at opening stay where they are; the metadata of
// later pages is read from a fresh index snapshot at the same LSN when it is needed.
class StreamReader {
 public:
  static Result<std::unique_ptr<StreamReader>> open(Engine& engine, std::string_view collection,
                                                    std::string_view name);
  const ObjectStat& stat() const { return stat_; }
  const Attributes& attributes() const { return record_.attributes; }
  Result<std::uint64_t> read(MutByteView into);
  void seek(std::uint64_t offset) { position_ = offset; }

 private:
  StreamReader(Engine& engine, ReadState state) : engine_(engine), state_(std::move(state)) {}

  Engine& engine_;
  ReadState state_;
  ObjectRecord record_;
  ObjectStat stat_;
  std::string subject_;
  std::uint64_t position_ = 0;
};

}  // namespace hexad::core
