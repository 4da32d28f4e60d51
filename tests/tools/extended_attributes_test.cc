#include "tools/import_export/extended_attributes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/io/temporary.h"
#include "tools/cli/file.h"

namespace hexad::tools {
namespace {

// A file whose file system has extended attributes; /dev/shm may have none.
struct OneFile {
  OneFile() {
    std::ofstream(directory.path("file")) << "x";
    fd = Fd(open(directory.path("file").c_str(), O_RDWR));
    folder = Fd(open(directory.path("").c_str(), O_RDONLY | O_DIRECTORY));
  }
  const io::testing::TemporaryDirectory directory;
  Fd fd;
  Fd folder;
};

// rwx for the owner, and read for the user 1234: an access control list as the kernel takes it.
std::string acl() {
  std::string text("\2\0\0\0", 4);
  const auto entry = [&](int tag, int permissions, std::uint32_t id) {
    for (const int number : {tag, permissions}) {
      text += static_cast<char>(number);
      text += '\0';
    }
    for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(id >> shift);
  };
  entry(1, 6, 0xffffffff);
  entry(2, 4, 1234);
  entry(4, 4, 0xffffffff);
  entry(16, 4, 0xffffffff);
  entry(32, 0, 0xffffffff);
  return text;
}

TEST_CASE("extended_attributes: what is written is read, by descriptor and by name") {
  const OneFile one;
  const ExtendedAttributes wanted{{"user.binary", std::string("\0\xff", 2)},
                                  {"user.empty", ""},
                                  {"user.note", std::string(1000, 'n')}};
  REQUIRE(read_extended_attributes(one.fd.get(), "file")->empty());
  const Status written = write_extended_attributes(one.fd.get(), wanted, "file");
  if (!written.ok()) {
    WARN("skipped: " << written.error().message);
    return;
  }
  REQUIRE(read_extended_attributes(one.fd.get(), "file").value() == wanted);
  REQUIRE(read_extended_attributes_at(one.folder.get(), "file", "file").value() == wanted);
  // What is not wanted any more goes.
  const ExtendedAttributes fewer{{"user.note", "short"}};
  REQUIRE(write_extended_attributes_at(one.folder.get(), "file", fewer, "file").ok());
  REQUIRE(read_extended_attributes(one.fd.get(), "file").value() == fewer);
  REQUIRE(write_extended_attributes(one.fd.get(), {}, "file").ok());
  REQUIRE(read_extended_attributes(one.fd.get(), "file")->empty());
}

TEST_CASE("extended_attributes: an access control list is one of them, and goes like one") {
  const OneFile one;
  const ExtendedAttributes wanted{{"system.posix_acl_access", acl()}};
  const Status written = write_extended_attributes(one.fd.get(), wanted, "file");
  if (!written.ok()) {
    WARN("skipped: " << written.error().message);
    return;
  }
  REQUIRE(read_extended_attributes(one.fd.get(), "file").value() == wanted);
  REQUIRE(write_extended_attributes(one.fd.get(), {}, "file").ok());
  REQUIRE(read_extended_attributes(one.fd.get(), "file")->empty());
}

TEST_CASE("extended_attributes: one that cannot be set is named, and the others are set") {
  const OneFile one;
  const ExtendedAttributes wanted{{"nonsense.a", "1"}, {"user.note", "1"}};
  const Status written = write_extended_attributes(one.fd.get(), wanted, "file");
  REQUIRE_FALSE(written.ok());
  REQUIRE_THAT(written.error().message, Catch::Contains("file: ") && Catch::Contains("nonsense.a"));
  char value[8];
  if (fsetxattr(one.fd.get(), "user.other", "", 0, 0) != 0) return;  // no such thing here
  REQUIRE(fgetxattr(one.fd.get(), "user.note", value, sizeof value) == 1);
}

TEST_CASE("extended_attributes: a symbolic link's own are asked for, not those behind it") {
  const OneFile one;
  if (fsetxattr(one.fd.get(), "user.note", "1", 1, 0) != 0) return;
  std::filesystem::create_symlink("file", one.directory.path("link"));
  REQUIRE(read_extended_attributes_at(one.folder.get(), "link", "link")->empty());
  REQUIRE_FALSE(read_extended_attributes_at(one.folder.get(), "none", "none").ok());
}

}  // namespace
}  // namespace hexad::tools
