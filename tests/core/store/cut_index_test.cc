// Somebody cuts the index of an open store, and it is read where it was: the process ends, on
// request with a line that says why. The next opening has everything.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "base/units.h"
#include "core/hexad.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

constexpr const char* kIndexFile = "/data.mdb";

// Where the file of an index is mapped first; null: nowhere. Its path, too.
const volatile char* map_of_index(std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    if (!line.ends_with(kIndexFile) || std::sscanf(line.c_str(), "%" SCNxPTR, &begin) != 1) {
      continue;
    }
    path = line.substr(line.find('/'));
    return reinterpret_cast<const volatile char*>(begin);  // NOLINT(performance-no-int-to-ptr)
  }
  return nullptr;
}

// Opens the pool, commits, cuts the index and reads where it was.
void cut_and_read(const PoolDescription& pool, BusErrors bus_errors) {
  RuntimeOptions options;
  options.bus_errors = bus_errors;
  Result<Store> store = Store::open(pool, options);
  if (!store.ok()) ::_exit(2);
  Transaction t;
  t.put(kDefaultCollection, "acknowledged", std::string_view("it is there"));
  if (!store->commit(std::move(t)).ok()) ::_exit(3);
  std::string path;
  // An index that was cut before is made again in the background.
  const volatile char* map = map_of_index(path);
  for (; map == nullptr; map = map_of_index(path)) std::this_thread::yield();
  if (::truncate(path.c_str(), 0) != 0) ::_exit(4);
  static_cast<void>(map[0]);
  ::_exit(0);
}

struct Ending {
  std::string errors;
  int status = 0;
};

Ending end_of_child(const PoolDescription& pool, BusErrors bus_errors) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGBUS, SIG_DFL);  // whatever a sanitizer has there
    ::dup2(ends[1], STDERR_FILENO);
    cut_and_read(pool, bus_errors);
  }
  ::close(ends[1]);
  Ending ending;
  char part[256];
  for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;) {
    ending.errors.append(part, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  REQUIRE(::waitpid(child, &ending.status, 0) == child);
  return ending;
}

TEST_CASE("cut index: the bus error is explained where that is wanted, and nothing is lost") {
  const io::testing::TemporaryDirectory directory;
  FormatOptions format;
  format.profile = {2, 1, ec::CodecKind::kIsaVandermonde, 0};
  format.device_size = 16_MiB;
  format.log_size = 1_MiB;
  for (const char* name : {"dev0", "dev1", "dev2"}) {
    format.devices.push_back(directory.path(name));
  }
  format.fast_directories = {directory.path("fast")};
  const Result<PoolDescription> pool = Store::format(format);
  REQUIRE(pool.ok());
  for (const BusErrors bus_errors : {BusErrors::kLeave, BusErrors::kExplain}) {
    const Ending ending = end_of_child(*pool, bus_errors);
    CAPTURE(ending.errors);
    REQUIRE(WIFSIGNALED(ending.status));
    REQUIRE(WTERMSIG(ending.status) == SIGBUS);
    const bool explained = ending.errors.find("hexad: bus error (SIGBUS) in a map of " +
                                              directory.path("fast")) == 0 &&
                           ending.errors.find("open the pool again") != std::string::npos;
    REQUIRE(explained == (bus_errors == BusErrors::kExplain));
    Result<Store> store = Store::open(*pool);
    REQUIRE(store.ok());
    REQUIRE(as_text(store->get(kDefaultCollection, "acknowledged").value()) == "it is there");
    REQUIRE(store->fsck({.deep = true})->errors() == 0);
    REQUIRE(store->close().ok());
  }
}

}  // namespace
}  // namespace hexad::testing
