// One object of a pool as a disk: a fixed number of bytes that are read and written at offsets.
#pragma once

#include <hexad/hexad.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hexad_nbd {

struct DiskOptions {
  std::string collection = hexad::kDefaultCollection;
  std::string object;
  std::optional<std::uint64_t> size = std::nullopt;        // bytes; a missing object is made so
  std::optional<std::uint64_t> cache_size = std::nullopt;  // bytes; RuntimeOptions::cache_size
};

// Any thread may call it. The store below starts threads: a process that forks opens its Disk
// afterwards.
class Disk {
 public:
  // Opens the store, and with it the object; makes a missing one as one hole of options.size.
  // Errors: those of Store::open(); kNotFound (no object, and no size to make it with);
  // kInvalidArgument (the object has another size).
  static hexad::Result<std::unique_ptr<Disk>> open(const hexad::PoolDescription& pool,
                                                   const DiskOptions& options);
  // A checkpoint; the store is clean. Without it the next opening recovers.
  hexad::Status close() { return store_.close(); }

  std::uint64_t size() const { return size_; }
  // All ranges lie inside the disk. Errors: those of Store::read() and Store::commit().
  hexad::Status read(std::uint64_t offset, hexad::MutByteView into);
  hexad::Status write(std::uint64_t offset, hexad::ByteView data, hexad::Durability durability);
  // A hole: reads as zeros and takes no space.
  hexad::Status punch(const hexad::ByteRange& range, hexad::Durability durability);
  // Every write and punch that was answered before is durable when this returns.
  hexad::Status flush() { return store_.sync(); }
  // What of the range holds data, ascending and a gap apart; the rest are holes.
  hexad::Result<std::vector<hexad::ByteRange>> data_in(const hexad::ByteRange& range);

 private:
  Disk(hexad::Store store, DiskOptions options, std::uint64_t size);

  hexad::Store store_;
  DiskOptions options_;
  std::uint64_t size_;
};

}  // namespace hexad_nbd
