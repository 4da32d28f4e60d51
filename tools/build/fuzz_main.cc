// Runs a fuzz target without libFuzzer: every file named on the command line as
// it is, cut at every length up to kMaxCuts, and kMutations damaged copies of it;
// without files, that many copies of nothing. The seed is fixed, so a failure
// comes back; the input that failed is left in $TEST_TMPDIR/fuzz-input.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr int kMutations = 2000;
constexpr std::size_t kMaxCuts = 2000;
constexpr std::size_t kMaxGrowth = 64;  // bytes added by one mutation

std::string left_behind_path() {
  const char* dir = std::getenv("TEST_TMPDIR");
  return std::string(dir != nullptr ? dir : "/tmp") + "/fuzz-input";
}

// Writes the input down before running it: the target may not come back.
void run_one(const Input& input) {
  static const std::string path = left_behind_path();
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(input.data()),
             static_cast<std::streamsize>(input.size()));
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

std::size_t below(std::mt19937_64& random, std::size_t bound) { return random() % bound; }

// One to four changes: a byte replaced, a bit flipped, the end cut, bytes added.
Input mutate(Input input, std::mt19937_64& random) {
  const std::size_t changes = 1 + below(random, 4);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t kind = input.empty() ? 3 : below(random, 4);
    switch (kind) {
      case 0:
        input[below(random, input.size())] = static_cast<std::uint8_t>(random());
        break;
      case 1:
        input[below(random, input.size())] ^= static_cast<std::uint8_t>(1U << below(random, 8));
        break;
      case 2:
        input.resize(below(random, input.size()));
        break;
      default:
        for (std::size_t n = 1 + below(random, kMaxGrowth); n > 0; --n) {
          input.push_back(static_cast<std::uint8_t>(random()));
        }
    }
  }
  return input;
}

void run_around(const Input& seed_input, std::mt19937_64& random) {
  run_one(seed_input);
  for (std::size_t length = 0; length < std::min(seed_input.size(), kMaxCuts); ++length) {
    run_one(Input(seed_input.begin(), seed_input.begin() + static_cast<std::ptrdiff_t>(length)));
  }
  for (int i = 0; i < kMutations; ++i) run_one(mutate(seed_input, random));
}

}  // namespace

int main(int argc, char** argv) {
  std::mt19937_64 random(1);
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s: cannot be read; name it in `corpus` of the hexad_fuzz_test\n",
                   argv[i]);
      return 1;
    }
    run_around(Input(std::istreambuf_iterator<char>(file), {}), random);
  }
  if (argc == 1) run_around({}, random);
  std::remove(left_behind_path().c_str());
  return 0;
}
