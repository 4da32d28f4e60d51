#include "tools/import_export/posix_attributes.h"

#include <catch2/catch.hpp>
#include <limits>

namespace hexad::tools {
namespace {

Attributes as_map(const PosixAttributes& posix) {
  Attributes attributes;
  for (const auto& [name, value] : encode(posix)) attributes[name] = value;
  return attributes;
}

TEST_CASE("posix_attributes: what is written is read back") {
  for (const FileType type : {FileType::kFile, FileType::kDirectory, FileType::kSymlink}) {
    for (const std::uint32_t mode : {0u, 0644u, 0755u, 07777u}) {
      for (const std::int64_t mtime :
           {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max(),
            std::numeric_limits<std::int64_t>::min()}) {
        const PosixAttributes posix{type, mode, mtime};
        CHECK(decode(as_map(posix)) == posix);
      }
    }
  }
}

TEST_CASE("posix_attributes: the text is what a person would write") {
  const Attributes attributes = as_map({FileType::kFile, 0644, 1'500'000'000'000'000'001});
  CHECK(attributes == Attributes{{"posix.mode", "0644"},
                                 {"posix.mtime_ns", "1500000000000000001"},
                                 {"posix.type", "file"}});
}

TEST_CASE("posix_attributes: objects of other applications are files without mode and time") {
  const PosixAttributes plain;
  CHECK(decode({}) == plain);
  CHECK(decode({{"posix.type", "socket"}}) == plain);
  for (const char* nonsense : {"", " 644", "0644 ", "rw-r--r--", "10000", "-1", "99999999999999"}) {
    CHECK(decode({{"posix.mode", nonsense}}) == plain);
  }
  for (const char* nonsense : {"", "now", "1.5", "99999999999999999999"}) {
    CHECK(decode({{"posix.mtime_ns", nonsense}}) == plain);
  }
}

}  // namespace
}  // namespace hexad::tools
