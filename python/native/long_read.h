// Reads that take long, step by step, so that Ctrl-C ends them between two steps:
// KeyboardInterrupt.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "python/native/store_handle.h"
#include "python/native/stream.h"

namespace hexad::python {

// Bytes of one step: a fraction of a second, also of devices that turn.
inline constexpr std::uint64_t kReadStep = 64 << 20;

// One version of an object, read from an offset on. On one thread's stack (StoreHandle::Hold).
class LongRead {
 public:
  LongRead(StoreHandle& handle, std::string_view collection, std::string_view name,
           std::uint64_t offset);
  LongRead(const LongRead&) = delete;
  LongRead& operator=(const LongRead&) = delete;
  ~LongRead();

  // How many bytes there are from the offset on.
  std::uint64_t left() const { return left_; }
  Lsn version() const { return version_; }
  // The next bytes; fewer only at the end. At most kReadStep of them at once.
  std::uint64_t step(MutByteView into);
  // The next into.size() bytes, which are there, step by step.
  void fill(MutByteView into);

 private:
  StoreHandle& handle_;
  const StoreHandle::Hold hold_;
  const std::string_view name_;
  std::shared_ptr<StreamPart<ObjectReader>> part_;
  std::uint64_t left_ = 0;
  Lsn version_ = 0;
};

// As Store::checksum(), of a range of any length.
RangeChecksum checksum(StoreHandle& handle, std::string_view collection, std::string_view name,
                       const ByteRange& range, ChecksumType type);

}  // namespace hexad::python
