#include "io/os_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <vector>

using namespace hexad;
using io::OsThread;

TEST_CASE("os_thread: runs its body, under its name, and is joined") {
  std::array<char, 32> name{};
  OsThread thread = OsThread::start("a rather long name of a thread", [&] {
                      pthread_getname_np(pthread_self(), name.data(), name.size());
                    }).value();
  OsThread moved(std::move(thread));
  moved.join();
  REQUIRE(std::string(name.data()) == "a rather long n");
}

TEST_CASE("os_thread: what its body holds is let go when it has returned") {
  const auto held = std::make_shared<int>(1);
  OsThread thread = OsThread::start("holds", [held] {}).value();
  thread.join();
  REQUIRE(held.use_count() == 1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve terabytes
// The system refuses the stack, as it refuses the thread itself behind RLIMIT_NPROC: by EAGAIN.
TEST_CASE("os_thread: a thread that the system refuses is an error, and nothing is left of it") {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  rlimit limited = before;
  limited.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + (20u << 20);
  const auto held = std::make_shared<int>(1);
  std::atomic<bool> go{false};
  std::vector<OsThread> threads;
  threads.reserve(100);
  REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
  Status refused;
  while (refused.ok() && threads.size() < 100) {
    Result<OsThread> thread = OsThread::start("one of many", [&go, held] { go.wait(false); });
    refused = thread.status();
    if (thread.ok()) threads.push_back(std::move(thread).value());
  }
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  go = true;
  go.notify_all();
  for (OsThread& thread : threads) thread.join();
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.error().message.find("refuses the thread one of many") != std::string::npos);
  REQUIRE(refused.error().hint.find("ulimit -u") != std::string::npos);
  REQUIRE(held.use_count() == 1);
}
#endif
