// What the kernel counts of this process: context switches always, system calls where it may be
// asked for them (the tracepoint raw_syscalls:sys_enter, which takes root and tracefs).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hexad::bench {

// From now on, of this thread and of those that are made later: to be called first in main(). Where
// it cannot be, system calls are left out of what follows.
void count_system_calls();

// By name, in one order: "system calls" and "futexes", where they are counted, and "switches".
using KernelCounts = std::vector<std::pair<std::string, double>>;
KernelCounts kernel_counts();
// What came on top.
KernelCounts operator-(KernelCounts after, const KernelCounts& before);

}  // namespace hexad::bench
