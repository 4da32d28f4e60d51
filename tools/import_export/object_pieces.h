// An object from start to end as pieces of data that fit into memory, and the holes between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/store.h"

namespace hexad::tools {

struct ObjectPiece {
  std::uint64_t offset = 0;  // in the object, bytes
  std::uint64_t length = 0;  // not 0
  bool hole = false;

  std::uint64_t end() const { return offset + length; }
  bool operator==(const ObjectPiece&) const = default;
};

// Asks for the extents of 4 GiB at a time, so that memory does not grow with the object. Meant for
// a pool that is open read-only: else each 4 GiB are of a state of their own.
class ObjectPieces {
 public:
  // `range` ends with the object (`size`). `at_most`: bytes of a piece of data; holes have any
  // length. The store outlives this.
  ObjectPieces(Store& store, std::string collection, std::string name, const ByteRange& range,
               std::uint64_t size, std::uint64_t at_most);

  // Nothing: that was the last one. Errors: those of Store::extents().
  Result<std::optional<ObjectPiece>> next();

 private:
  Status look_ahead();

  Store& store_;
  std::string collection_;
  std::string name_;
  std::uint64_t position_;
  std::uint64_t end_;
  std::uint64_t at_most_;
  std::uint64_t known_end_;  // `data_` has what there is before it
  std::vector<ByteRange> data_;
  std::size_t next_ = 0;  // of data_
};

}  // namespace hexad::tools
