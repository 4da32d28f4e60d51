// Disks that two machines see (io/os/reservation.h), with real files, of which each machine has
// links of its own, and a stand-in for what the kernel does with reservations.
#include <fcntl.h>
#include <linux/pr.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/store.h"
#include "io/os/file_device.h"
#include "io/os/reservation.h"
#include "io/system.h"
#include "tests/core/noise.h"
#include "tests/io/temporary.h"

namespace {

using Nexus = char;  // a machine's port; 0: none, as of all other files

// One disk.
struct Disk {
  std::map<Nexus, std::uint64_t> keys;  // of those that are registered
  Nexus holder = 0;                     // of the reservation
};

std::mutex disks_mutex;
std::map<ino_t, Disk> disks;  // guarded by it; empty: nothing knows reservations
bool can_ask = true;          // guarded by it; false: a kernel before 6.19, and no SCSI

// A machine's links are in a folder /machine-X/.
Nexus nexus_of(int fd) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), path.data(), path.size() - 1);
  const std::string name(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t at = name.find("/machine-");
  return at == std::string::npos ? 0 : name[at + 9];
}

// Null: no such disk. Under the lock.
Disk* disk_of(int fd) {
  struct stat status {};
  if (nexus_of(fd) == 0 || fstat(fd, &status) != 0) return nullptr;
  const auto found = disks.find(status.st_ino);
  return found == disks.end() ? nullptr : &found->second;
}

bool is_shut_out(int fd) {
  const Nexus nexus = nexus_of(fd);
  if (nexus == 0) return false;
  const std::lock_guard<std::mutex> lock(disks_mutex);
  const Disk* const disk = disk_of(fd);
  return disk != nullptr && disk->holder != 0 && disk->holder != nexus;
}

constexpr int kConflict = 0x18;
constexpr unsigned long kReadReservation = 0x801070cf;

// Keys of one process of the test are those of two machines to each other.
std::uint64_t told(std::uint64_t key, Nexus nexus) {
  return key ^ static_cast<unsigned char>(nexus);
}

int reserve(Disk& disk, Nexus nexus) {
  if (disk.keys.count(nexus) == 0) return kConflict;
  if (disk.holder != 0 && disk.holder != nexus) return kConflict;
  disk.holder = nexus;
  return 0;
}

int preempt(Disk& disk, Nexus nexus, const pr_preempt& request) {
  const auto own = disk.keys.find(nexus);
  if (own == disk.keys.end() || own->second != told(request.old_key, nexus)) return kConflict;
  const std::uint64_t other = told(request.new_key, nexus);
  if (disk.keys.count(disk.holder) == 0 || disk.keys[disk.holder] != other) return kConflict;
  disk.keys.erase(disk.holder);
  disk.holder = nexus;
  return 0;
}

}  // namespace

// Instead of those of the C library.
extern "C" int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const bool of_reservations = (request >> 8 & 0xff) == 'p';
  if (!of_reservations || nexus_of(fd) == 0) {
    return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
  }
  const std::lock_guard<std::mutex> lock(disks_mutex);
  Disk* const disk = disk_of(fd);
  errno = ENOTTY;
  if (disk == nullptr) return -1;
  const Nexus nexus = nexus_of(fd);
  switch (request) {
    case IOC_PR_REGISTER:
      disk->keys[nexus] = told(static_cast<pr_registration*>(argument)->new_key, nexus);
      return 0;
    case IOC_PR_RESERVE:
      return reserve(*disk, nexus);
    case IOC_PR_PREEMPT_ABORT:
      return preempt(*disk, nexus, *static_cast<pr_preempt*>(argument));
    case kReadReservation:
      if (!can_ask) return -1;
      *static_cast<std::uint64_t*>(argument) =
          disk->holder == 0 ? 0 : told(disk->keys[disk->holder], nexus);
      return 0;
    default:
      return -1;
  }
}

extern "C" int flock(int fd, int operation) noexcept {
  // The other machine's lock is one of the other machine.
  return nexus_of(fd) == 'b' ? 0 : static_cast<int>(syscall(SYS_flock, fd, operation));
}

