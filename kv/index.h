// The fast-tier index: an ordered map from key to value that only checkpoints write, as durable as
// what it lies on: files (kv/lmdb/lmdb_index.h) or memory (kv/memory/memory_index.h). It holds
// nothing that the log and the coded devices do not hold as well, so every error of kCorruption
// means the same to the caller: drop it and build it again.
//
// Keys: 1 to kMaxIndexKey bytes, bytewise order, shorter first. Values: up to kMaxIndexValue bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"
#include "io/system.h"
#include "kv/walk.h"

namespace hexad::kv {

inline constexpr std::size_t kMaxIndexKey = 4096;            // bytes
inline constexpr std::uint64_t kMaxIndexValue = 128u << 20;  // bytes

// One change. The views are borrowed until apply() returns.
struct IndexChange {
  std::string_view key;
  std::optional<std::string_view> value;  // nothing: remove the key
};

struct IndexStats {
  std::uint64_t entries = 0;     // stored entries, the few that long keys need included
  std::uint64_t bytes_used = 0;  // in pages that hold something
  std::uint64_t bytes_free = 0;  // in pages inside the file that will be used again
  std::uint64_t file_bytes = 0;  // size of the file
  std::uint64_t page_size = 0;   // bytes; 0: there are no pages
};

// Walks the keys of one snapshot. After an error it is not valid. Views stay valid until the next
// step or the end of the reader, whichever is first. Every entry's checksum is checked. Cost: a
// seek is a descent of the tree, a step one entry in either direction; keys that were removed have
// left nothing behind.
class IndexCursor {
 public:
  virtual ~IndexCursor() = default;
  virtual Status seek(std::string_view key) = 0;         // the first key >= `key`
  virtual Status seek_before(std::string_view key) = 0;  // the last key < `key`
  virtual Status seek_to_first() = 0;
  virtual Status seek_to_last() = 0;
  // Precondition: valid().
  virtual Status next() = 0;
  virtual Status prev() = 0;
  // Steps on that way at least once and at most into.size() times, notes every entry that it steps
  // on, and stands on the last of these; returns how many. 0: there is no more that way, and it is
  // not valid. May stop early. An entry that cannot be read is an error when it is the first, else
  // it stops before that. What is noted stays valid like other views: until the next step, of any
  // kind. For long walks it is several times as fast as single steps.
  // Preconditions: valid(), room in `into`.
  virtual Result<std::size_t> advance(Direction direction, std::span<KeyValue> into) {
    HEXAD_TRY(direction == Direction::kForward ? next() : prev());
    if (!valid()) return std::size_t{0};
    into[0] = {key(), value()};
    return std::size_t{1};
  }
  virtual bool valid() const = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
};

// One consistent state of the index. Nobody waits for it to end, but the index gets larger as long
// as it is there: pages freed by checkpoints are used again when no older reader is left. One
// thread at a time; ends before the index does, and its cursors end before it.
class IndexReader {
 public:
  virtual ~IndexReader() = default;
  // The value, or nothing; valid until the reader ends. Errors: kCorruption, kInvalidArgument
  // (a key that cannot exist).
  virtual Result<std::optional<std::string_view>> get(std::string_view key) = 0;
  virtual Result<std::unique_ptr<IndexCursor>> cursor() = 0;

  // For those who may not wait for the devices of a pool. What an index that has files of its own
  // reads there does not count.
  struct Peeked {
    bool known = true;  // false: a device would have to be read
    std::optional<std::string_view> value;
  };
  // As get().
  virtual Result<Peeked> peek(std::string_view key) {
    HEXAD_TRY_ASSIGN(const std::optional<std::string_view> value, get(key));
    return Peeked{true, value};
  }
  // As cursor(), and where a device would have to be read, the error is kUnavailable.
  virtual Result<std::unique_ptr<IndexCursor>> memory_cursor() { return cursor(); }
  // get() is about to be called for all of these: what it would read one after the other is read at
  // once. What cannot be read, get() says.
  virtual void read_ahead(std::span<const std::string_view>) {}
  // Of this snapshot.
  virtual Lsn applied_lsn() const = 0;
  virtual Epoch applied_epoch() const = 0;
};

class Index {
 public:
  virtual ~Index() = default;

  // Any thread, any number at once. Waits for nobody. Errors: kCorruption (found to be cut), kIo.
  virtual Result<std::unique_ptr<IndexReader>> snapshot() = 0;
  // Whether get() may read devices of the pool, just now. Any thread.
  virtual bool reads_devices() const { return false; }

  // Applies `changes`, sorted by key without repeats, in one or several durable transactions; the
  // last one also says {lsn, epoch}. After a crash in between some of the changes are there and
  // the LSN is the old one: applying all changes since that LSN again gives the right state. One
  // thread at a time. Waits for no reader. An LSN below applied_lsn() is refused.
  // Errors: kInvalidArgument (not sorted, key or value too long, LSN goes back), kNoSpace (the
  // file system or the size limit; the index stays usable and keeps its LSN), kReadOnly, kIo and
  // kCorruption (the index takes no more changes: drop it).
  virtual Status apply(Lsn lsn, Epoch epoch, std::span<const IndexChange> changes) = 0;

  // All changes up to here are in the index. 0: new and empty.
  virtual Lsn applied_lsn() const = 0;
  virtual Epoch applied_epoch() const = 0;

  virtual Result<IndexStats> stats() = 0;
  // What apply() has written to its files since it was opened, in bytes: pages as a whole, those
  // that say what is free included. 0: it has no pages, or cannot tell. Any thread.
  virtual std::uint64_t bytes_written() const { return 0; }
  // Checks the structure and every entry's checksum and order, trusting nothing: a damaged file
  // is reported, not stepped into. Cost: reads the whole file. Not while apply() runs.
  // Errors: kCorruption, kIo.
  virtual Status verify() = 0;
};

// Where indexes are, each under the name of its directory. Any thread.
class IndexHome {
 public:
  virtual ~IndexHome() = default;
  // Opens the index of `store`, in kReadWrite creates it. Open for writing it is the only one, open
  // for reading one of any number. Ends before its home does. Errors: kNotFound (read-only and
  // missing), kBusy (open already), kCorruption (another store's, or no index), kNoSpace, kReadOnly
  // (may not write), kIo.
  virtual Result<std::unique_ptr<Index>> open(const std::string& directory, const Uuid& store,
                                              io::OpenMode mode) = 0;
  // Missing: ok. Errors: kIo.
  virtual Status remove(const std::string& directory) = 0;
  // Bytes that a new index could have there now, as far as that can be told. Nothing: it cannot.
  virtual std::optional<std::uint64_t> room(const std::string&) { return std::nullopt; }
};

}  // namespace hexad::kv
