// Devices that cannot be opened just now, or not for writing: an opening for writing that went on
// without them would make them stale. It fails instead, and changes nothing anywhere; devices that
// really are away are left behind, and everybody is told.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <map>

#include "base/checksum.h"
#include "io/os_error.h"
#include "tests/base/thinned.h"
#include "tests/core/sim_origin.h"
#include "tests/core/store_fixture.h"
#include "tests/io/file_bytes.h"
#include "tests/io/mount.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

using io::OpenMode;
using io::SimSystem;

std::string fill(Store& store) {
  const Result<Lsn> done = put(store, "a", "value");
  return done.ok() ? "" : done.error().to_string();
}

RuntimeOptions with(Access access, Unwritable unwritable = Unwritable::kRefuse) {
  RuntimeOptions options;
  options.access = access;
  options.unwritable_devices = unwritable;
  return options;
}

// What an opening says, and the states of the devices when it succeeds.
struct Opened {
  std::optional<Error> error;
  StoreStatus status;
};

Opened open(SimSystem& system, const PoolDescription& pool, const RuntimeOptions& options) {
  Opened opened;
  system.run([&] {
    Result<Store> store = Store::open(pool, options, &system);
    if (!store.ok()) {
      opened.error = store.error();
      return;
    }
    opened.status = store->status();
    const Status closed = store->close();
    if (!closed.ok()) opened.error = closed.error();
  });
  return opened;
}

std::string state_of(const StoreStatus& status, const std::string& path) {
  for (const DeviceStatus& device : status.devices) {
    if (device.path == path) return device.state;
  }
  return "not there";
}

TEST_CASE("opening: a device that is refused to this process is never left behind") {
  SimOrigin origin({}, fill);
  // The one on the fast tier, too.
  const std::string disk =
      origin.disks()[static_cast<std::size_t>(GENERATE(range(0, 7, kThinned == 1 ? 1 : 3)))];
  const int number = GENERATE(EMFILE, ENFILE, ENOMEM, ENOLCK, EAGAIN, EACCES, EPERM, EROFS, ENOSPC,
                              EDQUOT, EFBIG, EISDIR, ENOSYS);
  CAPTURE(disk, number);
  const auto system = origin.start(1);
  std::map<std::string, std::shared_ptr<const io::CowImage>> before;
  for (const std::string& name : origin.disks()) before[name] = system->disk(name).snapshot();
  system->disk(disk).refuse_opening(OpenMode::kReadWrite, number);

  const Opened refused = open(*system, origin.pool(), with(Access::kReadWrite));
  REQUIRE(refused.error.has_value());
  REQUIRE(refused.error->code == io::os_error(number, "").code);
  REQUIRE_THAT(refused.error->message,
               Catch::Contains(disk) && Catch::Contains("nothing has changed"));
  REQUIRE_FALSE(refused.error->hint.empty());
  for (const std::string& name : origin.disks()) {
    CAPTURE(name);
    REQUIRE((system->disk(name).snapshot() == before[name]));
  }
  // Reading does not mind.
  const Opened read = open(*system, origin.pool(), with(Access::kReadOnly));
  REQUIRE_FALSE(read.error.has_value());
  REQUIRE(read.status.health == Health::kOk);

  system->disk(disk).refuse_opening(OpenMode::kReadWrite, 0);
  const Opened again = open(*system, origin.pool(), with(Access::kReadWrite));
  REQUIRE_FALSE(again.error.has_value());
  REQUIRE(state_of(again.status, disk) == "ok");
  REQUIRE(again.status.warnings.empty());
}

TEST_CASE("opening: a device that stays unwritable is given up by an explicit word alone") {
  SimOrigin origin({}, fill);
  for (const int number : {EROFS, EPERM, EACCES, EMFILE}) {
    CAPTURE(number);
    const auto system = origin.start(1);
    system->disk("dev3").refuse_opening(OpenMode::kReadWrite, number);
    const Opened lost = open(*system, origin.pool(), with(Access::kReadWrite, Unwritable::kLose));
    // What passes is waited for, whatever the word.
    REQUIRE(lost.error.has_value() == (number == EMFILE));
    if (lost.error.has_value()) continue;
    REQUIRE(lost.status.health == Health::kDegraded);
    REQUIRE(state_of(lost.status, "dev3") == "unreadable");
    REQUIRE(lost.status.warnings.size() == 1);
    REQUIRE_THAT(lost.status.warnings[0], Catch::Contains("device 3 (dev3) has left the pool"));
    system->disk("dev3").refuse_opening(OpenMode::kReadWrite, 0);
    // It lacks what it missed until somebody asks for that.
    RuntimeOptions asked = with(Access::kReadWrite);
    asked.catch_up = CatchUp::kWhenAsked;
    const Opened later = open(*system, origin.pool(), asked);
    REQUIRE(state_of(later.status, "dev3") == "behind");
    REQUIRE(later.status.warnings.empty());  // this opening has lost nothing
  }
}

