#include "tools/import_export/written_files.h"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/io/temporary.h"
#include "tools/cli/file.h"

namespace hexad::tools {
namespace {

struct stat file(ino_t inode, dev_t device = 1) {
  struct stat info = {};
  info.st_dev = device;
  info.st_ino = inode;
  return info;
}

TEST_CASE("written_files: exactly what was added is contained") {
  const std::vector<ino_t> inodes = {0, 1, 32767, 32768, 65536, ~ino_t{0}};
  for (const ino_t added : inodes) {
    WrittenFiles files;
    files.add(file(added));
    for (const ino_t inode : inodes) {
      CHECK(files.contains(file(inode)) == (inode == added));
      CHECK_FALSE(files.contains(file(inode, 2)));
    }
  }
}

struct Folder {
  io::testing::TemporaryDirectory top;
  Fd fd{open(top.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};

  struct stat make(const std::string& name) const {
    std::ofstream(top.path(name)) << name;
    struct stat info = {};
    REQUIRE(fstatat(fd.get(), name.c_str(), &info, 0) == 0);
    return info;
  }
};

// A link is what another spelling is, as far as a look at one name can tell.
TEST_CASE("written_files: a file that was written is found under whatever name leads to it") {
  const Folder folder;
  WrittenFiles files;
  CHECK_FALSE(files.has_other(folder.fd.get(), "missing"));
  const struct stat before = folder.make("a");
  CHECK_FALSE(files.has_other(folder.fd.get(), "a"));
  files.add(before);
  CHECK(files.has_other(folder.fd.get(), "a"));
  // With several names, this may be one of them.
  std::filesystem::create_hard_link(folder.top.path("a"), folder.top.path("b"));
  CHECK_FALSE(files.has_other(folder.fd.get(), "a"));
  CHECK_FALSE(files.has_other(folder.fd.get(), "b"));
}

TEST_CASE("written_files: a name that is there as it stands is no other spelling") {
  const Folder folder;
  folder.make("a");
  CHECK_FALSE(is_other_spelling(folder.fd.get(), "a"));
  CHECK_FALSE(is_other_spelling(folder.fd.get(), "missing"));
  // What a lookup finds and a listing does not, as another spelling.
  CHECK(is_other_spelling(folder.fd.get(), "./a"));
}

TEST_CASE("written_files: paths that a file system may take for one") {
  CHECK(may_be_one_name("d/a", "D/A"));
  CHECK(may_be_one_name("a", "a. "));
  CHECK(may_be_one_name("\xc3\xbc", "u\xcc\x88"));
  CHECK(may_be_one_name("\xc3\xbc", "\xc3\x9c"));
  CHECK_FALSE(may_be_one_name("a", "b"));
  CHECK_FALSE(may_be_one_name("d/a", "da"));
}

}  // namespace
}  // namespace hexad::tools
