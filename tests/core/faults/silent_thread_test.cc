// A device that does not answer, with real threads and real files: the call stays in the kernel, as
// far as the store can tell. The thread that reads comes back all the same.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>

#include "core/store.h"
#include "io/os/file_device.h"
#include "io/os/file_geometry.h"
#include "io/system.h"
#include "tests/core/noise.h"
#include "tests/io/temporary.h"

namespace {

std::mutex silence_mutex;
std::condition_variable silence_changed;
ino_t silent_file = 0;  // guarded by silence_mutex; 0: none
int held = 0;           // guarded by it: reads so far

}  // namespace

// Instead of that of the C library.
extern "C" ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  struct stat status {};
  if (flags == 0 && fstat(fd, &status) == 0) {
    std::unique_lock<std::mutex> lock(silence_mutex);
    if (silent_file == status.st_ino) ++held;
    silence_changed.wait(lock, [&] { return silent_file != status.st_ino; });
  }
  return syscall(SYS_preadv2, fd, parts, static_cast<unsigned long>(count),
                 static_cast<unsigned long>(offset), 0UL, flags);
}

namespace hexad::testing {
namespace {

// As long as it lives no read of the file ends.
class Silence {
 public:
  explicit Silence(const std::string& path) {
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    const std::lock_guard<std::mutex> lock(silence_mutex);
    silent_file = status.st_ino;
  }
  ~Silence() {
    const std::lock_guard<std::mutex> lock(silence_mutex);
    silent_file = 0;
    silence_changed.notify_all();
  }
  static int reads_held() {
    const std::lock_guard<std::mutex> lock(silence_mutex);
    return held;
  }
};

bool is_in_memory(const std::string& path) {
  const io::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return io::is_in_memory(fd.get());
}

std::string value_of(int i) { return noise(i < 4 ? 3000 : 300'000, i); }

TEST_CASE("silent thread: reads come back, and the device is named") {
  const io::testing::TemporaryDirectory directory;
  const auto system = io::make_real_system(io::QueueKind::kThreads).value();
  FormatOptions format(Preset::kTiny);
  for (int i = 0; i < 6; ++i) format.devices.push_back(directory.path("d" + std::to_string(i)));
  format.fast_directories = {directory.path("fast")};
  const PoolDescription pool = Store::format(format, system.get()).value();
  RuntimeOptions options;
  options.cache_size = 0;
  Store store = Store::open(pool, options, system.get()).value();
  for (int i = 0; i < 8; ++i) {
    Transaction t;
    t.put(kDefaultCollection, std::to_string(i), value_of(i));
    REQUIRE(store.commit(std::move(t)).ok());
  }
  REQUIRE(store.checkpoint().ok());
  if (is_in_memory(directory.path())) {
    WARN("SKIPPED: files are in memory here, which always answers");
    return;
  }
  {
    const Silence silence(pool.devices[1]);
    for (int i = 0; i < 8; ++i) {
      CAPTURE(i);
      const Result<Bytes> found = store.get(kDefaultCollection, std::to_string(i));
      REQUIRE(found.ok());
      REQUIRE(as_text(*found) == std::string_view(value_of(i)));
      if (Silence::reads_held() == 0) continue;
      // Who came first has waited until it counted as silent.
      std::string warnings;
      for (const std::string& warning : store.status().warnings) warnings += warning;
      REQUIRE_THAT(warnings, Catch::Contains("(" + pool.devices[1] + ") has not answered for"));
    }
    REQUIRE(Silence::reads_held() > 0);
  }
  REQUIRE(store.close().ok());
  for (const DeviceStatus& device : store.status().devices) REQUIRE(device.state == "ok");
}

}  // namespace
}  // namespace hexad::testing
