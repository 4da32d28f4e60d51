#include "tools/import_export/posix_attributes.h"

#include <catch2/catch.hpp>
#include <limits>

#include "tests/core/store_fixture.h"

namespace hexad::tools {
namespace {

using hexad::testing::StoreFixture;

constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

TEST_CASE("posix_attributes: what is written is read back, whatever the time") {
  for (const FileType type : {FileType::kFile, FileType::kDirectory, FileType::kSymlink}) {
    for (const std::uint32_t mode : {0u, 0644u, 0755u, 07777u}) {
      // 1677 and 2262 are where 64 bits of nanoseconds end.
      for (const std::int64_t seconds :
           {std::int64_t{0}, std::int64_t{-1}, std::int64_t{-9223372037}, std::int64_t{9223372037},
            kFirst, kLast}) {
        for (const std::uint32_t nanoseconds : {0u, 1u, 999'999'999u}) {
          CAPTURE(mode, seconds, nanoseconds);
          PosixAttributes posix{type, mode, FileTime{seconds, nanoseconds}};
          CHECK(decode(encode(posix).attributes) == posix);
        }
      }
    }
  }
  PosixAttributes posix{FileType::kFile, 0600, FileTime{1, 2}, 4294967294u, 0u, "group \xff", {}};
  posix.xattrs = {{"user.note", std::string("\0binary\xff", 8)}, {"user.empty", ""}};
  posix.mark = FileMark{FileTime{-1, 999'999'999}, 0};
  const EncodedAttributes encoded = encode(posix);
  CHECK(encoded.omap.empty());
  CHECK(decode(encoded.attributes) == posix);
}

TEST_CASE("posix_attributes: the text is what a person would write") {
  PosixAttributes posix{FileType::kFile, 0644, FileTime{1'500'000'000, 1}, 1000u, 100u, "g1", {}};
  posix.xattrs = {{"user.note", "x"}};
  posix.mark = FileMark{FileTime{1'700'000'000, 2}, 18446744073709551615u};
  CHECK(encode(posix).attributes == Attributes{{"posix.ctime_ns", "1700000000000000002"},
                                               {"posix.gid", "100"},
                                               {"posix.inode", "18446744073709551615"},
                                               {"posix.link", "g1"},
                                               {"posix.mode", "0644"},
                                               {"posix.mtime_ns", "1500000000000000001"},
                                               {"posix.type", "file"},
                                               {"posix.uid", "1000"},
                                               {"posix.xattr.user.note", "x"}});
  CHECK(encode({FileType::kFile, {}, FileTime{-1, 999'999'999}}).attributes ==
        Attributes{{"posix.mtime_ns", "-1"}, {"posix.type", "file"}});
  CHECK(encode({FileType::kFile, {}, FileTime{13'569'465'600, 0}}).attributes ==
        Attributes{{"posix.mtime_ns", "13569465600000000000"}, {"posix.type", "file"}});
}

TEST_CASE("posix_attributes: objects of other applications are files without mode and time") {
  const PosixAttributes plain;
  CHECK(decode({}) == plain);
  CHECK(decode({{"posix.type", "socket"}}) == plain);
  for (const char* nonsense : {"", " 644", "0644 ", "rw-r--r--", "10000", "-1", "99999999999999"}) {
    CHECK(decode({{"posix.mode", nonsense}}) == plain);
  }
  for (const char* nonsense : {"", "-", "--1", "now", "1.5", "+1", "9223372036854775808000000000",
                               "99999999999999999999999999999999999999999999999999"}) {
    CAPTURE(nonsense);
    CHECK(decode({{"posix.mtime_ns", nonsense}}) == plain);
  }
  CHECK(decode({{"posix.ctime_ns", "1"}}) == plain);
  CHECK(decode({{"posix.inode", "1"}}) == plain);
  CHECK(decode({{"posix.ctime_ns", "now"}, {"posix.inode", "1"}}) == plain);
  CHECK(decode({{"posix.ctime_ns", "1"}, {"posix.inode", "-1"}}) == plain);
  for (const char* nonsense : {"", "-1", "4294967296", "root"}) {
    CHECK(decode({{"posix.uid", nonsense}}) == plain);
    CHECK(decode({{"posix.gid", nonsense}}) == plain);
  }
}

TEST_CASE("posix_attributes: extended attributes without room in an object's go into its omap") {
  StoreFixture fixture;
  Store store = fixture.open();
  PosixAttributes posix{FileType::kFile, 0600, FileTime{1, 2}};
  posix.xattrs["user." + std::string(250, 'n')] = "its name is too long";
  for (int i = 0; i < 30; ++i) posix.xattrs["user.v" + std::to_string(i)] = std::string(4000, 'v');
  posix.xattrs["user.large"] = std::string(65536, 'l');
  const EncodedAttributes encoded = encode(posix);
  CHECK(encoded.omap.size() >= 2);
  CHECK(encoded.attributes.contains("posix.xattrs"));

  const auto stored = [&] {
    const Attributes attributes = store.attributes(kDefaultCollection, "a").value();
    return load_posix_attributes(store, kDefaultCollection, "a", attributes).value();
  };
  Transaction t;
  t.put(kDefaultCollection, "a", "data");
  t.set_attr(kDefaultCollection, "a", "author", "Mary");
  t.omap_set(kDefaultCollection, "a", "key", "value");
  set_posix_attributes(t, kDefaultCollection, "a", encoded);
  REQUIRE(store.commit(std::move(t)).ok());
  CHECK(stored() == posix);

  // Forgotten, nothing of the file is left, and what is not the file's is.
  Transaction forget;
  remove_posix_attributes(forget, kDefaultCollection, "a",
                          store.attributes(kDefaultCollection, "a").value());
  REQUIRE(store.commit(std::move(forget)).ok());
  CHECK(store.attributes(kDefaultCollection, "a").value() == Attributes{{"author", "Mary"}});
  CHECK(store.omap_list(kDefaultCollection, "a")->entries.size() == 1);
  CHECK(stored() == PosixAttributes());
}

TEST_CASE("posix_attributes: what the file system says is taken as it is") {
  struct stat info = {};
  info.st_mode = S_IFREG | 04750;
  info.st_uid = 7;
  info.st_gid = 8;
  info.st_mtim = {-12'000'000'000, 5};
  info.st_ctim = {12, 6};
  info.st_ino = 9;
  PosixAttributes expected{FileType::kFile, 04750, FileTime{-12'000'000'000, 5}, 7u, 8u};
  expected.mark = FileMark{FileTime{12, 6}, 9};
  CHECK(posix_attributes(info, FileType::kFile) == expected);
  // A directory has another change time with everything that is made in it.
  expected.type = FileType::kDirectory;
  expected.mark.reset();
  CHECK(posix_attributes(info, FileType::kDirectory) == expected);
}

}  // namespace
}  // namespace hexad::tools
