// Many random ops on stores and models side by side (tests/core/store_runner.h); doc/testing.md
// has a run of record.
//
//   run_model --ops 10000000 --seed 1
//
// Goes in rounds, each with a new store and a seed of its own, counted up from --seed; a round with
// a difference is repeated by its seed alone: --seed S --ops N, N at most --round. Prints one line
// and what differs, and ends with 1 when something does.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/core/store_runner.h"

namespace {

using namespace hexad;
using namespace hexad::testing;

struct Arguments {
  std::string store = "memory";
  std::uint64_t ops = 100'000;
  std::uint64_t round = 100'000;  // ops
  unsigned threads = 1;
  RunnerOptions runner;
};

class Rounds {
 public:
  explicit Rounds(const Arguments& arguments)
      : arguments_(arguments), next_seed_(arguments.runner.seed) {}

  RunnerTally run() {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < arguments_.threads; ++i) {
      threads.emplace_back([this] { work(); });
    }
    for (std::thread& thread : threads) thread.join();
    return tally_;
  }

 private:
  // The next round, or nothing left to do.
  bool take(RunnerOptions& options) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (begun_ >= arguments_.ops || !tally_.difference.empty()) return false;
    options = arguments_.runner;
    options.seed = next_seed_++;
    options.ops = std::min(arguments_.round, arguments_.ops - begun_);
    begun_ += options.ops;
    return true;
  }

  void work() {
    for (RunnerOptions options; take(options);) {
      const TargetKind kind =
          arguments_.store == "memory" ? TargetKind::kMemory : TargetKind::kDevice;
      const Result<std::unique_ptr<RunnerTarget>> target = make_target(kind, options.seed);
      RunnerTally tally;
      if (target.ok()) {
        tally = run_store(**target, options);
      } else {
        tally.difference = "no store: " + target.error().to_string();
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      tally_.add(tally);
      std::fprintf(stderr, "\r%llu ops", static_cast<unsigned long long>(tally_.ops));
    }
  }

  const Arguments arguments_;
  std::mutex mutex_;  // what follows
  std::uint64_t next_seed_;
  std::uint64_t begun_ = 0;  // ops
  RunnerTally tally_;
};

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  // Rarer than in the tests: most of the time would go into large objects and comparing all.
  arguments.runner.big_one_in = 200;
  arguments.runner.compare_one_in = 500;
  arguments.runner.check_one_in = 2000;
  arguments.runner.checkpoint_one_in = 200;
  arguments.runner.reopen_one_in = 1000;
  CLI::App app{"Random ops on a store and on a model of plain maps, side by side."};
  app.add_option("--store", arguments.store, "memory or device")
      ->check(CLI::IsMember({"memory", "device"}));
  app.add_option("--ops", arguments.ops, "ops of transactions, over all rounds");
  app.add_option("--seed", arguments.runner.seed, "of the first round");
  app.add_option("--round", arguments.round, "ops of one round")->check(CLI::PositiveNumber);
  app.add_option("--threads", arguments.threads, "rounds at a time")->check(CLI::PositiveNumber);
  app.add_option("--big-one-in", arguments.runner.big_one_in, "of the sizes: up to 1 MiB")
      ->check(CLI::PositiveNumber);
  app.add_option("--compare-one-in", arguments.runner.compare_one_in,
                 "transactions: everything is compared; 0: at the end alone");
  app.add_option("--check-one-in", arguments.runner.check_one_in, "transactions: fsck --deep");
  app.add_option("--checkpoint-one-in", arguments.runner.checkpoint_one_in, "transactions");
  app.add_option("--reopen-one-in", arguments.runner.reopen_one_in,
                 "transactions: the device store is opened again");
  CLI11_PARSE(app, argc, argv);

  const RunnerTally tally = Rounds(arguments).run();
  std::fprintf(stderr, "\n");
  std::printf("%s\n", tally.line(arguments.runner.seed).c_str());
  if (!tally.difference.empty()) std::printf("%s\n", tally.difference.c_str());
  return tally.difference.empty() ? 0 : 1;
}