extern "C" ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  if (is_shut_out(fd)) {
    errno = EBADE;
    return -1;
  }
  return syscall(SYS_preadv2, fd, parts, static_cast<unsigned long>(count),
                 static_cast<unsigned long>(offset), 0UL, flags);
}

extern "C" ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  if (is_shut_out(fd)) {
    errno = EBADE;
    return -1;
  }
  return syscall(SYS_pwritev2, fd, parts, static_cast<unsigned long>(count),
                 static_cast<unsigned long>(offset), 0UL, flags);
}

namespace hexad::testing {
namespace {

constexpr int kDisks = 6;

// Six disks, and the machines a and b.
class TwoMachines {
 public:
  TwoMachines() {
    for (const char* machine : {"machine-a", "machine-b"}) {
      REQUIRE(mkdir(directory_.path(machine).c_str(), 0700) == 0);
    }
    const std::lock_guard<std::mutex> lock(disks_mutex);
    for (int i = 0; i < kDisks; ++i) {
      const std::string path = disk('a', i);
      const io::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      REQUIRE(fd.valid());
      REQUIRE(ftruncate(fd.get(), 64 << 20) == 0);
      REQUIRE(link(path.c_str(), disk('b', i).c_str()) == 0);
      struct stat status {};
      REQUIRE(fstat(fd.get(), &status) == 0);
      disks[status.st_ino];
    }
    can_ask = true;
  }
  ~TwoMachines() {
    const std::lock_guard<std::mutex> lock(disks_mutex);
    disks.clear();
  }

  std::string disk(Nexus machine, int i) const {
    return directory_.path(std::string("machine-") + machine + "/d" + std::to_string(i));
  }
  PoolDescription pool(Nexus machine) const {
    PoolDescription pool;
    for (int i = 0; i < kDisks; ++i) pool.devices.push_back("reserved:" + disk(machine, i));
    return pool;
  }
  FormatOptions format() const {
    FormatOptions format(Preset::kTiny);
    format.devices = pool('a').devices;
    format.fast_directories = {};
    return format;
  }
  io::System& system() { return *system_; }

