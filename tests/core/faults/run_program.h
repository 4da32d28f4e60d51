// Runs a program to its end, and reads what it says.
#pragma once

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace hexad::testing {

// Only a hang takes so long.
inline constexpr std::chrono::minutes kWatchdog{5};

// What a program said and how it ended.
struct Ending {
  std::string said;    // on standard output
  std::string errors;  // on standard error
  int status = 0;      // as of waitpid()
  bool hung = false;   // and was killed for it

  // That ended it; 0: it returned.
  int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
};

// `words`: the program, by its path, and its arguments.
inline Ending run_program(const std::vector<std::string>& words) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  REQUIRE(::pipe(out.data()) == 0);
  REQUIRE(::pipe(err.data()) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  for (const int end : {out[0], out[1], err[0], err[1]}) {
    posix_spawn_file_actions_addclose(&actions, end);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  REQUIRE(::posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ) ==
          0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  Ending ending;
  const auto end = std::chrono::steady_clock::now() + kWatchdog;
  std::array<pollfd, 2> ends{{{out[0], POLLIN, 0}, {err[0], POLLIN, 0}}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      ending.hung = true;
      ::kill(child, SIGKILL);
      break;
    }
    ::poll(ends.data(), ends.size(), static_cast<int>(left.count()));
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].revents == 0) continue;
      std::array<char, 4096> part{};
      const ssize_t got = ::read(ends[i].fd, part.data(), part.size());
      if (got <= 0) {
        ends[i].fd = -1;
      } else {
        (i == 0 ? ending.said : ending.errors).append(part.data(), static_cast<std::size_t>(got));
      }
    }
  }
  ::close(out[0]);
  ::close(err[0]);
  REQUIRE(::waitpid(child, &ending.status, 0) == child);
  return ending;
}

}  // namespace hexad::testing
