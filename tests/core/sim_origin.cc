#include "tests/core/sim_origin.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "base/assert.h"
#include "tests/io/file_bytes.h"

namespace hexad::testing {

namespace fs = std::filesystem;

namespace {

// What differs is written, by pages, and nothing else: a copy of megabytes would be most of what a
// short run costs.
void make_equal(const fs::path& path, const std::string& bytes) {
  constexpr std::size_t kPage = 4096;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  HEXAD_ASSERT(fd >= 0 && ::ftruncate(fd, static_cast<off_t>(bytes.size())) == 0);
  if (!bytes.empty()) {
    void* map = ::mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    HEXAD_ASSERT(map != MAP_FAILED);
    char* const file = static_cast<char*>(map);
    for (std::size_t at = 0; at < bytes.size(); at += kPage) {
      const std::size_t step = std::min(kPage, bytes.size() - at);
      if (std::memcmp(file + at, bytes.data() + at, step) == 0) continue;
      std::memcpy(file + at, bytes.data() + at, step);
    }
    ::munmap(map, bytes.size());
  }
  ::close(fd);
}

}  // namespace

SimOrigin::SimOrigin(const SimPoolOptions& options, const Fill& fill)
    : made_(options), fast_(made_.fast_directory()) {
  if (fill) {
    REQUIRE(made_.with_store([&](Store& store) -> std::string {
      if (const std::string problem = fill(store); !problem.empty()) return problem;
      const Status closed = store.close();
      return closed.ok() ? "" : closed.error().to_string();
    }) == "");
  }
  for (const std::string& name : disks()) content_[name] = made_.system().disk(name).snapshot();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fast_)) {
    if (!entry.is_regular_file()) continue;
    saved_[fs::relative(entry.path(), fast_)] = io::testing::file_bytes(entry.path());
  }
  REQUIRE_FALSE(saved_.empty());
}

void SimOrigin::put_back_index() const {
  std::vector<fs::path> others;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fast_)) {
    if (entry.is_directory()) continue;
    if (saved_.count(fs::relative(entry.path(), fast_)) == 0) others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove(path);
  for (const auto& [name, bytes] : saved_) {
    fs::create_directories((fast_ / name).parent_path());
    make_equal(fast_ / name, bytes);
  }
}

std::unique_ptr<io::SimSystem> SimOrigin::start(std::uint64_t seed) {
  put_back_index();
  auto system = std::make_unique<io::SimSystem>(io::SimOptions{.seed = seed, .stacks = stacks_});
  for (const auto& [name, content] : content_) system->add_disk(name, content, {});
  return system;
}

}  // namespace hexad::testing
