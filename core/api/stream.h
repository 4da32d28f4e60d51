// Objects larger than memory: written and read piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/api/types.h"

namespace hexad {

class Transaction;

namespace core {
class StreamWriter;
class StreamReader;
}  // namespace core

// Writes the data of one object from start to end, and leaves holes in it. Nothing is visible until
// commit() (or the transaction that publishes the writer); a writer that is dropped leaves nothing:
// its space comes back at once, or at the next opening after a crash. One thread at a time. Must
// not outlive its store.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::unique_ptr<core::StreamWriter> impl);
  ~ObjectWriter();
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  // Copies `data`; blocks while the devices are behind. Errors: kNoSpace, kIo, kTooBig (2^44 - 1
  // bytes), kClosed (committed or failed before); after an error the writer is spent.
  Status append(ByteView data);
  // The next `length` bytes are a hole: they read as zeros and take no space. Errors as append().
  // Cost: none, however long it is; a hole inside one MiB costs what one extent more does, and is
  // filled with zeros where the MiB has 256 of them already.
  Status skip(std::uint64_t length);
  // Set together with the data by the publishing commit.
  Status set_attr(std::string_view name, std::string_view value);
  std::uint64_t size() const;  // bytes, holes included
  // Publishes alone. Transaction::publish() does it together with other changes.
  Result<Lsn> commit();

 private:
  friend class Transaction;
  std::unique_ptr<core::StreamWriter> impl_;
};

// Reads one object from start to end, or from any offset; the version is that of the opening. One
// thread at a time. Must not outlive its store.
class ObjectReader {
 public:
  explicit ObjectReader(std::unique_ptr<core::StreamReader> impl);
  ~ObjectReader();
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  const ObjectStat& stat() const;
  const Attributes& attributes() const;
  // Up to into.size() bytes from the current position, which moves on; 0 at the end.
  Result<std::uint64_t> read(MutByteView into);
  void seek(std::uint64_t offset);

 private:
  std::unique_ptr<core::StreamReader> impl_;
};

}  // namespace hexad
