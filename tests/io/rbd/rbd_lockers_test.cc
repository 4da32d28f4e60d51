#include "io/rbd/rbd_lockers.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

using namespace hexad;
using namespace hexad::io;

namespace {

constexpr char kAddress[] = "10.0.0.7:0/123";

ssize_t one_locker(RbdLibrary::Handle, int* exclusive, char*, std::size_t*, char* clients,
                   std::size_t*, char*, std::size_t*, char* addresses, std::size_t* size) {
  // The first time there is too little room.
  if (*size < 300) return -ERANGE;
  *exclusive = 1;
  std::memcpy(addresses, kAddress, sizeof(kAddress));
  std::strcpy(clients, "client.41");
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

std::string left;  // in the image

int keep_note(RbdLibrary::Handle, const char* key, const char* value) {
  if (std::string(key) != "hexad.holder") return -EINVAL;
  left = value;
  return 0;
}

int show_note(RbdLibrary::Handle, const char*, char* value, std::size_t* size) {
  if (left.empty()) return -ENOENT;
  if (*size <= left.size()) return -ERANGE;
  std::memcpy(value, left.c_str(), left.size() + 1);
  *size = left.size() + 1;
  return 0;
}

RbdLibrary some_library() {
  RbdLibrary library{};
  library.rbd_list_lockers = one_locker;
  library.rbd_metadata_set = keep_note;
  library.rbd_metadata_get = show_note;
  library.rbd_watchers_list = many_watchers;
  library.rbd_watchers_list_cleanup = cleanup;
  return library;
}

}  // namespace

TEST_CASE("rbd_lockers: owners are alive while they watch, and who asks is left out") {
  left.clear();
  RbdLibrary library = some_library();
  const RbdLockers found = find_lockers(library, nullptr, 19, "rbd:log/a").value();
  REQUIRE(found.owners == std::vector<std::string>{kAddress});
  CHECK(found.process == "");
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

TEST_CASE("rbd_lockers: whoever has the lock says which process it is, and nobody else") {
  left.clear();
  const RbdLibrary library = some_library();
  leave_locker(library, nullptr, 41);
  const RbdLockers found = find_lockers(library, nullptr, 19, "rbd:log/a").value();
  CHECK(found.process.find("host ") == 0);
  CHECK(found.process.find(", process " + std::to_string(getpid()) + ", ") != std::string::npos);
  CHECK(found.process.find(", since 20") != std::string::npos);
  CHECK(found.to_string().find(kAddress + std::string(" (host ")) == 0);
  CHECK(found.to_string().find("; watched by 10.0.0.8:0/4") != std::string::npos);
  leave_locker(library, nullptr, 4);  // one that had it before
  CHECK(find_lockers(library, nullptr, 19, "rbd:log/a")->process == "");
  left = "nonsense";
  CHECK(find_lockers(library, nullptr, 19, "rbd:log/a")->process == "");
  left = std::string(5000, 'x');
  CHECK(find_lockers(library, nullptr, 19, "rbd:log/a")->process == "");
}

TEST_CASE("rbd_lockers: the message names who has it and who watches") {
  CHECK(RbdLockers{{"a:0/1"}, {"a:0/1", "b:0/2"}, true, ""}.to_string() ==
        "a:0/1 (watched by a:0/1, b:0/2)");
  CHECK(RbdLockers{{"a:0/1"}, {}, true, ""}.to_string() == "a:0/1");
  CHECK(RbdLockers{{"a:0/1"}, {"b:0/2"}, true, "host h"}.to_string() ==
        "a:0/1 (host h; watched by b:0/2)");
  CHECK(RbdLockers{}.to_string() == "another client");
}
