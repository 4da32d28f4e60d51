// Which ranges of a file the file system still has to mark as written, durably. A first write into
// preallocated space or into a hole changes the file's metadata, and only a flush of that same file
// makes the change durable: a flush of another file on the disk saves the bytes and forgets where
// they are. A file device therefore makes such writes durable on its own (WriteMode::kDurable).
//
//   UW1 a range leaves the set only after a durable write to it, or a write and a flush of the file
//       that was submitted after that write had completed, have succeeded
//   UW2 so two first writes into one preallocated extent are each in the set, however they overlap
//       in time, and each is made durable by itself
//
// Any thread. One look-up among the ranges per request, nothing once the set is empty.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "base/os_mutex.h"

namespace hexad::io {

struct FileRange {
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;
  std::uint64_t end() const { return offset + length; }
  bool operator==(const FileRange&) const = default;
};

class UnwrittenRanges {
 public:
  // Preallocated, grown or punched: needs a first write, whatever was known of it.
  void add(FileRange range);
  // Whether any byte of it needs a first write.
  bool touches(FileRange range) const;
  // A durable write to it has succeeded.
  void written(FileRange range);
  // Another write to it has succeeded: the next flush of the file makes it written.
  void written_in_cache(FileRange range);
  // A flush of the file is being submitted; the ticket is for complete_flush().
  std::uint64_t begin_flush() const;
  // How it has ended: one of the two.
  void complete_flush(std::uint64_t ticket);
  void fail_flush();

  std::vector<FileRange> ranges() const;  // sorted, none touch

 private:
  struct Pending {
    FileRange range;
    std::uint64_t since;  // write_ when it was added or last extended
  };
  void remove_locked(FileRange range) HEXAD_REQUIRES(mutex_);

  mutable OsMutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ends_ HEXAD_GUARDED_BY(mutex_);  // by offset
  std::vector<Pending> pending_ HEXAD_GUARDED_BY(mutex_);  // written, not flushed; oldest first
  std::uint64_t writes_ HEXAD_GUARDED_BY(mutex_) = 0;      // written_in_cache() so far
  bool flush_failed_ HEXAD_GUARDED_BY(mutex_) = false;     // from then on only durable writes count
  std::atomic<bool> empty_{true};                          // of ends_
};

}  // namespace hexad::io
