#include "io/lines/process_info.h"

#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

namespace hexad::io {

namespace {

constexpr Nanos kSecond = 1'000'000'000;

Nanos read_clock(clockid_t which) {
  timespec time = {};
  ::clock_gettime(which, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

// The 20th word behind the name of the process, which may have blanks and brackets: ticks since the
// machine was started.
Nanos began(const std::string& stat) {
  constexpr int kWord = 20;
  std::size_t at = stat.rfind(')');
  for (int word = 0; word < kWord && at != std::string::npos; ++word) at = stat.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  const Nanos ticks = std::strtoll(stat.c_str() + at, nullptr, 10);
  const Nanos boot = read_clock(CLOCK_REALTIME) - read_clock(CLOCK_BOOTTIME);
  return boot + ticks * (kSecond / ::sysconf(_SC_CLK_TCK));
}

}  // namespace

ProcessInfo process_info(int pid) {
  ProcessInfo process;
  process.pid = pid;
  const std::string folder = "/proc/" + std::to_string(pid);
  // Its words, a zero byte behind each.
  std::ifstream words(folder + "/cmdline");
  for (std::string word; std::getline(words, word, '\0');) {
    process.command += process.command.empty() ? word.substr(word.rfind('/') + 1) : " " + word;
    if (process.command.size() < kMostOfCommand) continue;
    process.command.resize(kMostOfCommand);
    break;
  }
  std::ifstream file(folder + "/stat");
  std::string stat;
  std::getline(file, stat, '\0');
  process.since = began(stat);
  return process;
}

ProcessInfo own_process() { return process_info(static_cast<int>(::getpid())); }

std::string format_utc(Nanos time) {
  const std::time_t seconds = static_cast<std::time_t>(time / kSecond);
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

}  // namespace hexad::io
