#include "tools/import_export/local_entries.h"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/io/temporary.h"

namespace hexad::tools {
namespace {

namespace fs = std::filesystem;

TEST_CASE("local_entries: entries are found by path, in any order, links are not followed") {
  const io::testing::TemporaryDirectory directory;
  fs::create_directories(directory.path("a/b"));
  std::ofstream(directory.path("a/b/file")) << "123";
  std::ofstream(directory.path("top")) << "1";
  fs::create_directory_symlink("a", directory.path("link"));
  const Fd root(open(directory.path("").c_str(), O_PATH | O_DIRECTORY));
  LocalEntries entries(root.get());
  const auto kind = [&](const char* path) -> char {
    const std::optional<struct stat> found = entries.find(path).value();
    if (!found.has_value()) return '-';
    return S_ISDIR(found->st_mode) ? 'd' : S_ISLNK(found->st_mode) ? 'l' : 'f';
  };
  for (int i = 0; i < 2; ++i) {
    CHECK(kind("a/b/file") == 'f');
    CHECK(kind("a/b/none") == '-');
    CHECK(kind("top") == 'f');
    CHECK(kind("a") == 'd');
    CHECK(kind("a/b") == 'd');
    CHECK(kind("link") == 'l');
    CHECK(kind("link/b") == '-');
    CHECK(kind("link/b/file") == '-');
    CHECK(kind("top/below") == '-');
    CHECK(kind("none/at/all") == '-');
    CHECK(kind("a/b/file") == 'f');
  }
  CHECK(entries.find("a/b/file").value()->st_size == 3);
  struct stat info = {};
  CHECK(fstatat(entries.parent(), "file", &info, 0) == 0);
}

TEST_CASE("local_entries: without a directory there is nothing, and a bad path is an error") {
  LocalEntries none(-1);
  CHECK_FALSE(none.find("a").value().has_value());
  const io::testing::TemporaryDirectory directory;
  const Fd root(open(directory.path("").c_str(), O_PATH | O_DIRECTORY));
  LocalEntries entries(root.get());
  CHECK_FALSE(entries.find(std::string(300, 'x')).ok());
  CHECK_FALSE(entries.find(std::string(300, 'x') + "/a").ok());
}

}  // namespace
}  // namespace hexad::tools
