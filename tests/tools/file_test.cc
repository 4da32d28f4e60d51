#include "tools/cli/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/io/file_bytes.h"
#include "tests/io/temporary.h"
#include "tools/cli/interrupt.h"

namespace hexad::tools {
namespace {

namespace fs = std::filesystem;
using io::testing::TemporaryDirectory;

std::string content(const std::string& path) { return io::testing::file_bytes(path); }

// The names in a directory.
std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("file: an error names subject and reason, with the code that fits") {
  const Error missing = system_error(ENOENT, "a/b", "cannot open");
  CHECK(missing.code == ErrorCode::kNotFound);
  CHECK(missing.message == "a/b: cannot open: No such file or directory");
  CHECK(missing.hint.empty());
  CHECK(system_error(ENOSPC, "a", "").code == ErrorCode::kNoSpace);
  CHECK(system_error(EDQUOT, "a", "").code == ErrorCode::kNoSpace);
  CHECK(system_error(EISDIR, "a", "").code == ErrorCode::kInvalidArgument);
  CHECK(system_error(ENAMETOOLONG, "a", "").code == ErrorCode::kInvalidArgument);
  CHECK(system_error(EPIPE, "a", "").code == ErrorCode::kClosed);
  CHECK(system_error(EIO, "a", "").code == ErrorCode::kIo);
  CHECK(system_error(EIO, "a", "").message == "a: Input/output error");
  CHECK_FALSE(system_error(EACCES, "a", "").hint.empty());
}

TEST_CASE("file: a descriptor is closed with its owner, once") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  {
    Fd first(ends[0]);
    REQUIRE(first.valid());
    Fd second(std::move(first));
    REQUIRE_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): what is left of it
    REQUIRE(second.get() == ends[0]);
    Fd third;
    REQUIRE_FALSE(third.valid());
    third = std::move(second);
    REQUIRE(third.get() == ends[0]);
    REQUIRE(fcntl(ends[0], F_GETFD) != -1);
  }
  REQUIRE(fcntl(ends[0], F_GETFD) == -1);
  close(ends[1]);
}

TEST_CASE("file: what cannot be read as a file is told apart") {
  const TemporaryDirectory directory;
  REQUIRE(open_input(directory.path("none")).error().code == ErrorCode::kNotFound);
  const Error folder = open_input(directory.path("")).error();
  REQUIRE(folder.code == ErrorCode::kInvalidArgument);
  REQUIRE_THAT(folder.hint, Catch::Contains("hexad import"));
  REQUIRE(open_input("-").value().get() != STDIN_FILENO);  // a copy: closing it is harmless
}

