// What an imported object remembers of the file it was: three attributes in plain text.
//
//   posix.type      "file", "directory" or "symlink"
//   posix.mode      permission bits in octal: "0644"
//   posix.mtime_ns  nanoseconds since 1970, decimal
//
// A directory's object ends in "/" and has no data; a symbolic link's data is its target.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/transaction.h"
#include "core/types.h"

namespace hexad::tools {

enum class FileType : std::uint8_t { kFile, kDirectory, kSymlink };

struct PosixAttributes {
  FileType type = FileType::kFile;
  std::optional<std::uint32_t> mode;  // permission bits, 07777
  std::optional<std::int64_t> mtime_ns;

  bool operator==(const PosixAttributes&) const = default;
};

// What to set on the object, names and values.
std::vector<std::pair<std::string, std::string>> encode(const PosixAttributes& posix);
// Fields that are missing or make no sense are left out: another application may have written
// the object. An unknown type is a file.
PosixAttributes decode(const Attributes& attributes);
// Forgets the file that the object was. Precondition: the object exists, or is made earlier in the
// same transaction.
void remove_posix_attributes(Transaction& transaction, std::string_view collection,
                             std::string_view name);

}  // namespace hexad::tools
