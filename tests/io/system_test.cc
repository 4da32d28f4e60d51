// What every system has from its base class: folders for the index. Devices are the matter of the
// implementations' tests.
#include "io/system.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/memory_system.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::TemporaryDirectory;

TEST_CASE("system: a folder is made with its parents, for its owner alone") {
  const TemporaryDirectory directory;
  MemorySystem system;
  const std::string path = directory.path("a/b/c");
  REQUIRE(system.make_directory(path).ok());
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  REQUIRE(S_ISDIR(status.st_mode));
  REQUIRE((status.st_mode & 0777) == 0700);
}

TEST_CASE("system: a folder that exists stays as it is") {
  const TemporaryDirectory directory;
  MemorySystem system;
  const std::string path = directory.path("a");
  REQUIRE(system.make_directory(path).ok());
  std::ofstream(path + "/file") << "content";
  REQUIRE(system.make_directory(path).ok());
  REQUIRE(system.make_directory(directory.path("a/b")).ok());
  REQUIRE(std::filesystem::file_size(path + "/file") == 7);
}

TEST_CASE("system: a file in the way is refused and named") {
  const TemporaryDirectory directory;
  MemorySystem system;
  std::ofstream(directory.path("file")) << "content";
  for (const char* name : {"file", "file/below", "file/far/below"}) {
    const Status refused = system.make_directory(directory.path(name)).status();
    REQUIRE(refused.error().code == ErrorCode::kInvalidArgument);
    REQUIRE(refused.error().message.find(directory.path("file")) != std::string::npos);
  }
  REQUIRE_FALSE(system.make_directory("").ok());
  REQUIRE(std::filesystem::is_regular_file(directory.path("file")));
}

TEST_CASE("system: the folders that were made are named, and can be taken back") {
  const TemporaryDirectory directory;
  MemorySystem system;
  std::filesystem::create_directory(directory.path("a"));
  const std::vector<std::string> made = system.make_directory(directory.path("a/b/c")).value();
  REQUIRE(made == std::vector<std::string>{directory.path("a/b"), directory.path("a/b/c")});
  REQUIRE(system.make_directory(directory.path("a/b/c")).value().empty());
  // One that somebody has put something into stays.
  REQUIRE(system.remove_directory(directory.path("a/b")).ok());
  REQUIRE(std::filesystem::is_directory(directory.path("a/b/c")));
  for (auto at = made.rbegin(); at != made.rend(); ++at) {
    REQUIRE(system.remove_directory(*at).ok());
    REQUIRE_FALSE(std::filesystem::exists(*at));
  }
  REQUIRE(system.remove_directory(directory.path("a/b")).ok());  // missing
  std::ofstream(directory.path("file")) << "content";
  REQUIRE_FALSE(system.remove_directory(directory.path("file")).ok());
}

TEST_CASE("system: where the innermost folder cannot be made, its parents are not there either") {
  const TemporaryDirectory directory;
  MemorySystem system;
  const std::string too_long(300, 'x');
  REQUIRE_FALSE(system.make_directory(directory.path("a/b/" + too_long)).ok());
  REQUIRE_FALSE(std::filesystem::exists(directory.path("a")));
}

TEST_CASE("system: nothing has to be taken back where devices are no files") {
  MemorySystem system;
  system.create_device("a", 4096).value().reset();
  REQUIRE(system.remove_created("a").ok());
  REQUIRE(system.remove_created("never made").ok());
  REQUIRE(system.open_device("a", OpenMode::kReadWrite).ok());
}
