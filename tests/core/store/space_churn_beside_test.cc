// Sixteen callers overwrite objects at random, each one object at a time and durably, in a store
// that holds so much of what fits into it when they are put in transactions: no put is refused.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/core/store/churn_blocks.h"

namespace hexad::testing {
namespace {

void churn_beside(const ChurnSizes& sizes, const std::string& name, std::uint64_t percent,
                  std::size_t laps = churn_laps()) {
  CAPTURE(name, percent);
  SimPool pool(churn_pool());
  double copied = 0;
  double compacted = 0;
  const std::string wrong = pool.with_store([&](Store& store) -> std::string {
    ChurnBlocks blocks(store, false, sizes);
    const Result<std::size_t> room = blocks.try_out();
    if (!room.ok()) return message_of(room.status());
    Status status = blocks.fill(*room * percent / 100);
    if (!status.ok()) return "fill: " + message_of(status);
    const std::uint64_t written = counter(store, "written_bytes");
    const std::uint64_t moved = counter(store, "device_clean_bytes");
    const std::uint64_t pieces = counter(store, "compacted_bytes");
    status = blocks.overwrite_beside(pool, 16, laps);
    if (!status.ok()) return message_of(status);
    const auto bytes = static_cast<double>(counter(store, "written_bytes") - written);
    copied = static_cast<double>(counter(store, "device_clean_bytes") - moved) / bytes;
    compacted = static_cast<double>(counter(store, "compacted_bytes") - pieces) / bytes;
    return blocks.check();
  });
  std::printf(
      "%s by 16 callers at %d %% of what fits: %.2f bytes copied for each, %.2f of half "
      "empty stripes\n",
      name.c_str(), static_cast<int>(percent), copied, compacted);
  REQUIRE(wrong == "");
}

void churn_size(std::size_t size, std::uint64_t percent, std::size_t laps = churn_laps()) {
  churn_beside({size}, "objects of " + std::to_string(size) + " bytes", percent, laps);
}

// The fullest alone, unless CHURN_ALL is set: all of them take five minutes.
std::vector<std::uint64_t> fills(std::vector<std::uint64_t> all) {
  if (std::getenv("CHURN_ALL") == nullptr) all.erase(all.begin(), all.end() - 1);
  return all;
}

// Four times as many of them fit: as many puts as of those of 4 KiB.
TEST_CASE("churn beside: objects of 1 KiB") {
  for (const std::uint64_t fill : fills({75, 85})) churn_size(1_KiB, fill, churn_laps() / 4);
}
TEST_CASE("churn beside: objects of 4 KiB") {
  for (const std::uint64_t fill : fills({50, 75, 85, 90})) churn_size(4_KiB, fill);
}
TEST_CASE("churn beside: objects of 8 KiB") {
  for (const std::uint64_t fill : fills({50, 75, 85, 90})) churn_size(8_KiB, fill);
}
TEST_CASE("churn beside: objects of 12 KiB") {
  for (const std::uint64_t fill : fills({50, 75, 85, 90})) churn_size(12_KiB, fill);
}
TEST_CASE("churn beside: objects of 16 KiB") {
  for (const std::uint64_t fill : fills({75, 85, 90, 95})) churn_size(16_KiB, fill);
}
TEST_CASE("churn beside: objects of mixed sizes") {
  const ChurnSizes sizes = {1000, 4096, 16384, 1000, 4096, 65536, 300, 4096, 5000, 1000};
  for (const std::uint64_t fill : fills({75, 85, 90})) churn_beside(sizes, "mixed objects", fill);
}

// One size and fill of the caller's choice, which may be more than a store bears.
TEST_CASE("churn beside: as the environment says", "[.]") {
  const auto number = [](const char* name) { return std::stoul(std::getenv(name)); };
  churn_size(number("CHURN_SIZE"), number("CHURN_PERCENT"));
}

}  // namespace
}  // namespace hexad::testing
