// Gives libFuzzer the seeds of the target: files in a temporary directory, named on its command
// line. libFuzzer reads that after it has called LLVMFuzzerInitialize().

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tools/build/fuzz_seeds.h"

__attribute__((weak)) std::vector<std::string> hexad::testing::fuzz_seeds() { return {}; }

namespace {

constexpr std::string_view kOption = "-seed_inputs=";

// libFuzzer keeps pointers to the arguments for as long as it runs.
struct Arguments {
  std::vector<char*> list;
  std::string directory;
  std::string seeds;
};

Arguments& arguments() {
  static Arguments all;
  return all;
}

void remove_seeds() {
  std::error_code none;
  std::filesystem::remove_all(arguments().directory, none);
}

bool write(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file.good();
}

// The directory with one file per seed and a list of them; empty when it cannot be made.
std::string write_seeds(const std::vector<std::string>& seeds) {
  const char* base = std::getenv("TEST_TMPDIR");
  std::string directory = std::string(base != nullptr ? base : "/tmp") + "/fuzz-seeds-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return {};
  std::string list;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    const std::string path = directory + "/" + std::to_string(i);
    if (!write(path, seeds[i])) return {};
    list += (list.empty() ? "" : ",") + path;
  }
  return write(directory + "/list", list) ? directory : std::string();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it by this name.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  Arguments& all = arguments();
  for (int i = 0; i < *argc; ++i) {
    // Whoever names seeds, a process that was started by another one included, knows better.
    if (std::string_view((*argv)[i]).starts_with(kOption)) return 0;
    all.list.push_back((*argv)[i]);
  }
  const std::vector<std::string> seeds = hexad::testing::fuzz_seeds();
  if (seeds.empty()) return 0;
  all.directory = write_seeds(seeds);
  if (all.directory.empty()) {
    std::fprintf(stderr, "the seeds cannot be written to a temporary directory\n");
    return 0;
  }
  std::atexit(remove_seeds);
  all.seeds = std::string(kOption) + "@" + all.directory + "/list";
  all.list.push_back(all.seeds.data());
  *argc = static_cast<int>(all.list.size());
  all.list.push_back(nullptr);
  *argv = all.list.data();
  return 0;
}
