#include "benchmarks/commit_path/kernel_counts.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>

namespace hexad::bench {

namespace {

// Descriptors of the counters; below 0: there is none.
int calls = -1;
int futexes = -1;

std::optional<std::uint64_t> id_of(const std::string& tracepoint) {
  for (const char* top : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    std::ifstream file(std::string(top) + "/events/" + tracepoint + "/id");
    std::uint64_t id = 0;
    if (file >> id) return id;
  }
  return std::nullopt;
}

int open_counter(const std::string& tracepoint) {
  const std::optional<std::uint64_t> id = id_of(tracepoint);
  if (!id.has_value()) return -1;
  perf_event_attr what{};
  what.type = PERF_TYPE_TRACEPOINT;
  what.size = sizeof(what);
  what.config = *id;
  what.inherit = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

void read_counter(int counter, const char* name, KernelCounts& into) {
  std::uint64_t value = 0;
  if (counter < 0 || read(counter, &value, sizeof(value)) != sizeof(value)) return;
  into.emplace_back(name, static_cast<double>(value));
}

}  // namespace

void count_system_calls() {
  calls = open_counter("raw_syscalls/sys_enter");
  futexes = open_counter("syscalls/sys_enter_futex");
}

KernelCounts kernel_counts() {
  KernelCounts counts;
  read_counter(calls, "system calls", counts);
  read_counter(futexes, "futexes", counts);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  counts.emplace_back("switches", static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw));
  return counts;
}

KernelCounts operator-(KernelCounts after, const KernelCounts& before) {
  for (auto& [name, value] : after) {
    for (const auto& [other, earlier] : before) {
      if (other == name) value -= earlier;
    }
  }
  return after;
}

}  // namespace hexad::bench
