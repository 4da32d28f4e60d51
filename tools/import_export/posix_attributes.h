// What an imported object remembers of the file it was: attributes in plain text.
//
//   posix.type       "file", "directory" or "symlink"
//   posix.mode       permission bits in octal: "0644"
//   posix.mtime_ns   nanoseconds since 1970, decimal, of any length: times before 1677 and after
//                    2262 do not fit into 64 bits
//   posix.uid        numbers of owner and group, decimal
//   posix.gid
//   posix.ctime_ns   change time, as posix.mtime_ns, and inode number, decimal, of files and links:
//   posix.inode      which file it was, in which state, for the next import to compare
//   posix.link       the names of one file (hard links) have the same text here; any text
//   posix.xattr.N    the extended attribute N with its value, which may be any bytes
//   posix.xattrs     those of them that are entries of the object's omap instead, how many: names
//                    that are too long for an attribute, and what is more than an object may have
//
// A directory's object ends in "/" and has no data; a symbolic link's data is its target.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/api/transaction.h"
#include "core/api/types.h"
#include "core/store.h"
#include "tools/import_export/extended_attributes.h"

namespace hexad::tools {

inline constexpr const char* kLinkAttribute = "posix.link";

enum class FileType : std::uint8_t { kFile, kDirectory, kSymlink };

// As in struct timespec.
struct FileTime {
  std::int64_t seconds = 0;  // since 1970, rounded down
  std::uint32_t nanoseconds = 0;

  bool operator==(const FileTime&) const = default;
};

// Which file it was, and in which state: a file cannot change, nor another one take its name,
// without another mark. It means nothing beside other files than those that were imported.
struct FileMark {
  FileTime ctime;
  std::uint64_t inode = 0;

  bool operator==(const FileMark&) const = default;
};

struct PosixAttributes {
  FileType type = FileType::kFile;
  std::optional<std::uint32_t> mode;  // permission bits, 07777
  std::optional<FileTime> mtime;
  std::optional<std::uint32_t> uid = std::nullopt;
  std::optional<std::uint32_t> gid = std::nullopt;
  std::string link = "";  // empty: the file has one name
  ExtendedAttributes xattrs = {};
  // Of decode(): so many more are in the object's omap.
  std::uint64_t more_xattrs = 0;
  std::optional<FileMark> mark = std::nullopt;  // not of directories

  bool operator==(const PosixAttributes&) const = default;
};

// What the file system says. Without link and xattrs.
PosixAttributes posix_attributes(const struct stat& info, FileType type);

// What to store with the object.
struct EncodedAttributes {
  Attributes attributes;
  std::map<std::string, std::string> omap;  // extended attributes for which there was no room
};

// `room`: bytes that the attributes of extended attributes may take, names and values together.
inline constexpr std::size_t kRoomForXattrs = 32 << 10;
EncodedAttributes encode(const PosixAttributes& posix, std::size_t room = kRoomForXattrs);
// Fields that are missing or make no sense are left out: another application may have written
// the object. An unknown type is a file.
PosixAttributes decode(const Attributes& attributes);
// decode(), with those extended attributes that are in the object's omap. Errors: those of
// Store::omap_list().
Result<PosixAttributes> load_posix_attributes(Store& store, std::string_view collection,
                                              std::string_view name, const Attributes& attributes);

// Whether it is one of the attributes above.
bool is_posix_attribute(std::string_view attribute);
// Forgets the file that the object was; `attributes`: what it has. Precondition: the object exists,
// or is made earlier in the same transaction.
void remove_posix_attributes(Transaction& transaction, std::string_view collection,
                             std::string_view name, const Attributes& attributes);
// Stores what encode() gave. Same precondition.
void set_posix_attributes(Transaction& transaction, std::string_view collection,
                          std::string_view name, const EncodedAttributes& encoded);

}  // namespace hexad::tools
