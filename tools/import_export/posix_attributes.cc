#include "tools/import_export/posix_attributes.h"

#include <fmt/format.h>

#include <charconv>

namespace hexad::tools {

namespace {

constexpr const char* kType = "posix.type";
constexpr const char* kMode = "posix.mode";
constexpr const char* kMtime = "posix.mtime_ns";
constexpr std::uint32_t kModeBits = 07777;

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

std::vector<std::pair<std::string, std::string>> encode(const PosixAttributes& posix) {
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.emplace_back(kType, type_name(posix.type));
  if (posix.mode) pairs.emplace_back(kMode, fmt::format("{:04o}", *posix.mode & kModeBits));
  if (posix.mtime_ns) pairs.emplace_back(kMtime, fmt::format("{}", *posix.mtime_ns));
  return pairs;
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
  posix.mtime_ns = parse_number<std::int64_t>(attributes, kMtime, 10);
  return posix;
}

void remove_posix_attributes(Transaction& transaction, std::string_view collection,
                             std::string_view name) {
  for (const char* attribute : {kType, kMode, kMtime}) {
    transaction.remove_attr(collection, name, attribute);
  }
}

}  // namespace hexad::tools
