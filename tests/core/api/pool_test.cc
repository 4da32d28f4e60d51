#include "core/api/pool.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/io/temporary.h"

namespace hexad {
namespace {

namespace fs = std::filesystem;

class PoolDirectory : public io::testing::TemporaryDirectory {
 public:
  std::string file() const { return path("hexad.pool"); }
  std::string text() const {
    std::ifstream in(file());
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  void write(std::string_view text) const { std::ofstream(file()) << text; }
};

TEST_CASE("pool: paths inside the directory are stored relative, others as they are") {
  const PoolDirectory dir;
  PoolDescription pool;
  pool.devices = {dir.path() + "/d0", dir.path() + "//sub/./d1", "/dev/other", dir.path() + "x/d2",
                  dir.path() + "/../up"};
  pool.fast_directories = {dir.path() + "/fast/"};
  REQUIRE(write_pool(dir.path(), pool).ok());
  REQUIRE(dir.text() == "hexad pool 1\ndevice d0\ndevice sub/d1\ndevice /dev/other\ndevice " +
                            dir.path() + "x/d2\ndevice " + dir.path() + "/../up\nfast fast\n");
  const PoolDescription back = read_pool(dir.path()).value();
  REQUIRE(back.devices == std::vector<std::string>{dir.path() + "/d0", dir.path() + "/sub/d1",
                                                   "/dev/other", dir.path() + "x/d2",
                                                   dir.path() + "/../up"});
  REQUIRE(back.fast_directories == std::vector<std::string>{dir.path() + "/fast"});
}

TEST_CASE("pool: addresses of devices that are no files stay as they are") {
  const PoolDirectory dir;
  PoolDescription pool;
  pool.devices = {"rbd:log/a?conf=/etc/ceph/x//ceph.conf&id=store", dir.path() + "/rbd:log/a"};
  REQUIRE(write_pool(dir.path(), pool).ok());
  REQUIRE(dir.text() ==
          "hexad pool 1\ndevice rbd:log/a?conf=/etc/ceph/x//ceph.conf&id=store\ndevice " +
              dir.path() + "/rbd:log/a\n");
  REQUIRE(read_pool(dir.path()).value().devices == pool.devices);
}

TEST_CASE("pool: a directory that has moved takes its devices along") {
  const PoolDirectory dir;
  const std::string before = dir.path() + "/before";
  const std::string after = dir.path() + "/after";
  fs::create_directory(before);
  REQUIRE(write_pool(before, {{before + "/d0"}, {}}).ok());
  fs::rename(before, after);
  REQUIRE(read_pool(after)->devices == std::vector<std::string>{after + "/d0"});
}

TEST_CASE("pool: any bytes in a path come back") {
  const PoolDirectory dir;
  std::string odd = dir.path() + "/";
  for (int byte = 1; byte < 256; ++byte) {
    if (byte != '/') odd += static_cast<char>(byte);
  }
  PoolDescription pool;
  pool.devices = {odd, dir.path() + "/ends with spaces  ", dir.path() + "/a\nfast b",
                  dir.path() + "/ leading", dir.path() + "/# no comment"};
  REQUIRE(write_pool(dir.path(), pool).ok());
  REQUIRE(read_pool(dir.path())->devices == pool.devices);
  for (const char byte : dir.text()) REQUIRE((byte == '\n' || (byte >= ' ' && byte <= '~')));
}

TEST_CASE("pool: writing replaces the file, for its owner only, and leaves nothing else") {
  const PoolDirectory dir;
  REQUIRE(write_pool(dir.path(), {{"/a"}, {}}).ok());
  REQUIRE(write_pool(dir.path(), {{"/b"}, {"/f"}}).ok());
  REQUIRE(read_pool(dir.path())->devices == std::vector<std::string>{"/b"});
  struct stat status = {};
  REQUIRE(stat(dir.file().c_str(), &status) == 0);
  REQUIRE((status.st_mode & 0777) == 0600);
  REQUIRE(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()) == 1);
  REQUIRE(write_pool(dir.path() + "/none", {{"/a"}, {}}).error().code == ErrorCode::kIo);
  REQUIRE(write_pool(dir.path(), {{""}, {}}).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(read_pool(dir.path())->devices == std::vector<std::string>{"/b"});
}

TEST_CASE("pool: a description that is not there points to the devices") {
  const PoolDirectory dir;
  const Error error = read_pool(dir.path()).error();
  REQUIRE(error.code == ErrorCode::kNotFound);
  REQUIRE(error.message.find(dir.file()) != std::string::npos);
  REQUIRE(error.hint.find("--device") != std::string::npos);
}

TEST_CASE("pool: comments, empty lines and a missing last newline are fine") {
  const PoolDirectory dir;
  dir.write("hexad pool 1\n# disks\n\ndevice a b\ndevice /c\xc3\xa4\nfast f");
  const PoolDescription pool = read_pool(dir.path()).value();
  REQUIRE(pool.devices == std::vector<std::string>{dir.path() + "/a b", "/c\xc3\xa4"});
  REQUIRE(pool.fast_directories == std::vector<std::string>{dir.path() + "/f"});
}

TEST_CASE("pool: what is wrong is told with its line") {
  const PoolDirectory dir;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "line 1"},
      {"hexad pool 2\ndevice a\n", "line 1"},
      {"hexad pool 1\r\ndevice a\n", "line 1"},
      {"hexad pool 1\n", "line 1"},
      {"hexad pool 1\n# none\n", "line 2"},
      {"hexad pool 1\ndevice a\nDevice b\n", "line 3"},
      {"hexad pool 1\ndevice\n", "line 2"},
      {"hexad pool 1\ndevice \n", "line 2"},
      {"hexad pool 1\n device a\n", "line 2"},
      {"hexad pool 1\ndevice a\n\ndevice ./a\n", "line 4"},
      {"hexad pool 1\ndevice a\\\n", "line 2"},
      {"hexad pool 1\ndevice a\\x\n", "line 2"},
      {"hexad pool 1\ndevice a\\x0\n", "line 2"},
      {"hexad pool 1\ndevice a\\x0g\n", "line 2"},
      {"hexad pool 1\ndevice a\\x00\n", "line 2"},
      {"hexad pool 1\ndevice a\\n00\n", "line 2"},
      {"hexad pool 1\ndevice a\tb\n", "line 2"},
      {"hexad pool 1\ndevice a\r\n", "line 2"}};
  for (const auto& [text, line] : cases) {
    CAPTURE(text);
    dir.write(text);
    const Error error = read_pool(dir.path()).error();
    CAPTURE(error.message);
    REQUIRE(error.code == ErrorCode::kInvalidArgument);
    REQUIRE(error.message.find("hexad.pool: " + line + ": ") != std::string::npos);
  }
}

TEST_CASE("pool: a directory in the place of the file is an error, not a wait") {
  const PoolDirectory dir;
  fs::create_directory(dir.file());
  REQUIRE(read_pool(dir.path()).error().code == ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace hexad
