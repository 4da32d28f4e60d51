#include "tests/core/sim_origin.h"

#include <catch2/catch.hpp>

namespace hexad::testing {

namespace fs = std::filesystem;

SimOrigin::SimOrigin(const SimPoolOptions& options, const Fill& fill)
    : made_(options), fast_(made_.fast_directory()), saved_(fast_.parent_path() / "saved") {
  if (fill) {
    REQUIRE(made_.with_store([&](Store& store) -> std::string {
      if (const std::string problem = fill(store); !problem.empty()) return problem;
      const Status closed = store.close();
      return closed.ok() ? "" : closed.error().to_string();
    }) == "");
  }
  for (const std::string& name : disks()) content_[name] = made_.system().disk(name).snapshot();
  fs::copy(fast_, saved_, fs::copy_options::recursive);
}

std::unique_ptr<io::SimSystem> SimOrigin::start(std::uint64_t seed) {
  fs::remove_all(fast_);
  fs::copy(saved_, fast_, fs::copy_options::recursive);
  auto system = std::make_unique<io::SimSystem>(io::SimOptions{.seed = seed});
  for (const auto& [name, content] : content_) system->add_disk(name, content, {});
  return system;
}

}  // namespace hexad::testing
