// Runs a fuzz target without libFuzzer: every file named on the command line and every seed of the
// target (tools/build/fuzz_seeds.h) as it is, cut at many lengths, and damaged copies of it; where
// there is neither, damaged copies of nothing. `--runs=N`: so many inputs in all, the same share
// for each. The random seed is fixed, so a failure comes back; the input that failed is left in
// $TEST_TMPDIR/fuzz-input.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tools/build/fuzz_seeds.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEXAD_SANITIZED 1
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

__attribute__((weak)) std::vector<std::string> hexad::testing::fuzz_seeds() { return {}; }

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kRuns = 4000;
constexpr std::size_t kMaxGrowth = 64;  // bytes added by one mutation

std::string left_behind_path() {
  const char* dir = std::getenv("TEST_TMPDIR");
  return std::string(dir != nullptr ? dir : "/tmp") + "/fuzz-input";
}

// What is running, for whoever does not come back from it.
const Input* running = nullptr;

void leave_behind() {
  if (running == nullptr) return;
  static const std::string path = left_behind_path();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, running->data(), running->size());
  ::close(file);
  running = nullptr;
}

extern "C" void die(int signal) {
  leave_behind();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// An assertion, a fault that no sanitizer reports, the end of the test's time, a sanitizer's
// report.
void watch_for_the_end() {
  for (const int signal : {SIGABRT, SIGTERM}) std::signal(signal, die);
#ifdef HEXAD_SANITIZED
  __sanitizer_set_death_callback(leave_behind);
#else
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, die);
#endif
}

void run_one(const Input& input) {
  running = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
  running = nullptr;
}

std::size_t below(std::mt19937_64& random, std::size_t bound) { return random() % bound; }

// One to four changes: a byte replaced, a bit flipped, the end cut, bytes added at the end, or some
// taken out or put in anywhere.
Input mutate(Input input, std::mt19937_64& random) {
  const std::size_t changes = 1 + below(random, 4);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t kind = input.empty() ? 3 : below(random, 6);
    const std::size_t at = input.empty() ? 0 : below(random, input.size());
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (kind) {
      case 0:
        input[at] = static_cast<std::uint8_t>(random());
        break;
      case 1:
        input[at] ^= static_cast<std::uint8_t>(1U << below(random, 8));
        break;
      case 2:
        input.resize(at);
        break;
      case 3:
        for (std::size_t n = 1 + below(random, kMaxGrowth); n > 0; --n) {
          input.push_back(static_cast<std::uint8_t>(random()));
        }
        break;
      case 4: {
        const std::size_t count = std::min(1 + below(random, 8), input.size() - at);
        input.erase(place, place + static_cast<std::ptrdiff_t>(count));
        break;
      }
      default:
        input.insert(place, 1 + below(random, 8), static_cast<std::uint8_t>(random()));
    }
  }
  return input;
}

// `runs` inputs, at least one; half of them cuts, or all there are.
void run_around(const Input& seed_input, std::size_t runs, std::mt19937_64& random) {
  run_one(seed_input);
  const std::size_t cuts = std::min(seed_input.size(), runs / 2);
  for (std::size_t i = 0; i < cuts; ++i) {
    const std::size_t length = i * seed_input.size() / cuts;
    run_one(Input(seed_input.begin(), seed_input.begin() + static_cast<std::ptrdiff_t>(length)));
  }
  for (std::size_t i = cuts + 1; i < runs; ++i) run_one(mutate(seed_input, random));
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kOption = "--runs=";
  std::size_t runs = kRuns;
  std::vector<Input> inputs;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kOption)) {
      runs = std::strtoull(argv[i] + kOption.size(), nullptr, 10);
      continue;
    }
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s: cannot be read; name it in `corpus` of the hexad_fuzz_test\n",
                   argv[i]);
      return 1;
    }
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  for (const std::string& seed : hexad::testing::fuzz_seeds()) {
    inputs.emplace_back(seed.begin(), seed.end());
  }
  if (inputs.empty()) inputs.emplace_back();
  watch_for_the_end();
  std::mt19937_64 random(1);
  for (const Input& input : inputs) run_around(input, runs / inputs.size(), random);
  return 0;
}
