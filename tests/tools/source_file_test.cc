#include "tools/import_export/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/io/temporary.h"

namespace hexad::tools {
namespace {

using io::testing::TemporaryDirectory;

struct Content {
  std::string text;  // holes as zeros
  std::vector<ByteRange> data;
};

// All of it, in pieces of at most `at_once` bytes.
Content content_of(SourceFile& file, std::size_t at_once) {
  Content found;
  Bytes piece(at_once);
  for (;;) {
    const SourceFile::Piece next = file.next(piece).value();
    found.text.resize(next.offset, '\0');
    if (next.length == 0) break;
    found.text += as_text(ByteView(piece).first(next.length));
    if (!found.data.empty() && found.data.back().offset + found.data.back().length == next.offset) {
      found.data.back().length += next.length;
    } else {
      found.data.push_back({next.offset, next.length});
    }
  }
  REQUIRE(file.end() == found.text.size());
  return found;
}

SourceFile open_file(const std::string& path) {
  Result<SourceFile> file = SourceFile::open(AT_FDCWD, path, path);
  if (!file.ok()) FAIL(file.error().to_string());
  return std::move(file).value();
}

void write_at(const std::string& path, off_t offset, const std::string& text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT, 0600));
  REQUIRE(pwrite(fd.get(), text.data(), text.size(), offset) == static_cast<ssize_t>(text.size()));
}

TEST_CASE("source_file: holes are not read, wherever they are") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("sparse");
  write_at(path, 1 << 20, std::string(100'000, 'a'));
  write_at(path, 5 << 20, std::string(8192, 'b'));
  REQUIRE(truncate(path.c_str(), 9'000'001) == 0);
  for (const std::size_t at_once : {1000u, 4096u, 1u << 20}) {
    SourceFile file = open_file(path);
    const Content found = content_of(file, at_once);
    REQUIRE(found.text.size() == 9'000'001);
    REQUIRE(found.text.find_first_not_of('\0') == 1 << 20);
    REQUIRE(found.text.compare(5 << 20, 8192, std::string(8192, 'b')) == 0);
    REQUIRE(found.data.size() == 2);
    REQUIRE(found.data[0].offset == 1 << 20);
    REQUIRE(found.data[0].length < 110'000);  // as much as blocks hold it
    REQUIRE(found.data[1] == ByteRange{5 << 20, 8192});
    REQUIRE(file.is_unchanged().value());
  }
}

TEST_CASE("source_file: empty, all hole, and without any") {
  const TemporaryDirectory directory;
  std::ofstream(directory.path("empty"));
  SourceFile empty = open_file(directory.path("empty"));
  REQUIRE(content_of(empty, 100).text.empty());
  std::ofstream(directory.path("hole"));
  REQUIRE(truncate(directory.path("hole").c_str(), 1 << 30) == 0);
  SourceFile hole = open_file(directory.path("hole"));
  Bytes piece(100);
  REQUIRE(hole.next(piece)->length == 0);
  REQUIRE(hole.end() == 1 << 30);
  std::ofstream(directory.path("full")) << std::string(5000, 'x');
  SourceFile full = open_file(directory.path("full"));
  REQUIRE(content_of(full, 999).data == std::vector<ByteRange>{{0, 5000}});
}

TEST_CASE(
    "source_file: a file that the kernel makes up is read to its end, whatever its size says") {
  SourceFile file = open_file("/proc/self/maps");
  REQUIRE(file.size() == 0);
  REQUIRE(content_of(file, 512).text.find("source_file_test") != std::string::npos);
}

TEST_CASE("source_file: every change shows, at whatever moment it comes") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("file");
  std::ofstream(path) << std::string(10'000, 'a');
  enum class Change { kBytes, kEnd, kBytesWithOldTime };
  const Change change = GENERATE(Change::kBytes, Change::kEnd, Change::kBytesWithOldTime);
  CAPTURE(static_cast<int>(change));
  // A change right before the opening has another time than one right behind it.
  for (int i = 0; i < 10; ++i) {
    write_at(path, 0, std::to_string(i));
    SourceFile file = open_file(path);
    Bytes piece(5000);
    REQUIRE(file.next(piece)->length == 5000);
    REQUIRE(file.is_unchanged().value());
    if (change == Change::kEnd) {
      REQUIRE(truncate(path.c_str(), 10'001 + i) == 0);
    } else {
      write_at(path, 7000, "x");
    }
    if (change == Change::kBytesWithOldTime) {
      const struct timespec times[2] = {{0, UTIME_OMIT}, file.info().st_mtim};
      REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    }
    REQUIRE_FALSE(file.is_unchanged().value());
  }
}

TEST_CASE("source_file: a file that gets shorter counts as changed") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("file");
  std::ofstream(path) << std::string(10'000, 'a');
  SourceFile file = open_file(path);
  REQUIRE(truncate(path.c_str(), 100) == 0);
  REQUIRE(content_of(file, 4096).text.substr(0, 100) == std::string(100, 'a'));
  REQUIRE_FALSE(file.is_unchanged().value());
  const Error error = changing_file_error("a/b", 3);
  REQUIRE(error.code == ErrorCode::kIo);
  REQUIRE_THAT(error.message, Catch::Contains("a/b") && Catch::Contains("3 times"));
}

TEST_CASE("source_file: links are not followed, and what is missing is named") {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("/etc/passwd", directory.path("link"));
  REQUIRE_FALSE(SourceFile::open(AT_FDCWD, directory.path("link"), "link").ok());
  const Error missing = SourceFile::open(AT_FDCWD, directory.path("none"), "none").error();
  REQUIRE(missing.code == ErrorCode::kNotFound);
  REQUIRE_THAT(missing.message, Catch::StartsWith("none: "));
}

}  // namespace
}  // namespace hexad::tools
