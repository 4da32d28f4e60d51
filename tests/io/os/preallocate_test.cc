#include "io/os/preallocate.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/units.h"
#include "io/os/file_device.h"
#include "tests/io/mount.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::Mount;
using hexad::io::testing::TemporaryDirectory;

namespace {

struct File {
  explicit File(const std::string& path, int access = O_RDWR)
      : fd(::open(path.c_str(), access | O_CREAT | O_CLOEXEC, 0600)) {
    REQUIRE(fd.valid());
  }
  std::uint64_t size() const { return static_cast<std::uint64_t>(status().st_size); }
  std::uint64_t reserved() const { return static_cast<std::uint64_t>(status().st_blocks) * 512; }
  struct stat status() const {
    struct stat status {};
    REQUIRE(fstat(fd.get(), &status) == 0);
    return status;
  }
  Fd fd;
};

}  // namespace

TEST_CASE("preallocate: the size is raised and every block of it reserved") {
  const TemporaryDirectory directory;
  const File file(directory.path("file"));
  REQUIRE(preallocate(file.fd.get(), "file", 0, 1_MiB).ok());
  REQUIRE(file.size() == 1_MiB);
  REQUIRE(file.reserved() >= 1_MiB);
  REQUIRE(preallocate(file.fd.get(), "file", 1_MiB, 3_MiB).ok());
  REQUIRE(file.size() == 3_MiB);
  REQUIRE(file.reserved() >= 3_MiB);
  REQUIRE(preallocate(file.fd.get(), "file", 3_MiB, 3_MiB).ok());
  REQUIRE(file.size() == 3_MiB);
}

// A hole may be anywhere: a copy that leaves out zeros makes many.
TEST_CASE("preallocate: the holes of a file get their blocks, and what is there stays") {
  const TemporaryDirectory directory;
  const File file(directory.path("file"));
  REQUIRE(ftruncate(file.fd.get(), 4_MiB) == 0);
  const std::string bytes(8192, 'x');
  for (const std::uint64_t at : {std::uint64_t{0}, 1_MiB, 3_MiB}) {
    REQUIRE(pwrite(file.fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)) == 8192);
  }
  REQUIRE(fsync(file.fd.get()) == 0);
  const std::uint64_t before = file.reserved();
  REQUIRE(before < 1_MiB);
  const Result<Reserved> part = reserve_range(file.fd.get(), "file", 1_MiB, 2_MiB);
  REQUIRE(part.ok());
  if (*part == Reserved::kNotPromised) return;
  REQUIRE(file.reserved() >= before + 1_MiB - 64_KiB);
  REQUIRE(file.reserved() < 2_MiB);
  for (int i = 0; i < 2; ++i) REQUIRE(reserve_range(file.fd.get(), "file", 0, 4_MiB).ok());
  REQUIRE(file.reserved() >= 4_MiB);
  REQUIRE(file.size() == 4_MiB);
  std::string found(8192, ' ');
  for (const std::uint64_t at : {std::uint64_t{0}, 1_MiB, 3_MiB}) {
    REQUIRE(pread(file.fd.get(), found.data(), found.size(), static_cast<off_t>(at)) == 8192);
    REQUIRE(found == bytes);
  }
}

TEST_CASE("preallocate: holes that cannot be filled are refused with numbers, and stay holes") {
  const TemporaryDirectory directory;
  const File file(directory.path("file"));
  struct statvfs room {};
  REQUIRE(fstatvfs(file.fd.get(), &room) == 0);
  const std::uint64_t size = 4096 * (room.f_blocks * room.f_frsize / 4096 + 1024);
  if (ftruncate(file.fd.get(), static_cast<off_t>(size)) != 0) return;  // larger than files can be
  const Result<Reserved> refused = reserve_range(file.fd.get(), "file", 0, size);
  if (refused.ok()) REQUIRE(*refused == Reserved::kNotPromised);
  if (!refused.ok()) {
    REQUIRE(refused.error().code == ErrorCode::kNoSpace);
    REQUIRE(refused.error().message.find("are missing and") != std::string::npos);
  }
  REQUIRE(file.reserved() == 0);
}

