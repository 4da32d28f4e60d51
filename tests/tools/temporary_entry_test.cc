#include "tools/import_export/temporary_entry.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/io/temporary.h"
#include "tools/cli/part_file.h"

namespace hexad::tools {
namespace {

namespace fs = std::filesystem;

TEST_CASE("temporary_entry: a file is there under its name when it is renamed, and else gone") {
  const io::testing::TemporaryDirectory directory;
  const Fd fd(open(directory.path("").c_str(), O_PATH | O_DIRECTORY));
  {
    TemporaryEntry dropped(fd.get());
    REQUIRE(dropped.open("a").ok());
    CHECK(fs::exists(directory.path(part_name("a"))));
  }
  CHECK(fs::is_empty(directory.path("")));
  {
    TemporaryEntry kept(fd.get());
    const Result<Fd> file = kept.open("a");
    REQUIRE(file.ok());
    REQUIRE(write_all(file->get(), as_bytes("data"), "a").ok());
    CHECK_FALSE(fs::exists(directory.path("a")));
    REQUIRE(kept.rename_to("a").ok());
  }
  CHECK(fs::file_size(directory.path("a")) == 4);
  {
    TemporaryEntry link(fd.get());
    REQUIRE(link.make("l", [&](const char* name) { return symlinkat("a", fd.get(), name); }).ok());
    REQUIRE(link.rename_to("l").ok());
  }
  CHECK(fs::read_symlink(directory.path("l")) == "a");
}

TEST_CASE("temporary_entry: a directory stays, and nothing is left beside it") {
  const io::testing::TemporaryDirectory directory;
  const Fd fd(open(directory.path("").c_str(), O_PATH | O_DIRECTORY));
  fs::create_directories(directory.path("d/inner"));
  {
    TemporaryEntry entry(fd.get());
    REQUIRE(entry.open("d").ok());
    const Status refused = entry.rename_to("d");
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::kInvalidArgument);
  }
  CHECK(fs::exists(directory.path("d/inner")));
  CHECK_FALSE(fs::exists(directory.path(part_name("d"))));
}

}  // namespace
}  // namespace hexad::tools
