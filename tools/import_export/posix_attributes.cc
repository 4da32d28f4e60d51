#include "tools/import_export/posix_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace hexad::tools {

namespace {

constexpr std::string_view kPrefix = "posix.";
constexpr const char* kType = "posix.type";
constexpr const char* kMode = "posix.mode";
constexpr const char* kMtime = "posix.mtime_ns";
constexpr const char* kCtime = "posix.ctime_ns";
constexpr const char* kInode = "posix.inode";
constexpr const char* kUid = "posix.uid";
constexpr const char* kGid = "posix.gid";
constexpr const char* kMoreXattrs = "posix.xattrs";
// Also before the keys of the omap; behind all of them comes the other.
constexpr std::string_view kXattr = "posix.xattr.";
constexpr std::string_view kBehindXattrs = "posix.xattr/";
constexpr std::uint32_t kModeBits = 07777;
constexpr std::size_t kMaxAttributeName = 255;  // bytes
constexpr __int128 kSecond = 1'000'000'000;     // nanoseconds
constexpr std::size_t kMaxTimeDigits = 30;      // more than 64 bits of seconds have

template <typename T>
std::optional<T> parse_number(const Attributes& attributes, std::string_view name, int base) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return std::nullopt;
  const std::string& text = found->second;
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string time_text(const FileTime& time) {
  const __int128 total = time.seconds * kSecond + time.nanoseconds;
  return fmt::format("{}", total);
}

std::optional<FileTime> parse_time(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return std::nullopt;
  std::string_view digits = found->second;
  const bool negative = digits.starts_with("-");
  if (negative) digits.remove_prefix(1);
  if (digits.empty() || digits.size() > kMaxTimeDigits) return std::nullopt;
  __int128 total = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    total = total * 10 + (digit - '0');
  }
  if (negative) total = -total;
  const __int128 rest = (total % kSecond + kSecond) % kSecond;
  const __int128 seconds = (total - rest) / kSecond;
  if (seconds < std::numeric_limits<std::int64_t>::min() ||
      seconds > std::numeric_limits<std::int64_t>::max()) {
    return std::nullopt;
  }
  return FileTime{static_cast<std::int64_t>(seconds), static_cast<std::uint32_t>(rest)};
}

const char* type_name(FileType type) {
  switch (type) {
    case FileType::kFile:
      break;
    case FileType::kDirectory:
      return "directory";
    case FileType::kSymlink:
      return "symlink";
  }
  return "file";
}

}  // namespace

PosixAttributes posix_attributes(const struct stat& info, FileType type) {
  PosixAttributes posix;
  posix.type = type;
  posix.mode = info.st_mode & kModeBits;
  posix.mtime = FileTime{info.st_mtim.tv_sec, static_cast<std::uint32_t>(info.st_mtim.tv_nsec)};
  posix.uid = info.st_uid;
  posix.gid = info.st_gid;
  if (type != FileType::kDirectory) {
    posix.mark = FileMark{{info.st_ctim.tv_sec, static_cast<std::uint32_t>(info.st_ctim.tv_nsec)},
                          info.st_ino};
  }
  return posix;
}

EncodedAttributes encode(const PosixAttributes& posix, std::size_t room) {
  EncodedAttributes encoded;
  Attributes& attributes = encoded.attributes;
  attributes[kType] = type_name(posix.type);
  if (posix.mode) attributes[kMode] = fmt::format("{:04o}", *posix.mode & kModeBits);
  if (posix.mtime) attributes[kMtime] = time_text(*posix.mtime);
  if (posix.mark) {
    attributes[kCtime] = time_text(posix.mark->ctime);
    attributes[kInode] = std::to_string(posix.mark->inode);
  }
  if (posix.uid) attributes[kUid] = std::to_string(*posix.uid);
  if (posix.gid) attributes[kGid] = std::to_string(*posix.gid);
  if (!posix.link.empty()) attributes[kLinkAttribute] = posix.link;
  for (const auto& [name, value] : posix.xattrs) {
    const std::string key = std::string(kXattr) + name;
    if (key.size() <= kMaxAttributeName && key.size() + value.size() <= room) {
      room -= key.size() + value.size();
      attributes[key] = value;
    } else {
      encoded.omap[key] = value;
    }
  }
  if (!encoded.omap.empty()) attributes[kMoreXattrs] = std::to_string(encoded.omap.size());
  return encoded;
}

PosixAttributes decode(const Attributes& attributes) {
  PosixAttributes posix;
  const auto type = attributes.find(kType);
  if (type != attributes.end()) {
    for (const FileType known : {FileType::kDirectory, FileType::kSymlink}) {
      if (type->second == type_name(known)) posix.type = known;
    }
  }
  posix.mode = parse_number<std::uint32_t>(attributes, kMode, 8);
  if (posix.mode && *posix.mode > kModeBits) posix.mode.reset();
  posix.mtime = parse_time(attributes, kMtime);
  const std::optional<FileTime> ctime = parse_time(attributes, kCtime);
  const auto inode = parse_number<std::uint64_t>(attributes, kInode, 10);
  if (ctime && inode) posix.mark = FileMark{*ctime, *inode};
  posix.uid = parse_number<std::uint32_t>(attributes, kUid, 10);
  posix.gid = parse_number<std::uint32_t>(attributes, kGid, 10);
  const auto link = attributes.find(kLinkAttribute);
  if (link != attributes.end()) posix.link = link->second;
  for (auto at = attributes.lower_bound(kXattr);
       at != attributes.end() && at->first.starts_with(kXattr); ++at) {
    posix.xattrs[at->first.substr(kXattr.size())] = at->second;
  }
  posix.more_xattrs = parse_number<std::uint64_t>(attributes, kMoreXattrs, 10).value_or(0);
  return posix;
}

Result<PosixAttributes> load_posix_attributes(Store& store, std::string_view collection,
                                              std::string_view name, const Attributes& attributes) {
  PosixAttributes posix = decode(attributes);
  if (posix.more_xattrs == 0) return posix;
  OmapOptions options;
  options.start_after = kXattr;
  options.end = kBehindXattrs;
  for (bool more = true; more;) {
    HEXAD_TRY_ASSIGN(const OmapPage page, store.omap_list(collection, name, options));
    for (const OmapEntry& entry : page.entries) {
      posix.xattrs[entry.key.substr(kXattr.size())] = as_text(entry.value);
    }
    more = !page.next.empty();
    options.start_after = page.next;
  }
  posix.more_xattrs = 0;
  return posix;
}

bool is_posix_attribute(std::string_view attribute) { return attribute.starts_with(kPrefix); }

void remove_posix_attributes(Transaction& transaction, std::string_view collection,
                             std::string_view name, const Attributes& attributes) {
  for (const auto& [attribute, value] : attributes) {
    if (is_posix_attribute(attribute)) transaction.remove_attr(collection, name, attribute);
  }
  if (attributes.contains(kMoreXattrs)) {
    transaction.omap_remove_range(collection, name, kXattr, kBehindXattrs);
  }
}

void set_posix_attributes(Transaction& transaction, std::string_view collection,
                          std::string_view name, const EncodedAttributes& encoded) {
  transaction.set_attrs(collection, name, encoded.attributes);
  for (const auto& [key, value] : encoded.omap) {
    transaction.omap_set(collection, name, key, value);
  }
}

}  // namespace hexad::tools
