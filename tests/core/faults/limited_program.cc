// A program that may have only so much of something: process_limits_test.cc runs it, and looks
// whether what it says is true.
//
//   limited_program POOL threads N        opens the pool as a user who may have N processes
//   limited_program POOL open-threads N   may have N when the pool is open
//   limited_program POOL addresses N      opens it with N MiB of addresses more than it has
//   limited_program POOL open-addresses N limits itself so when the pool is open, and then asks
//                                         for more than there is
//
// It says on standard output, a line each: "opened", "refused TEXT" (the error), "kept NAME" (a
// commit is acknowledged), "skipped TEXT" (this machine cannot do that), "wrong TEXT".
#include <grp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/units.h"
#include "core/hexad.h"
#include "tests/core/noise.h"

namespace hexad::testing {
namespace {

constexpr uid_t kNobody = 65534;

void say(const std::string& word, const std::string& text = "") {
  std::printf("%s%s%s\n", word.c_str(), text.empty() ? "" : " ", text.c_str());
  std::fflush(stdout);
}

bool limit(int resource, rlim_t value) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return false;
  now.rlim_cur = value;
  return ::setrlimit(static_cast<__rlimit_resource_t>(resource), &now) == 0;
}

// Root may have as many as it likes.
bool become_nobody() {
  if (::geteuid() != 0) return true;
  return ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
}

bool limit_addresses(std::uint64_t more) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages > 0 &&
         limit(RLIMIT_AS, pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + more);
}

void expect_refused(const char* what, const Status& status, std::uint64_t bytes) {
  if (status.ok()) {
    say("wrong", std::string(what) + " was done");
  } else if (status.error().code != ErrorCode::kExhausted ||
             status.error().message.find(std::to_string(bytes)) == std::string::npos) {
    say("wrong", std::string(what) + ": " + status.error().to_string());
  } else {
    say("refused", status.error().to_string());
  }
}

void put(Store& store, const std::string& name, std::size_t size) {
  Transaction t;
  t.put(kDefaultCollection, name, noise(size, 7));
  const Status status = store.commit(std::move(t)).status();
  if (status.ok()) {
    say("kept", name);
  } else {
    say("wrong", name + ": " + status.error().to_string());
  }
}

// The object "large" is larger than all that is left.
void ask_for_too_much(Store& store) {
  const Result<ObjectStat> large = store.stat(kDefaultCollection, "large");
  if (!large.ok()) return say("wrong", large.error().to_string());
  const std::uint64_t size = large->size;
  expect_refused("get", store.get(kDefaultCollection, "large").status(), size);
  const ByteRange all{0, size};
  expect_refused("read_ranges", store.read_ranges(kDefaultCollection, "large", {&all, 1}).status(),
                 size);
}

int main_of(const std::string& directory, const std::string& mode, std::uint64_t number) {
  const Result<PoolDescription> pool = read_pool(directory);
  if (!pool.ok()) return 2;
  if (mode == "threads" || mode == "open-threads") {
    if ((mode == "threads" && !limit(RLIMIT_NPROC, number)) || !become_nobody()) {
      say("skipped", "cannot become another user");
      return 0;
    }
  } else if (mode == "addresses" && !limit_addresses(number * 1_MiB)) {
    return 2;
  }
  Result<Store> store = Store::open(*pool);
  if (!store.ok()) {
    say("refused", store.error().to_string());
    return 0;
  }
  say("opened");
  if (mode == "addresses") ::_exit(0);  // what else comes may be too much: as a crash
  if (mode == "open-addresses") {
    put(*store, "before", 10'000);
    // Its payload is there before the limit, so that only the copy is too much.
    const std::string payload(200 << 20, 'x');
    if (!limit_addresses(number * 1_MiB)) return 2;
    ask_for_too_much(*store);
    Transaction t;
    t.put(kDefaultCollection, "copied", payload);
    expect_refused("put", store->commit(std::move(t)).status(), payload.size());
    put(*store, "after", 10'000);
  } else {
    if (mode == "open-threads" && !limit(RLIMIT_NPROC, number)) return 2;
    for (int i = 0; i < 20; ++i) {
      put(*store, "here" + std::to_string(i), i % 4 == 0 ? 600'000 : 10'000);
    }
    const Status checkpoint = store->checkpoint();
    if (!checkpoint.ok()) say("wrong", checkpoint.error().to_string());
    const StoreStatus status = store->status();
    for (const std::string& warning : status.warnings) say("wrong", warning);
  }
  const Status closed = store->close();
  if (!closed.ok()) say("wrong", closed.error().to_string());
  return 0;
}

}  // namespace
}  // namespace hexad::testing

int main(int, char** arguments) {
  return hexad::testing::main_of(arguments[1], arguments[2],
                                 std::strtoull(arguments[3], nullptr, 10));
}