TEST_CASE("file: a pipe is read to its end, in whatever pieces it comes") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const Fd reader(ends[0]);
  const std::string text = "written in several pieces";
  std::thread writer([&] {
    for (const char c : text) HEXAD_ASSERT(write(ends[1], &c, 1) == 1);
    close(ends[1]);
  });
  Bytes into(10);
  std::string found;
  for (;;) {
    const std::uint64_t count = read_full(reader.get(), into, "pipe").value();
    found += as_text(ByteView(into).first(count));
    if (count < into.size()) break;
  }
  writer.join();
  REQUIRE(found == text);
  REQUIRE(read_full(reader.get(), into, "pipe").value() == 0);
  const Fd folder(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(read_full(folder.get(), into, "/").error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("file: bytes are written to a pipe that does not take them at once") {
  watch_interrupts();  // and SIGPIPE is an error value
  int ends[2];
  REQUIRE(pipe2(ends, O_NONBLOCK) == 0);
  const std::string text(300'000, 'x');
  std::size_t taken = 0;
  std::thread reader([&] {
    char buffer[1000];
    while (taken < text.size()) {
      const ssize_t count = read(ends[0], buffer, sizeof buffer);
      if (count > 0) taken += static_cast<std::size_t>(count);
    }
  });
  REQUIRE(write_all(ends[1], as_bytes(text), "pipe").ok());
  reader.join();
  REQUIRE(taken == text.size());
  close(ends[0]);
  REQUIRE_FALSE(reader_gone());
  REQUIRE(write_all(ends[1], as_bytes(text), "pipe").error().code == ErrorCode::kClosed);
  REQUIRE(reader_gone());
  close(ends[1]);
}

TEST_CASE("file: an output appears whole when it is committed, and not at all before") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("out");
  {
    OutputFile file = OutputFile::create(path).value();
    REQUIRE(file.write(as_bytes("half")).ok());
    REQUIRE_FALSE(fs::exists(path));
  }
  REQUIRE(names_in(directory.path("")).empty());
  OutputFile file = OutputFile::create(path).value();
  REQUIRE(file.write(as_bytes("all ")).ok());
  OutputFile moved = std::move(file);
  REQUIRE(moved.write(as_bytes("of it")).ok());
  REQUIRE(moved.commit().ok());
  REQUIRE(content(path) == "all of it");
  REQUIRE(names_in(directory.path("")) == std::vector<std::string>{"out"});
}

TEST_CASE("file: an output replaces a file with its mode, and follows a link to it") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("target");
  std::ofstream(path) << "old";
  REQUIRE(chmod(path.c_str(), 0640) == 0);
  fs::create_directory(directory.path("elsewhere"));
  fs::create_symlink(path, directory.path("elsewhere/link"));
  OutputFile file = OutputFile::create(directory.path("elsewhere/link")).value();
  REQUIRE(file.write(as_bytes("new")).ok());
  REQUIRE(content(path) == "old");
  REQUIRE(file.commit().ok());
  REQUIRE(content(path) == "new");
  REQUIRE(fs::is_symlink(directory.path("elsewhere/link")));
  struct stat info = {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  REQUIRE((info.st_mode & 0777) == 0640);
}

TEST_CASE("file: what is skipped is a hole in a file, up to its end, and zeros in a pipe") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("out");
  OutputFile file = OutputFile::create(path).value();
  REQUIRE(file.skip(10 << 20).ok());
  REQUIRE(file.write(as_bytes("data")).ok());
  REQUIRE(file.skip(10 << 20).ok());
  REQUIRE(file.commit().ok());
  struct stat info = {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  REQUIRE(info.st_size == (20 << 20) + 4);
  REQUIRE(info.st_blocks * 512 < 1 << 20);
  REQUIRE(content(path).substr(10 << 20, 4) == "data");

  const std::string fifo = directory.path("fifo");
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  const Fd reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK));
  OutputFile pipe = OutputFile::create(fifo).value();
  REQUIRE(pipe.write(as_bytes("a")).ok());
  REQUIRE(pipe.skip(1000).ok());
  REQUIRE(pipe.commit().ok());
  std::string bytes(2000, 'x');
  REQUIRE(read(reader.get(), bytes.data(), bytes.size()) == 1001);
  REQUIRE(bytes.substr(0, 1001) == "a" + std::string(1000, '\0'));
}

TEST_CASE("file: what a killed process has left of an output is replaced by the next one") {
  const TemporaryDirectory directory;
  {
    OutputFile first = OutputFile::create(directory.path("out")).value();
    REQUIRE(first.write(as_bytes("whole")).ok());
    const std::vector<std::string> names = names_in(directory.path(""));
    REQUIRE(names.size() == 1);
    // As it would be there after a kill: with no lock on it.
    std::ofstream(directory.path("kept")) << "half";
    fs::rename(directory.path("kept"), directory.path(names[0]));
    OutputFile second = OutputFile::create(directory.path("out")).value();
    REQUIRE(second.write(as_bytes("second")).ok());
    REQUIRE(second.commit().ok());
  }
  REQUIRE(content(directory.path("out")) == "second");
  REQUIRE(names_in(directory.path("")) == std::vector<std::string>{"out"});
}

TEST_CASE("file: a small file is read whole, and one over the limit is refused") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("small");
  std::ofstream(path) << "0123456789";
  CHECK(read_whole_file(path, 10).value() == "0123456789");
  CHECK(read_whole_file(path, 9).error().code == ErrorCode::kTooBig);
  CHECK(read_whole_file(directory.path("none"), 10).error().code == ErrorCode::kNotFound);
  CHECK(read_whole_file("/dev/null", 0).value().empty());
}

TEST_CASE("file: what is no regular file is written in place") {
  OutputFile file = OutputFile::create("/dev/null").value();
  REQUIRE(file.write(as_bytes("nobody reads this")).ok());
  REQUIRE(file.commit().ok());
  REQUIRE(fs::is_character_file("/dev/null"));
}

TEST_CASE("file: where no output can be made it is told why, and nothing is left") {
  const TemporaryDirectory directory;
  const Error folder = OutputFile::create(directory.path("")).error();
  REQUIRE(folder.code == ErrorCode::kInvalidArgument);
  REQUIRE_THAT(folder.hint, Catch::Contains("NAME"));
  REQUIRE(OutputFile::create(directory.path("no/such/out")).error().code == ErrorCode::kNotFound);
  REQUIRE(names_in(directory.path("")).empty());
}

}  // namespace
}  // namespace hexad::tools
