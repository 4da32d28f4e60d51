#include "io/lines/process_info.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>

namespace hexad::io {
namespace {

TEST_CASE("process_info: this process has a command, and began before now and not long ago") {
  const ProcessInfo process = own_process();
  CHECK(process.pid == ::getpid());
  CHECK(process.command.find("process_info_test") != std::string::npos);
  CHECK(process.command.find('/') != 0);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const Nanos nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  constexpr Nanos kTick = 100'000'000;  // the kernel counts in ticks
  constexpr Nanos kDay = 86'400'000'000'000;
  CHECK(process.since <= nanos + kTick);
  CHECK(process.since > nanos - kDay);
}

TEST_CASE("process_info: of a long command there is the beginning") {
  int hold[2];     // what the other process reads
  int started[2];  // ends when it has become another program
  REQUIRE(::pipe(hold) == 0);
  REQUIRE(::pipe2(started, O_CLOEXEC) == 0);
  const std::string many(100'000, 'x');
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(hold[0], 0);
    ::close(hold[0]);
    ::close(hold[1]);
    ::execl("/bin/sh", "/bin/sh", "-c", "read line", many.c_str(), nullptr);
    ::_exit(1);
  }
  ::close(started[1]);
  char byte = 0;
  REQUIRE(::read(started[0], &byte, 1) == 0);
  const ProcessInfo process = process_info(child);
  CHECK(process.command.size() == kMostOfCommand);
  CHECK(process.command.find("sh -c read line xxx") == 0);
  ::close(started[0]);
  ::close(hold[0]);
  ::close(hold[1]);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
}

TEST_CASE("process_info: of a process that is not there nothing is known") {
  const ProcessInfo process = process_info(999'999'999);
  CHECK(process.command.empty());
  CHECK(process.since == 0);
}

TEST_CASE("process_info: times are in UTC") {
  CHECK(format_utc(0) == "1970-01-01 00:00:00 UTC");
  CHECK(format_utc(1'700'000'000'999'999'999) == "2023-11-14 22:13:20 UTC");
}

}  // namespace
}  // namespace hexad::io
