#include "io/rbd/rbd_lockers.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

using namespace hexad;
using namespace hexad::io;

namespace {

constexpr char kAddress[] = "10.0.0.7:0/123";

ssize_t one_locker(RbdLibrary::Handle, int* exclusive, char*, std::size_t*, char*, std::size_t*,
                   char*, std::size_t*, char* addresses, std::size_t* size) {
  // The first time there is too little room.
  if (*size < 300) return -ERANGE;
  *exclusive = 1;
  std::memcpy(addresses, kAddress, sizeof(kAddress));
  return 1;
}

ssize_t no_answer(RbdLibrary::Handle, int*, char*, std::size_t*, char*, std::size_t*, char*,
                  std::size_t*, char*, std::size_t*) {
  return -ETIMEDOUT;
}

constexpr std::size_t kWatchers = 20;
char addresses[kWatchers][16];

int many_watchers(RbdLibrary::Handle, RbdWatcher* watchers, std::size_t* most) {
  const bool small = *most < kWatchers;
  *most = kWatchers;
  if (small) return -ERANGE;
  for (std::size_t i = 0; i < kWatchers; ++i) {
    std::strcpy(addresses[i], i == 3 ? kAddress : "10.0.0.8:0/4");
    watchers[i] = {addresses[i], static_cast<std::int64_t>(i), 0};
  }
  return 0;
}

void cleanup(RbdWatcher*, std::size_t) {}

}  // namespace

TEST_CASE("rbd_lockers: owners are alive while they watch, and who asks is left out") {
  RbdLibrary library{};
  library.rbd_list_lockers = one_locker;
  library.rbd_watchers_list = many_watchers;
  library.rbd_watchers_list_cleanup = cleanup;
  const RbdLockers found = find_lockers(library, nullptr, 19, "rbd:log/a").value();
  REQUIRE(found.owners == std::vector<std::string>{kAddress});
  REQUIRE(found.watchers.size() == kWatchers - 1);
  CHECK(found.is_alive(kAddress));
  CHECK_FALSE(found.is_alive("10.0.0.7:0/124"));
  const RbdLockers alone = find_lockers(library, nullptr, 3, "rbd:log/a").value();
  CHECK_FALSE(alone.is_alive(kAddress));
  library.rbd_list_lockers = no_answer;
  const auto failed = find_lockers(library, nullptr, 3, "rbd:log/a");
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message.find("rbd:log/a") == 0);
}

TEST_CASE("rbd_lockers: the message names who has it and who watches") {
  CHECK(RbdLockers{{"a:0/1"}, {"a:0/1", "b:0/2"}}.to_string() == "a:0/1 (watched by a:0/1, b:0/2)");
  CHECK(RbdLockers{{"a:0/1"}, {}}.to_string() == "a:0/1");
  CHECK(RbdLockers{}.to_string() == "another client");
}
