#include "tools/cli/progress.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>

#include "io/sim/sim_system.h"

namespace hexad::tools {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

// Standard error is a terminal for as long as this lives.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)), saved_(dup(STDERR_FILENO)) {
    REQUIRE(master_ >= 0);
    REQUIRE(grantpt(master_) == 0);
    REQUIRE(unlockpt(master_) == 0);
    slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY);
    REQUIRE(slave_ >= 0);
    fflush(stderr);
    dup2(slave_, STDERR_FILENO);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    close(slave_);
    close(master_);
  }

  std::string shown() const {
    std::string text;
    char piece[4096];
    for (ssize_t count = 0; (count = read(master_, piece, sizeof piece)) > 0;) {
      text.append(piece, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int master_;
  int saved_;
  int slave_ = -1;
};

// What is shown of one call that lasts for so long.
std::string shown_of(io::Nanos call, Verbosity verbosity) {
  const Terminal terminal;
  io::SimSystem system;
  system.run([&] {
    const Output output(Style::kText, verbosity);
    Progress progress(output, system.clock(), "bucket stat", 0);
    const Ticking ticking(progress, system.executor());
    system.executor().sleep_for(call);
  });
  return terminal.shown();
}

TEST_CASE("progress: a call that tells nothing of itself is shown for how long it goes on") {
  const std::string shown = shown_of(3 * kSecond + kSecond / 2, Verbosity::kNormal);
  for (const char* line :
       {"\rbucket stat  1 s\x1b[K", "\rbucket stat  2 s", "\rbucket stat  3 s"}) {
    CHECK_THAT(shown, Catch::Contains(line));
  }
  CHECK_THAT(shown, Catch::EndsWith("\r\x1b[K"));
}

TEST_CASE("progress: nothing is shown of a short call, nor to the quiet") {
  CHECK(shown_of(kSecond / 2, Verbosity::kNormal).empty());
  CHECK(shown_of(5 * kSecond, Verbosity::kQuiet).empty());
}

TEST_CASE("progress: a known total gives a bar, a part and the time that is left") {
  const std::string line = progress_line("put", 256 << 20, 1 << 30, 0, 2 * kSecond);
  CHECK(line == "put [======                  ]  25%  256 MiB  128 MiB/s  6 s left");
  CHECK(progress_line("put", 1 << 30, 1 << 30, 0, kSecond).find("100%") != std::string::npos);
}

TEST_CASE("progress: more than the total stays at 100 %") {
  const std::string line = progress_line("put", 2 << 20, 1 << 20, 0, kSecond);
  CHECK(line == "put [========================] 100%  2 MiB  2 MiB/s");
}

TEST_CASE("progress: an unknown total shows what has been done") {
  CHECK(progress_line("import", 1 << 20, 0, 17, kSecond) == "import  1 MiB  17 objects  1 MiB/s");
}

TEST_CASE("progress: what is not counted in bytes shows for how long it has gone on") {
  CHECK(progress_line("rm", 0, 0, 3, 2 * kSecond) == "rm  3 objects  2 s");
  CHECK(progress_line("bucket stat", 0, 0, 0, 90 * kSecond) == "bucket stat  90 s");
  CHECK(progress_line("wait", 0, 1 << 20, 0, kSecond) ==
        "wait [                        ]   0%  0 B  0 B/s");
}

}  // namespace
}  // namespace hexad::tools