TEST_CASE("opening: devices that are away are left behind, and each is told") {
  SimOrigin origin({}, fill);
  const int number = GENERATE(0, ENXIO, ENODEV, EIO);  // 0: no such disk
  CAPTURE(number);
  const auto system = origin.start(1);
  for (const char* name : {"dev1", "dev4"}) {
    if (number == 0) {
      system->disk(name).vanish();
    } else {
      system->disk(name).refuse_opening(OpenMode::kReadWrite, number);
      system->disk(name).refuse_opening(OpenMode::kReadOnly, number);
    }
  }
  // Who only reads leaves nothing behind.
  const Opened read = open(*system, origin.pool(), with(Access::kReadOnly));
  REQUIRE_FALSE(read.error.has_value());
  REQUIRE(read.status.warnings.empty());
  const Opened opened = open(*system, origin.pool(), with(Access::kReadWrite));
  REQUIRE_FALSE(opened.error.has_value());
  REQUIRE(opened.status.faults_tolerated == 0);
  REQUIRE(opened.status.warnings.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE_THAT(opened.status.warnings[i],
                 Catch::Contains(i == 0 ? "dev1" : "dev4") && Catch::Contains("has left the pool"));
  }
}

// A pool of files.
class Files {
 public:
  explicit Files(const std::string& third = "") {
    FormatOptions options = small_format();
    for (int i = 0; i < 6; ++i) options.devices.push_back(path("dev" + std::to_string(i)));
    if (!third.empty()) options.devices[3] = third;
    options.fast_directories = {path("fast")};
    const Result<PoolDescription> made = Store::format(options);
    if (!made.ok()) FAIL(made.error().to_string());
    pool = *made;
    Store store = Store::open(pool, {}).value();
    REQUIRE(put(store, "a", "value").ok());
    REQUIRE(store.close().ok());
  }
  std::string path(const std::string& name) const { return directory_.path(name); }
  std::map<std::string, std::uint64_t> fingerprint() const {
    std::map<std::string, std::uint64_t> sums;
    for (const std::string& device : pool.devices) {
      sums[device] = checksum(ChecksumType::kXxh3, as_bytes(io::testing::file_bytes(device)));
    }
    return sums;
  }

  PoolDescription pool;

 private:
  io::testing::TemporaryDirectory directory_;
};

// How a process fares that may open so many files more than it has open.
enum class Fared { kOpened, kExhausted, kDegraded, kOther };

Fared open_with_descriptors(const PoolDescription& pool, rlim_t more) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int last = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      last = std::max(last, std::stoi(entry.path().filename().string()));
    }
    // Whoever has started the test may have left it any numbers: none below is free.
    int filled = 0;
    while (filled <= last) filled = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const rlimit limit{static_cast<rlim_t>(filled) + 1 + more,
                       static_cast<rlim_t>(filled) + 1 + more};
    Fared fared = Fared::kOther;
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) {
      Result<Store> store = Store::open(pool, {});
      if (!store.ok() && store.error().code == ErrorCode::kExhausted) fared = Fared::kExhausted;
      if (store.ok()) {
        fared = store->status().health == Health::kOk ? Fared::kOpened : Fared::kDegraded;
        store->close().ignore();
      }
    }
    ::_exit(static_cast<int>(fared));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return static_cast<Fared>(WEXITSTATUS(status));
}

TEST_CASE("opening: a process that runs short of descriptors opens all of a pool, or nothing") {
  Files files;
  const auto before = files.fingerprint();
  bool opened = false;
  int exhausted = 0;
  for (rlim_t more = 0; more < 40 && !opened; ++more) {
    CAPTURE(more);
    const Fared fared = open_with_descriptors(files.pool, more);
    REQUIRE((fared == Fared::kOpened || fared == Fared::kExhausted));
    opened = fared == Fared::kOpened;
    exhausted += fared == Fared::kExhausted ? 1 : 0;
    if (!opened) REQUIRE((files.fingerprint() == before));
  }
  REQUIRE(opened);
  REQUIRE(exhausted >= 7);
  const Store store = Store::open(files.pool, {}).value();
}

TEST_CASE(
    "opening: a device on a file system that has turned read-only is read, and not given up") {
  const io::testing::TemporaryDirectory directory;
  io::testing::Mount mount(directory, "tmpfs", "size=32m");
  if (!mount.mounted()) return;
  Files files(mount.path("dev3"));
  REQUIRE(mount.make_read_only("size=32m"));
  const auto before = files.fingerprint();
  const Result<Store> refused = Store::open(files.pool, {});
  REQUIRE(code_of(refused) == ErrorCode::kReadOnly);
  REQUIRE_THAT(refused.error().to_string(), Catch::Contains("dev3") &&
                                                Catch::Contains("reading only") &&
                                                Catch::Contains("--lose-unwritable-devices"));
  REQUIRE((files.fingerprint() == before));
  {
    Store store = Store::open(files.pool, with(Access::kReadOnly)).value();
    REQUIRE(store.status().health == Health::kOk);
    REQUIRE(get(store, "a") == "value");
  }
  Store store = Store::open(files.pool, with(Access::kReadWrite, Unwritable::kLose)).value();
  REQUIRE(store.status().health == Health::kDegraded);
  REQUIRE(store.status().warnings.size() == 1);
  REQUIRE(put(store, "b", "value").ok());
}

}  // namespace
}  // namespace hexad::testing
