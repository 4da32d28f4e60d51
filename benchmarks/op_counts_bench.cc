// What does one small operation cost the processor? Calls of the allocator and bytes asked of it,
// instructions, processor time; in a store in memory, so that devices are copies.
//
//   op_counts_bench [NAME...]           the operations called so (operations.cc), or all
//   op_counts_bench --window NAME       what valgrind runs of this program, below
//   op_counts_bench --in-log NAME       which puts ride in the log until they are packed, and which
//                                       get a place in a stripe at once: put-alone or put-in-64
//
// Counts of the allocator are those of the whole process, and the same in each run but for what the
// background does. Instructions are those of the calling thread, counted by callgrind in a run of
// their own, and missing where valgrind is not installed; it counts a `rep movsb` once per byte.
// Time is the least of five windows: what stands beside it on the machine only adds.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/op_counts/counted_memory.h"
#include "benchmarks/op_counts/operations.h"
#include "tools/bench/cpu_time.h"

namespace {

using namespace hexad;
using bench::Operation;
using bench::OperationStore;

constexpr std::uint64_t kWindow = OperationStore::kMostAtOnce;

}  // namespace

// callgrind collects while this runs.
extern "C" __attribute__((noinline)) void hexad_counted_window(OperationStore& store) {
  store.run(kWindow);
}

namespace {

// Thousands of instructions per operation.
std::optional<double> instructions(const std::string& program, Operation operation) {
  const char* const given = std::getenv("TEST_TMPDIR");
  const std::string file = std::string(given == nullptr ? "/tmp" : given) + "/op_counts." +
                           std::to_string(getpid()) + ".callgrind";
  const std::string command =
      "valgrind --tool=callgrind --collect-atstart=no --toggle-collect=hexad_counted_window "
      "--callgrind-out-file='" +
      file + "' '" + program + "' --window " + std::string(name_of(operation)) + " >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  std::optional<double> thousands;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (status != 0 || line.compare(0, 8, "totals: ") != 0) continue;
    thousands = std::stod(line.substr(8)) / 1000 / static_cast<double>(kWindow);
  }
  std::remove(file.c_str());
  return thousands;
}

void print_row(const std::string& program, Operation operation) {
  OperationStore store(operation);
  store.prepare();
  const bench::MemoryCounts before = bench::memory_counts();
  hexad_counted_window(store);
  const bench::MemoryCounts after = bench::memory_counts();
  std::array<double, 5> us;
  for (double& window : us) {
    store.prepare();
    const double began = tools::cpu_us();
    hexad_counted_window(store);
    window = (tools::cpu_us() - began) / kWindow;
  }
  const std::optional<double> thousands = instructions(program, operation);
  std::printf("%-16s %10.2f %12.0f %14s %8.2f\n", std::string(name_of(operation)).c_str(),
              static_cast<double>(after.calls - before.calls) / kWindow,
              static_cast<double>(after.bytes - before.bytes) / kWindow,
              thousands.has_value() ? std::to_string(*thousands).substr(0, 6).c_str() : "-",
              *std::min_element(us.begin(), us.end()));
  std::fflush(stdout);
}

std::uint64_t counter(Store& store, std::string_view name) {
  for (const Counter& each : store.counters()) {
    if (each.name == name) return each.since_open;
  }
  return 0;
}

// One row for puts that go the same way one after the other, from one checkpoint to behind the
// next.
void print_ways(Operation operation) {
  constexpr std::uint64_t kMost = 65536;  // puts
  OperationStore puts(operation);
  Store& store = puts.store();
  puts.prepare();
  const std::uint64_t together = bench::in_one(operation);
  const std::uint64_t first = counter(store, "log_first_blobs");
  const std::uint64_t checkpoints = counter(store, "checkpoints");
  const auto fill = [&] {
    const StoreStatus status = store.status();
    return 100 * static_cast<double>(status.log_used) / static_cast<double>(status.log_size);
  };
  std::printf("%-16s %8s %18s %18s\n", "way", "puts", "log in use from, %", "to, %");
  std::uint64_t done = 0;
  bool in_log = true;
  std::uint64_t same = 0;
  double from = fill();
  double to = from;
  const auto print = [&] {
    if (same == 0) return;
    std::printf("%-16s %8llu %18.1f %18.1f\n", in_log ? "in the log" : "in a stripe",
                static_cast<unsigned long long>(same), from, to);
  };
  std::uint64_t rode = first;
  while (done < kMost && counter(store, "checkpoints") == checkpoints) {
    puts.run(together);
    done += together;
    const std::uint64_t now = counter(store, "log_first_blobs");
    const bool this_one = now - rode == together;
    rode = now;
    if (this_one != in_log) {
      print();
      in_log = this_one;
      same = 0;
      from = to;
    }
    same += together;
    to = fill();
  }
  print();
  std::printf("%.1f %% of %llu puts in the log\n",
              100 * static_cast<double>(rode - first) / static_cast<double>(done),
              static_cast<unsigned long long>(done));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool window = arguments.size() == 2 && arguments[0] == "--window";
  const bool ways = arguments.size() == 2 && arguments[0] == "--in-log";
  std::vector<Operation> operations;
  for (std::size_t i = window || ways ? 1 : 0; i < arguments.size(); ++i) {
    const std::optional<Operation> operation = bench::operation_called(arguments[i]);
    if (!operation.has_value()) {
      std::fprintf(stderr, "op_counts_bench: there is no operation \"%s\"; these are there:\n",
                   arguments[i].c_str());
      for (const Operation each : bench::kAllOperations) {
        std::fprintf(stderr, "  %s\n", std::string(name_of(each)).c_str());
      }
      return 2;
    }
    operations.push_back(*operation);
  }
  if (window) {
    OperationStore store(operations.front());
    store.prepare();
    hexad_counted_window(store);
    return 0;
  }
  if (ways) {
    print_ways(operations.front());
    return 0;
  }
  if (operations.empty()) {
    operations.assign(bench::kAllOperations.begin(), bench::kAllOperations.end());
  }
  std::printf("%-16s %10s %12s %14s %8s\n", "operation", "mallocs", "bytes asked", "k instructions",
              "cpu us");
  for (const Operation operation : operations) print_row(argv[0], operation);
  return 0;
}
