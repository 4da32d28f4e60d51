// Extended attributes of local files: what users, access control lists (system.posix_acl_access and
// _default) and capabilities (security.capability) keep beside a file's bytes.
#pragma once

#include <map>
#include <string>

#include "base/error.h"

namespace hexad::tools {

// By the kernel's full name: "user.note".
using ExtendedAttributes = std::map<std::string, std::string, std::less<>>;

// Those of an open file, as far as this user may see them; none where the file system has none.
Result<ExtendedAttributes> read_extended_attributes(int fd, const std::string& subject);
// Those of the entry itself, also of a symbolic link. Needs /proc.
Result<ExtendedAttributes> read_extended_attributes_at(int directory, const std::string& leaf,
                                                       const std::string& subject);

// Makes the file have these: sets what differs, removes what else is there. Never removed: what the
// system itself gives to files (labels of security modules). Goes on behind a failure; errors: that
// of the first, which names the attribute.
Status write_extended_attributes(int fd, const ExtendedAttributes& wanted,
                                 const std::string& subject);
Status write_extended_attributes_at(int directory, const std::string& leaf,
                                    const ExtendedAttributes& wanted, const std::string& subject);

}  // namespace hexad::tools
