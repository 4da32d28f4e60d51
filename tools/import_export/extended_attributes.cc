#include "tools/import_export/extended_attributes.h"

#include <errno.h>
#include <sys/xattr.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <string_view>

#include "tools/cli/file.h"
#include "tools/cli/names.h"

namespace hexad::tools {

namespace {

// The kernel's bounds for a list of names and for a value.
constexpr std::size_t kMostBytes = 65536;

// One file, by whatever way it is reached.
struct Target {
  std::function<ssize_t(char*, std::size_t)> list;
  std::function<ssize_t(const char*, char*, std::size_t)> get;
  std::function<int(const char*, const std::string&)> set;
  std::function<int(const char*)> remove;
};

Target open_file(int fd) {
  return {[fd](char* into, std::size_t size) { return flistxattr(fd, into, size); },
          [fd](const char* name, char* into, std::size_t size) {
            return fgetxattr(fd, name, into, size);
          },
          [fd](const char* name, const std::string& value) {
            return fsetxattr(fd, name, value.data(), value.size(), 0);
          },
          [fd](const char* name) { return fremovexattr(fd, name); }};
}

// There are no calls relative to a directory, so the directory is named by its descriptor.
Target entry(int directory, const std::string& leaf) {
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + leaf;
  return {[path](char* into, std::size_t size) { return llistxattr(path.c_str(), into, size); },
          [path](const char* name, char* into, std::size_t size) {
            return lgetxattr(path.c_str(), name, into, size);
          },
          [path](const char* name, const std::string& value) {
            return lsetxattr(path.c_str(), name, value.data(), value.size(), 0);
          },
          [path](const char* name) { return lremovexattr(path.c_str(), name); }};
}

Error attribute_error(int error_number, const std::string& subject, const char* doing,
                      std::string_view attribute) {
  return system_error(error_number, subject,
                      std::string(doing) + " extended attribute " + display_name(attribute));
}

Result<ExtendedAttributes> read_from(const Target& target, const std::string& subject) {
  ExtendedAttributes found;
  // Most files have none: asking for the size alone touches no memory.
  const ssize_t any = target.list(nullptr, 0);
  if (any == 0 || (any < 0 && errno == ENOTSUP)) return found;
  std::string names(kMostBytes, '\0');
  const ssize_t size = any < 0 ? any : target.list(names.data(), names.size());
  if (size < 0) return system_error(errno, subject, "cannot list the extended attributes");
  std::string value(kMostBytes, '\0');
  for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
    const char* const name = names.data() + at;
    at += std::strlen(name) + 1;
    const ssize_t length = target.get(name, value.data(), value.size());
    if (length < 0 && errno == ENODATA) continue;  // removed meanwhile
    if (length < 0) return attribute_error(errno, subject, "cannot read", name);
    found[name] = value.substr(0, static_cast<std::size_t>(length));
  }
  return found;
}

// Whether an attribute that the file should not have is taken away.
bool is_removed(std::string_view name) {
  return name.starts_with("user.") || name.starts_with("trusted.") ||
         name.starts_with("system.posix_acl_") || name == "security.capability";
}

Status write_to(const Target& target, const ExtendedAttributes& wanted,
                const std::string& subject) {
  Result<ExtendedAttributes> present = read_from(target, subject);
  if (!present.ok()) return present.error();
  Status first;
  const auto note = [&](const char* doing, std::string_view name) {
    if (first.ok()) first = attribute_error(errno, subject, doing, name);
  };
  for (const auto& [name, value] : *present) {
    if (wanted.contains(name) || !is_removed(name)) continue;
    if (target.remove(name.c_str()) != 0 && errno != ENODATA) note("cannot remove", name);
  }
  for (const auto& [name, value] : wanted) {
    const auto found = present->find(name);
    if (found != present->end() && found->second == value) continue;
    if (target.set(name.c_str(), value) != 0) note("cannot set", name);
  }
  return first;
}

}  // namespace

Result<ExtendedAttributes> read_extended_attributes(int fd, const std::string& subject) {
  return read_from(open_file(fd), subject);
}

Result<ExtendedAttributes> read_extended_attributes_at(int directory, const std::string& leaf,
                                                       const std::string& subject) {
  return read_from(entry(directory, leaf), subject);
}

Status write_extended_attributes(int fd, const ExtendedAttributes& wanted,
                                 const std::string& subject) {
  return write_to(open_file(fd), wanted, subject);
}

Status write_extended_attributes_at(int directory, const std::string& leaf,
                                    const ExtendedAttributes& wanted, const std::string& subject) {
  return write_to(entry(directory, leaf), wanted, subject);
}

}  // namespace hexad::tools
