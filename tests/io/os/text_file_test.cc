#include "io/os/text_file.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/io/temporary.h"

namespace hexad::io {
namespace {

namespace fs = std::filesystem;

class TestDirectory : public testing::TemporaryDirectory {
 public:
  std::string operator/(std::string_view name) const { return path(std::string(name)); }
  auto entries() const {
    return std::distance(fs::directory_iterator(path()), fs::directory_iterator());
  }
};

TEST_CASE("text_file: what was written is read, whatever the bytes") {
  const TestDirectory dir;
  for (const std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 100'000u}) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7);
    REQUIRE(write_text_file(dir / "f", text).ok());
    REQUIRE(*read_text_file(dir / "f") == text);
    REQUIRE(dir.entries() == 1);
  }
}

TEST_CASE("text_file: the file belongs to its owner alone") {
  const TestDirectory dir;
  REQUIRE(write_text_file(dir / "f", "x").ok());
  struct stat status = {};
  REQUIRE(stat((dir / "f").c_str(), &status) == 0);
  REQUIRE((status.st_mode & 0777) == 0600);
}

TEST_CASE("text_file: a write that fails leaves the old file and nothing else") {
  const TestDirectory dir;
  REQUIRE(write_text_file(dir / "f", "old").ok());
  REQUIRE(write_text_file(dir / "f", std::string(kMaxTextFile + 1, 'x')).error().code ==
          ErrorCode::kTooBig);
  REQUIRE(*read_text_file(dir / "f") == "old");
  // A directory cannot be replaced: the rename is what fails.
  fs::create_directory(dir / "d");
  REQUIRE(write_text_file(dir / "d", "x").error().code == ErrorCode::kIo);
  REQUIRE(write_text_file(dir / "missing/f", "x").error().code == ErrorCode::kIo);
  REQUIRE(dir.entries() == 2);
}

TEST_CASE("text_file: reading tells missing files, other things and files too large apart") {
  const TestDirectory dir;
  REQUIRE(read_text_file(dir / "none").error().code == ErrorCode::kNotFound);
  REQUIRE(read_text_file(dir / "").error().code == ErrorCode::kInvalidArgument);
  REQUIRE(mkfifo((dir / "fifo").c_str(), 0600) == 0);
  REQUIRE(read_text_file(dir / "fifo").error().code == ErrorCode::kInvalidArgument);
  REQUIRE(write_text_file(dir / "f", std::string(kMaxTextFile, 'x')).ok());
  REQUIRE(read_text_file(dir / "f").ok());
  fs::resize_file(dir / "f", kMaxTextFile + 1);
  REQUIRE(read_text_file(dir / "f").error().code == ErrorCode::kTooBig);
}

TEST_CASE("text_file: relative paths start at the current directory") {
  REQUIRE(*absolute_path("/a/b") == "/a/b");
  REQUIRE(*absolute_path("a") == (fs::current_path() / "a").string());
}

}  // namespace
}  // namespace hexad::io
