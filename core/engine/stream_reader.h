// The engine's side of ObjectReader.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/engine/engine.h"

namespace hexad::core {

// Keeps its LSN pinned, so that the space of its version is not reused. Holds no snapshot of the
// index, which would get larger with every checkpoint meanwhile: the pages are copied at opening,
// encoded as they are (about 0.4 KiB per MiB of object). An object with more of them than
// RuntimeOptions::stream_buffer holds (some 40 GiB by default) is read from the present state as
// long as it has not changed, and ends with kConflict when it has.
class StreamReader {
 public:
  static Result<std::unique_ptr<StreamReader>> open(Engine& engine, std::string_view collection,
                                                    std::string_view name);
  const ObjectStat& stat() const { return stat_; }
  const Attributes& attributes() const { return record_.attributes; }
  Result<std::uint64_t> read(MutByteView into);
  void seek(std::uint64_t offset) { position_ = offset; }
  bool in_child() const { return engine_.in_child(); }

 private:
  explicit StreamReader(Engine& engine) : engine_(engine) {}
  // Sets copied_: false when the pages do not fit.
  Status copy_pages(MetaView& view);
  Status read_copied(std::uint64_t offset, MutByteView out);
  Status read_present(std::uint64_t offset, MutByteView out);

  Engine& engine_;
  ReadPins::Pin pin_;
  OpenReaders::Entry listed_;  // while it has a pin
  std::string collection_;
  std::string name_;
  CollectionId space_ = 0;  // of the name then
  ObjectRecord record_;
  bool copied_ = true;
  std::map<std::uint32_t, std::string> pages_;  // encoded; when the object has any
  ObjectStat stat_;
  std::string subject_;
  std::uint64_t position_ = 0;
};

}  // namespace hexad::core