TEST_CASE("preallocate: where the file system does not say what is missing, it still reserves") {
  const TemporaryDirectory directory;
  const Mount mount(directory, "tmpfs", "size=2m");
  if (!mount.mounted()) return;
  const File file(mount.path("file"));
  REQUIRE(ftruncate(file.fd.get(), 8_MiB) == 0);
  REQUIRE(reserve_range(file.fd.get(), "file", 4_MiB, 5_MiB).value() == Reserved::kAll);
  REQUIRE(file.reserved() == 1_MiB);
  REQUIRE(reserve_range(file.fd.get(), "file", 0, 4_MiB).error().code == ErrorCode::kNoSpace);
  REQUIRE(file.reserved() == 1_MiB);
}

// Found as I/O errors of other programs: a test that asked for 8 TiB left them no room for the
// moment that ext4 needed to find out.
TEST_CASE("preallocate: what cannot fit is refused with numbers, before anything is taken") {
  const TemporaryDirectory directory;
  const File file(directory.path("file"));
  REQUIRE(preallocate(file.fd.get(), "file", 0, 4096).ok());
  struct statvfs room {};
  REQUIRE(fstatvfs(file.fd.get(), &room) == 0);
  if (room.f_blocks == 0) {
    WARN("SKIPPED: the file system does not tell its size");
    return;
  }
  // What others give back meanwhile does not make it fit, nor does a large disk.
  const std::uint64_t too_much = 4 * (room.f_bavail * room.f_frsize + 1024_MiB);
  for (const std::uint64_t size :
       {too_much, std::max(too_much, std::uint64_t{1} << 43), std::uint64_t{1} << 62}) {
    const Status refused = preallocate(file.fd.get(), "the file", 4096, size);
    REQUIRE(refused.error().code == ErrorCode::kNoSpace);
    REQUIRE_FALSE(refused.error().hint.empty());
    // Only the check beforehand knows how much is free.
    REQUIRE(refused.error().message.find("the file: no room to grow to " + format_size(size)) == 0);
    REQUIRE(refused.error().message.find("are free") != std::string::npos);
    REQUIRE(file.size() == 4096);
  }
}

TEST_CASE("preallocate: room is what is free, to the last block of a small file system") {
  const TemporaryDirectory directory;
  const Mount mount(directory, "tmpfs", "size=4m");
  if (!mount.mounted()) return;
  const File file(mount.path("file"));
  REQUIRE(preallocate(file.fd.get(), "file", 0, 1_MiB).ok());
  REQUIRE(preallocate(file.fd.get(), "file", 1_MiB, 4_MiB + 4096).error().code ==
          ErrorCode::kNoSpace);
  REQUIRE(file.size() == 1_MiB);
  REQUIRE(preallocate(file.fd.get(), "file", 1_MiB, 4_MiB).ok());
  REQUIRE(file.reserved() == 4_MiB);
  REQUIRE(preallocate(file.fd.get(), "file", 4_MiB, 4_MiB + 4096).error().code ==
          ErrorCode::kNoSpace);
}

TEST_CASE("preallocate: a file system that cannot reserve and does not count gets the size alone") {
  const TemporaryDirectory directory;
  const Mount mount(directory, "ramfs", "");
  if (!mount.mounted()) return;
  const File file(mount.path("file"));
  REQUIRE(preallocate(file.fd.get(), "file", 0, 1_MiB).ok());
  REQUIRE(file.size() == 1_MiB);
  REQUIRE(file.reserved() == 0);
}

TEST_CASE("preallocate: when the kernel refuses, the old size stands and the cause is told") {
  const TemporaryDirectory directory;
  const File file(directory.path("file"));
  REQUIRE(preallocate(file.fd.get(), "file", 0, 64_KiB).ok());
  SECTION("the process may not make files of that size") {
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    const rlimit small{128_KiB, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const Status refused = preallocate(file.fd.get(), "file", 64_KiB, 1_MiB);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    signal(SIGXFSZ, handler);
    REQUIRE(refused.error().code == ErrorCode::kNoSpace);
    REQUIRE(refused.error().message.find("File too large") != std::string::npos);
  }
  SECTION("the file is open for reading") {
    const File reader(directory.path("file"), O_RDONLY);
    const Status refused = preallocate(reader.fd.get(), "file", 64_KiB, 1_MiB);
    REQUIRE(refused.error().code == ErrorCode::kInvalidArgument);
    REQUIRE(refused.error().message.find("Bad file descriptor") != std::string::npos);
    REQUIRE(refused.error().message.find("nor a way back to 64 KiB") != std::string::npos);
  }
  REQUIRE(file.size() == 64_KiB);
}
