// Devices in memory: for stores that need not outlive the process, and for fast tests. Every
// request completes inside submit(), on the caller's thread, at the cost of one memcpy; nothing is
// ever volatile, so a flush does nothing.
//
// MemoryMedia is the content, a device is a handle to it: closing the device keeps the bytes, as
// closing a file does (io/memory_system.h).
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "io/device.h"
#include "io/system.h"

namespace hexad::io {

// Zeros until written; pages are taken from the operating system at their first write and given
// back by discard(). Any thread. Ranges are checked by the device, not here.
class MemoryMedia {
 public:
  // Errors: kNoSpace (the address space is refused).
  static Result<std::shared_ptr<MemoryMedia>> create(std::uint64_t size);
  MemoryMedia(const MemoryMedia&) = delete;
  MemoryMedia& operator=(const MemoryMedia&) = delete;
  ~MemoryMedia();

  std::uint64_t size() const;  // bytes
  void read(std::uint64_t offset, MutByteView into) const;
  // Zeros, where there are many at once, take no memory: they are what discard() leaves.
  void write(std::uint64_t offset, ByteView from);
  // The range reads as zeros afterwards.
  void discard(std::uint64_t offset, std::uint64_t length);
  // Errors: kNoSpace.
  Status grow(std::uint64_t new_size);

  // The lock of an open file: one writer or any number of readers. False when refused.
  bool try_lock(OpenMode mode);
  void unlock(OpenMode mode);

 private:
  MemoryMedia(std::byte* data, std::uint64_t size) : data_(data), size_(size) {}
  // With the lock held.
  void clear(std::uint64_t offset, std::uint64_t length);

  // Held shared by reads and writes (which do not overlap, D8), alone by grow(), which moves data_.
  mutable std::shared_mutex mutex_;
  std::byte* data_;
  std::uint64_t size_;
  int readers_ = 0;      // guarded by mutex_
  bool writer_ = false;  // guarded by mutex_
};

// Serves every memory device of a system.
std::unique_ptr<IoQueue> make_memory_queue();

struct MemoryBlocks {
  std::uint32_t logical = 512;    // bytes
  std::uint32_t physical = 4096;  // bytes
};

// A device over `media`, locked until it is destroyed. `queue` comes from make_memory_queue() and
// outlives the device. Errors: kBusy.
Result<std::unique_ptr<Device>> open_memory_device(std::string name,
                                                   std::shared_ptr<MemoryMedia> media,
                                                   OpenMode mode, MemoryBlocks blocks,
                                                   IoQueue& queue);

// A device with zeroed media of its own, open for reading and writing. `size` is a multiple of the
// logical block. Errors: kNoSpace.
Result<std::unique_ptr<Device>> make_memory_device(std::string name, std::uint64_t size,
                                                   IoQueue& queue, MemoryBlocks blocks = {});

}  // namespace hexad::io
