// Gives a local file or directory what an object remembers of it: owner, extended attributes, mode
// and modification time, in the order in which none undoes another.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "tools/import_export/posix_attributes.h"
#include "tools/import_export/transfer_options.h"

namespace hexad::tools {

// Set-user-id and set-group-id bits mean something with the owner that they were set for. kKeep: in
// any case.
enum class SetIdBits : std::uint8_t { kWithOwner, kKeep };
enum class Owners : std::uint8_t { kKeep, kIgnore };

struct MetadataRules {
  Owners owners = Owners::kKeep;
  SetIdBits set_id_bits = SetIdBits::kWithOwner;
  Xattrs xattrs = Xattrs::kKeep;
  std::uint32_t umask = 022;  // for files whose mode is not known
};

// What is not as it was.
struct MetadataLoss {
  bool owner = false;         // not for this user to set
  bool set_id_bits = false;   // left out, since the owner is another one
  bool rounded_time = false;  // by less than two seconds: the file system has no finer ones
  Status other;               // anything else, the first that failed
};

// `fallback`: the modification time of what remembers none. Only what differs is set. Errors: those
// of looking at the file.
Result<MetadataLoss> restore_metadata(int fd, const PosixAttributes& posix,
                                      const FileTime& fallback, const MetadataRules& rules,
                                      const std::string& subject);
// The same for a symbolic link, which has no mode.
Result<MetadataLoss> restore_link_metadata(int directory, const std::string& leaf,
                                           const PosixAttributes& posix, const MetadataRules& rules,
                                           const std::string& subject);

}  // namespace hexad::tools
