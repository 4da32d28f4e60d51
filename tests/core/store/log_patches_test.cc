// Small overwrites of a large object: the log gets what has changed in the lists of extents, and
// replay makes the lists of it again, wherever checkpoints and crashes fall.
#include <catch2/catch.hpp>

#include "io/rng.h"
#include "tests/core/rules_world.h"

namespace hexad::testing {
namespace {

constexpr std::uint64_t kObject = 512_KiB;
constexpr std::uint64_t kPiece = 4_KiB;
constexpr std::uint64_t kSmall = 512;

// The first `bytes` of a piece.
Transaction overwrite(std::uint64_t piece, std::uint64_t seed, std::uint64_t bytes = kPiece) {
  Transaction t;
  t.write(kDefaultCollection, "object", piece * kPiece, as_bytes(noise(bytes, seed)),
          Hint::kIncompressible);
  return t;
}

std::uint64_t counted(Store& store, std::string_view name) {
  for (const Counter& counter : store.counters()) {
    if (counter.name == name) return counter.since_open;
  }
  return ~0ULL;
}

// An object that was cut up from end to end.
std::string cut_up(Store& store, std::string& content) {
  content = noise(kObject, 1);
  if (!store.commit(put_of("object", content)).ok()) return "put";
  for (std::uint64_t i = 0; i < kObject / kPiece; i += 2) {
    content.replace(i * kPiece, kPiece, noise(kPiece, 100 + i));
    if (!store.commit(overwrite(i, 100 + i)).ok()) return "cut";
  }
  return "";
}

std::string check(Store& store, std::string_view content) {
  const Result<Bytes> found = store.get(kDefaultCollection, "object");
  if (!found.ok()) return found.error().to_string();
  return as_text(*found) == content ? "" : "other bytes";
}

TEST_CASE("log_patches: an overwrite costs the log what changes, and not the whole list") {
  World world;
  std::string content;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (const std::string problem = cut_up(store, content); !problem.empty()) return problem;
    if (!store.checkpoint().ok()) return "checkpoint";
    // The first one after a checkpoint stands whole in the log: nothing before it is replayed.
    std::uint64_t patches = counted(store, "log_patches");
    const auto once = [&](std::uint64_t piece, std::uint64_t seed) {
      content.replace(piece * kPiece, kSmall, noise(kSmall, seed));
      return store.commit(overwrite(piece, seed, kSmall)).ok();
    };
    if (!once(7, 7)) return "first";
    if (counted(store, "log_patches") != patches) return "a patch of what a checkpoint has";
    std::uint64_t checkpoints = counted(store, "checkpoints");
    std::uint64_t log_bytes = counted(store, "device_log_bytes");
    for (std::uint64_t i = 0; i < 20; ++i) {
      if (!once(11 + 3 * i, i)) return "overwrite";
    }
    patches = counted(store, "log_patches") - patches;
    // The background makes checkpoints, too.
    checkpoints = counted(store, "checkpoints") - checkpoints;
    if (patches > 20 || patches + checkpoints < 20) return std::to_string(patches) + " patches";
    // 4 copies of one block each, in which the payload rides. The list alone, of more than 128
    // extents, would take another.
    log_bytes = (counted(store, "device_log_bytes") - log_bytes) / 20 / 4;
    if (log_bytes > 4_KiB) return std::to_string(log_bytes) + " bytes of log";
    return check(store, content);
  }) == "");
  REQUIRE(world.with_store([&](Store& store) { return check(store, content); }) == "");
}

TEST_CASE("log_patches: after every crash the object is what was acknowledged") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6);
  CAPTURE(seed);
  World world({.volatile_caches = true, .immediate = true, .seed = seed});
  std::string content;
  REQUIRE(world.with_store([&](Store& store) { return cut_up(store, content); }) == "");
  io::Rng rng(seed);
  std::uint64_t replayed = 0;
  std::uint64_t patches = 0;
  for (int round = 0; round < 12; ++round) {
    CAPTURE(round);
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      replayed += counted(store, "recovered_transactions");
      if (const std::string problem = check(store, content); !problem.empty()) return problem;
      for (std::uint64_t i = rng.below(20); i > 0; --i) {
        if (rng.chance(1, 8) && !store.checkpoint().ok()) return "checkpoint";
        const std::uint64_t piece = rng.below(kObject / kPiece);
        const std::uint64_t number = rng.next();
        content.replace(piece * kPiece, kPiece, noise(kPiece, number));
        if (!store.commit(overwrite(piece, number)).ok()) return "commit";
      }
      patches += counted(store, "log_patches");
      world.power_cut();
      return "";
    }) == "");
  }
  REQUIRE(patches > 30);
  REQUIRE(replayed > patches / 2);
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (const std::string problem = check(store, content); !problem.empty()) return problem;
    const Result<FsckReport> report = store.fsck({true, false});
    if (!report.ok()) return report.error().to_string();
    return report->findings.empty() ? "" : report->findings[0].problem;
  }) == "");
}

}  // namespace
}  // namespace hexad::testing