 private:
  io::testing::TemporaryDirectory directory_;
  std::unique_ptr<io::System> system_ = io::make_real_system(io::QueueKind::kThreads).value();
};

RuntimeOptions uncached(Access access = Access::kReadWrite) {
  RuntimeOptions options;
  options.cache_size = 0;
  options.access = access;
  return options;
}

Status put(Store& store, const std::string& name, std::uint64_t seed) {
  Transaction t;
  t.put(kDefaultCollection, name, noise(100'000, seed));
  return store.commit(std::move(t)).status();
}

// Nothing: it went well.
template <typename T>
std::optional<ErrorCode> code_of(const Result<T>& result) {
  if (result.ok()) return std::nullopt;
  return result.error().code;
}

bool has(Store& store, const std::string& name, std::uint64_t seed) {
  const Result<Bytes> found = store.get(kDefaultCollection, name);
  return found.ok() && as_text(*found) == std::string_view(noise(100'000, seed));
}

TEST_CASE("reserved disks: one machine has them, until another one takes them over") {
  TwoMachines w;
  REQUIRE(Store::format(w.format(), &w.system()).ok());
  std::optional<Store> a = Store::open(w.pool('a'), uncached(), &w.system()).value();
  REQUIRE(put(*a, "acknowledged", 1).ok());

  // Neither for writing nor for reading, and whoever asks is told why.
  for (const Access access : {Access::kReadWrite, Access::kReadOnly}) {
    const Result<Store> b = Store::open(w.pool('b'), uncached(access), &w.system());
    REQUIRE(code_of(b) == ErrorCode::kBusy);
    REQUIRE_THAT(b.error().to_string(), Catch::Contains("is reserved by another machine"));
  }

  REQUIRE(Store::take_over(w.pool('b'), &w.system()).ok());
  std::optional<Store> b = Store::open(w.pool('b'), uncached(), &w.system()).value();
  REQUIRE(has(*b, "acknowledged", 1));
  // The one that wakes up.
  const Status late = put(*a, "late", 2);
  REQUIRE_FALSE(late.ok());
  REQUIRE(put(*a, "later", 2).error().code == ErrorCode::kFenced);
  REQUIRE(code_of(a->get(kDefaultCollection, "acknowledged")) == ErrorCode::kFenced);
  for (const DeviceStatus& device : a->status().devices) REQUIRE(device.state == "ok");
  REQUIRE(put(*b, "acknowledged too", 3).ok());
  REQUIRE(b->close().ok());
  b.reset();

  // PR2: in an hour as well.
  REQUIRE(put(*a, "in an hour", 2).error().code == ErrorCode::kFenced);
  a->close().ignore();
  a.reset();
  REQUIRE(code_of(Store::open(w.pool('a'), uncached(), &w.system())) == ErrorCode::kBusy);

  REQUIRE(Store::take_over(w.pool('a'), &w.system()).ok());
  a = Store::open(w.pool('a'), uncached(), &w.system()).value();
  REQUIRE(has(*a, "acknowledged", 1));
  REQUIRE(has(*a, "acknowledged too", 3));
  REQUIRE(code_of(a->get(kDefaultCollection, "late")) == ErrorCode::kNotFound);
  FsckOptions deep;
  deep.deep = true;
  REQUIRE(a->fsck(deep)->findings.empty());
  REQUIRE(a->close().ok());
}

TEST_CASE("reserved disks: what has ended opens again on the same machine") {
  TwoMachines w;
  REQUIRE(Store::format(w.format(), &w.system()).ok());
  for (int i = 0; i < 3; ++i) {
    Store store = Store::open(w.pool('a'), uncached(), &w.system()).value();
    REQUIRE(put(store, "again", 1).ok());
    if (i == 1) REQUIRE(store.close().ok());
  }
  const Store reader = Store::open(w.pool('a'), uncached(Access::kReadOnly), &w.system()).value();
  // Nobody is to be shut out of what this machine has.
  REQUIRE(Store::holders(w.pool('b'), &w.system())->size() == kDisks);
  REQUIRE(Store::holders(w.pool('a'), &w.system()).value().empty() == false);
}

TEST_CASE("reserved disks: what cannot be reserved is refused, and says why") {
  TwoMachines w;
  {
    const std::lock_guard<std::mutex> lock(disks_mutex);
    disks.clear();
  }
  const Result<PoolDescription> made = Store::format(w.format(), &w.system());
  REQUIRE(code_of(made) == ErrorCode::kUnsupported);
  REQUIRE_THAT(made.error().to_string(), Catch::Contains("knows no persistent reservations"));
  FormatOptions relative = w.format();
  relative.devices[0] = "reserved:d0";
  const Result<PoolDescription> from_here = Store::format(relative, &w.system());
  REQUIRE(code_of(from_here) == ErrorCode::kInvalidArgument);
  REQUIRE_THAT(from_here.error().to_string(), Catch::Contains("does not begin with /"));
}

TEST_CASE("reserved disks: where nobody can say who has them, nobody is shut out") {
  TwoMachines w;
  REQUIRE(Store::format(w.format(), &w.system()).ok());
  Store a = Store::open(w.pool('a'), uncached(), &w.system()).value();
  {
    const std::lock_guard<std::mutex> lock(disks_mutex);
    can_ask = false;
  }
  REQUIRE(code_of(Store::open(w.pool('b'), uncached(), &w.system())) == ErrorCode::kBusy);
  const Result<std::vector<DeviceHolder>> over = Store::take_over(w.pool('b'), &w.system());
  REQUIRE(code_of(over) == ErrorCode::kBusy);
  REQUIRE_THAT(over.error().to_string(), Catch::Contains("cannot say which machine"));
  REQUIRE(put(a, "goes on", 4).ok());
  REQUIRE(has(a, "goes on", 4));
  REQUIRE(a.close().ok());
}

TEST_CASE("reserved disks: keys tell machines apart") {
  REQUIRE(io::reservation_key("one") != io::reservation_key("another"));
  REQUIRE(io::reservation_key("one") >> 48 == 0x6878);
  REQUIRE(io::own_reservation_key() == io::own_reservation_key());
}

}  // namespace
}  // namespace hexad::testing
