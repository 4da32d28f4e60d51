// Streams: objects larger than memory, written and read piece by piece.
//
//   auto writer = store.open_writer("default", "video");
//   while (next_piece(piece)) HEXAD_TRY((*writer)->append(piece));
//   HEXAD_TRY((*writer)->commit().status());  // now the object has its new data
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

// Writes the data of one object from start to end; Store::open_writer() makes it.
//
// The object does not change before commit(), or before the commit of the transaction that
// publishes the writer. A writer that is destroyed before leaves nothing: its space is freed at
// once, or by the next opening after a crash. It must not outlive its store.
//
// Threads: one at a time.
class ObjectWriter {
 public:
  // Makes a writer of what the engine has of it. For Store::open_writer().
  explicit ObjectWriter(std::unique_ptr<core::StreamWriter> impl);
  ~ObjectWriter();
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  // Appends bytes, which are copied; blocks while the devices are behind.
  //
  // After an error the writer is spent: append(), skip(), set_attr() and commit() return the same
  // error.
  //
  // Errors: kTooBig (the object would be longer than kMaxObjectSize), kNoSpace, kIo, kReadOnly,
  // kClosed (the writer was committed or published before).
  Status append(ByteView data);
  // Appends a hole of `length` bytes, which read as zeros and take no space.
  //
  // Cost: none, however long it is. A hole inside one MiB costs one extent more, and is filled with
  // zeros where the MiB has 256 extents already.
  //
  // Errors: as append().
  Status skip(std::uint64_t length);
  // Sets an attribute of the object; it becomes visible together with the data. Attributes not
  // named stay as they are.
  //
  // Errors: kInvalidArgument (the name does not have 1 to 255 bytes; the writer goes on), kClosed;
  // that of the append() or skip() which failed before. The commit returns kTooBig if the object
  // would have more than kMaxAttributeBytes.
  Status set_attr(std::string_view name, std::string_view value);
  // Returns how many bytes the object has so far, holes included.
  std::uint64_t size() const;
  // Ends the data: writes what is still in memory, and waits for the devices that have not taken
  // everything. A commit or publish() behind it waits for nothing of the object's data, which is
  // what finish() is for; without it they do the same. Any number of times.
  //
  // Errors: as append(), which returns kClosed from now on, as does skip().
  Status finish();
  // Makes what was written the whole data of the object, durably, and returns the LSN; the writer
  // is spent afterwards, whatever the outcome.
  //
  // Transaction::publish() does the same together with other changes.
  //
  // Errors: those of append() and of Store::commit(); kNotFound (the collection was removed).
  Result<Lsn> commit();

 private:
  friend class Transaction;
  std::unique_ptr<core::StreamWriter> impl_;
};

// Reads one version of one object from start to end, or from any offset; Store::open_reader() makes
// it.
//
// The version is the one that the object had when the reader was opened, and stays readable
// whatever is written meanwhile. There are two exceptions, and reading fails with kConflict then:
// an object whose extents take more memory than RuntimeOptions::stream_buffer has changed; or what
// the version holds was removed or overwritten, and a commit found no other space. A reader must
// not outlive its store. While it exists, what was there when it was opened and has been freed
// since is not used again (SpaceUsage::held_by_readers); of what came later nothing is held.
//
// Threads: one at a time.
class ObjectReader {
 public:
  // Makes a reader of what the engine has of it. For Store::open_reader().
  explicit ObjectReader(std::unique_ptr<core::StreamReader> impl);
  ~ObjectReader();
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  // Returns size, version and more of that version of the object.
  const ObjectStat& stat() const;
  // Returns the attributes of that version of the object.
  const Attributes& attributes() const;
  // Reads up to into.size() bytes from the current position, moves it behind them, and returns how
  // many: 0 at the end of the object.
  //
  // Errors: kUnavailable (more than m cells are lost; names the object), kCorruption, kIo,
  // kConflict (see above). After an error the position has not moved.
  Result<std::uint64_t> read(MutByteView into);
  // Moves the current position, to any offset in bytes; behind the end there is nothing to read.
  void seek(std::uint64_t offset);

 private:
  std::unique_ptr<core::StreamReader> impl_;
};

}  // namespace hexad
