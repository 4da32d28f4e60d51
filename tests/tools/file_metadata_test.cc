#include "tools/import_export/file_metadata.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/io/temporary.h"
#include "tools/cli/file.h"

namespace hexad::tools {
namespace {

using io::testing::TemporaryDirectory;

struct OneFile {
  explicit OneFile(TemporaryDirectory::On on = TemporaryDirectory::On::kDisk) : directory(on) {
    std::ofstream(directory.path("file")) << "x";
    fd = Fd(open(directory.path("file").c_str(), O_RDWR));
  }
  struct stat look() const {
    struct stat info = {};
    REQUIRE(fstat(fd.get(), &info) == 0);
    return info;
  }
  MetadataLoss restore(const PosixAttributes& posix, const MetadataRules& rules = {}) const {
    return restore_metadata(fd.get(), posix, {1, 2}, rules, "file").value();
  }
  const TemporaryDirectory directory;
  Fd fd;
};

std::uint32_t mode_of(const struct stat& info) { return info.st_mode & 07777; }

TEST_CASE("file_metadata: mode and time come back to the nanosecond") {
  const OneFile one;
  for (const std::int64_t seconds : {0, -1, -2'000'000'000, 2'000'000'000}) {
    for (const std::uint32_t mode : {0u, 0640u, 0755u, 01777u}) {
      const PosixAttributes posix{FileType::kFile, mode, FileTime{seconds, 123'456'789}};
      const MetadataLoss loss = one.restore(posix);
      CHECK(loss.other.ok());
      CHECK(mode_of(one.look()) == mode);
      CHECK(one.look().st_mtim.tv_sec == seconds);
      CHECK(one.look().st_mtim.tv_nsec == 123'456'789);
    }
  }
}

TEST_CASE("file_metadata: what remembers nothing gets the mode of a new file and the other time") {
  const OneFile one;
  MetadataRules rules;
  rules.umask = 027;
  CHECK(one.restore({}, rules).other.ok());
  CHECK(mode_of(one.look()) == 0640);
  CHECK(one.look().st_mtim.tv_sec == 1);
  CHECK(one.look().st_mtim.tv_nsec == 2);
}

TEST_CASE("file_metadata: a time that the file system cannot hold is named, with what it has") {
  const OneFile one(TemporaryDirectory::On::kDisk);
  const PosixAttributes posix{FileType::kFile, 0600,
                              FileTime{std::numeric_limits<std::int64_t>::max() / 4, 0}};
  const MetadataLoss loss = one.restore(posix);
  if (one.look().st_mtim.tv_sec == posix.mtime->seconds) {
    CHECK(loss.other.ok());  // this one can
    return;
  }
  REQUIRE_FALSE(loss.other.ok());
  REQUIRE_THAT(loss.other.error().message,
               Catch::Contains("file: ") && Catch::Contains(std::to_string(posix.mtime->seconds)));
}

TEST_CASE("file_metadata: set-id bits come back with their owner, or on request") {
  const OneFile one;
  const struct stat info = one.look();
  PosixAttributes posix{FileType::kFile, 06755, FileTime{1, 0}, info.st_uid, info.st_gid};
  CHECK_FALSE(one.restore(posix).set_id_bits);
  CHECK(mode_of(one.look()) == 06755);

  // An object that does not say whose it was.
  posix.uid.reset();
  CHECK(one.restore(posix).set_id_bits);
  CHECK(mode_of(one.look()) == 0755);
  MetadataRules keep;
  keep.set_id_bits = SetIdBits::kKeep;
  CHECK_FALSE(one.restore(posix, keep).set_id_bits);
  CHECK(mode_of(one.look()) == 06755);

  // One that was somebody else's, whom it is not given to.
  posix.uid = info.st_uid + 1;
  MetadataRules mine;
  mine.owners = Owners::kIgnore;
  const MetadataLoss loss = one.restore(posix, mine);
  CHECK(loss.set_id_bits);
  CHECK_FALSE(loss.owner);
  CHECK(mode_of(one.look()) == 0755);
}

TEST_CASE("file_metadata: root gives a file to its owner, others say that they cannot") {
  const OneFile one;
  const struct stat before = one.look();
  const PosixAttributes posix{FileType::kFile, 04755, FileTime{1, 0}, before.st_uid + 1,
                              before.st_gid + 1};
  const MetadataLoss loss = one.restore(posix);
  const struct stat after = one.look();
  if (geteuid() == 0) {
    CHECK_FALSE(loss.owner);
    CHECK(after.st_uid == before.st_uid + 1);
    CHECK(after.st_gid == before.st_gid + 1);
    CHECK(mode_of(after) == 04755);  // behind the change of owner, which clears it
  } else {
    CHECK(loss.owner);
    CHECK(loss.set_id_bits);
    CHECK(after.st_uid == before.st_uid);
  }
}

TEST_CASE("file_metadata: nothing is touched that is right already") {
  const OneFile one;
  const PosixAttributes posix{FileType::kFile, 0640, FileTime{5, 6}};
  CHECK(one.restore(posix).other.ok());
  const struct stat before = one.look();
  CHECK(one.restore(posix).other.ok());
  const struct stat after = one.look();
  CHECK(before.st_ctim.tv_sec == after.st_ctim.tv_sec);
  CHECK(before.st_ctim.tv_nsec == after.st_ctim.tv_nsec);
}

TEST_CASE("file_metadata: a symbolic link has a time of its own") {
  const OneFile one;
  std::filesystem::create_symlink("file", one.directory.path("link"));
  const Fd folder(open(one.directory.path("").c_str(), O_RDONLY | O_DIRECTORY));
  const PosixAttributes posix{FileType::kSymlink, 0777, FileTime{-77, 8}};
  const struct stat target = one.look();
  CHECK(restore_link_metadata(folder.get(), "link", posix, {}, "link")->other.ok());
  struct stat info = {};
  REQUIRE(fstatat(folder.get(), "link", &info, AT_SYMLINK_NOFOLLOW) == 0);
  CHECK(info.st_mtim.tv_sec == -77);
  CHECK(info.st_mtim.tv_nsec == 8);
  CHECK(one.look().st_mtim.tv_nsec == target.st_mtim.tv_nsec);
  CHECK_FALSE(restore_link_metadata(folder.get(), "none", posix, {}, "none").ok());
}

}  // namespace
}  // namespace hexad::tools
