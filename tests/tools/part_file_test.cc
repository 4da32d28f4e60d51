#include "tools/cli/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/io/temporary.h"
#include "tools/cli/file.h"

namespace hexad::tools {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() : fd(open(directory.path("").c_str(), O_PATH | O_DIRECTORY)) {}
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory.path(""))) {
      found.push_back(entry.path().filename());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  const io::testing::TemporaryDirectory directory;
  const Fd fd;
};

TEST_CASE("part_file: the name follows from the file's, and only such names are taken for one") {
  CHECK(part_name("a") == part_name("a"));
  CHECK(part_name("a") != part_name("b"));
  CHECK(part_name(std::string(255, 'x')).size() < 64);
  CHECK(is_part_name(part_name("a")));
  CHECK(is_part_name(part_name("a", 7)));
  for (const char* other : {".hexad-part-", ".hexad-part-notes", ".hexad-part-0123456789abcdeF",
                            ".hexad-part-0123456789abcdef-", ".hexad-part-0123456789abcdef.txt",
                            ".hexad-part-0123456789abcdef-1x", "x.hexad-part-0123456789abcdef"}) {
    CAPTURE(other);
    CHECK_FALSE(is_part_name(other));
  }
}

TEST_CASE("part_file: what a killed process has left is replaced, what is being written is not") {
  const Folder folder;
  // Nobody holds a lock on it.
  std::ofstream(folder.directory.path(part_name("a"))) << "left behind";
  std::string name;
  Fd first(open_part(folder.fd.get(), "a", name));
  REQUIRE(first.valid());
  REQUIRE(name == part_name("a"));
  REQUIRE(fs::file_size(folder.directory.path(name)) == 0);

  std::string other;
  const Fd second(open_part(folder.fd.get(), "a", other));
  REQUIRE(second.valid());
  REQUIRE(other == part_name("a", 1));
  remove_stale_parts(folder.fd.get());
  REQUIRE(folder.names() == std::vector<std::string>{part_name("a"), part_name("a", 1)});
  first = Fd();
  const Fd closed = std::move(first);
}

TEST_CASE("part_file: tidying takes away what nobody writes, links too, and nothing else") {
  const Folder folder;
  std::string name;
  const Fd held(open_part(folder.fd.get(), "held", name));
  std::ofstream(folder.directory.path(part_name("left"))) << "x";
  std::ofstream(folder.directory.path(".hexad-part-notes")) << "the user's";
  fs::create_symlink("target", folder.directory.path(part_name("link")));
  fs::create_directory(folder.directory.path(part_name("folder")));
  remove_stale_parts(folder.fd.get());
  std::vector<std::string> left{name, ".hexad-part-notes", part_name("folder")};
  std::sort(left.begin(), left.end());
  REQUIRE(folder.names() == left);
  REQUIRE(remove_stale_part(folder.fd.get(), "missing"));
  REQUIRE_FALSE(remove_stale_part(folder.fd.get(), name));
}

TEST_CASE("part_file: a link is made where a killed process has left one") {
  const Folder folder;
  fs::create_symlink("old", folder.directory.path(part_name("a")));
  std::string name;
  const auto make = [&](const char* as) { return symlinkat("new", folder.fd.get(), as); };
  REQUIRE(make_part(folder.fd.get(), "a", name, make) == 0);
  REQUIRE(name == part_name("a"));
  REQUIRE(fs::read_symlink(folder.directory.path(name)) == "new");
}

TEST_CASE("part_file: where no file can be made, errno says why") {
  const Folder folder;
  const Fd gone(open(folder.directory.path("").c_str(), O_PATH | O_DIRECTORY));
  fs::create_directory(folder.directory.path("gone"));
  const Fd removed(open(folder.directory.path("gone").c_str(), O_PATH | O_DIRECTORY));
  fs::remove(folder.directory.path("gone"));
  std::string name;
  REQUIRE(open_part(removed.get(), "a", name) == -1);
  REQUIRE(errno == ENOENT);
}

}  // namespace
}  // namespace hexad::tools
