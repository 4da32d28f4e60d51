// The sequencer remembers the pages of extents that it has written, decoded
// (core/cache/page_memory.h): whatever comes between two overwrites of a page, the second one works
// on what the page is by then.
#include <catch2/catch.hpp>

#include "io/rng.h"
#include "tests/core/rules_world.h"

namespace hexad::testing {
namespace {

constexpr std::uint64_t kObject = 3_MiB;  // three pages under keys of their own
constexpr std::uint64_t kPiece = 4_KiB;

std::string commit(Store& store, const std::function<void(Transaction&)>& build) {
  Transaction t;
  build(t);
  const Result<Lsn> lsn = store.commit(std::move(t));
  return lsn.ok() ? "" : lsn.error().to_string();
}

std::string check(Store& store, const std::string& name, std::string_view content) {
  const Result<Bytes> found = store.get(kDefaultCollection, name);
  if (!found.ok()) return name + ": " + found.error().to_string();
  return as_text(*found) == content ? "" : name + ": other bytes";
}

std::string clean(Store& store) {
  const Result<FsckReport> report = store.fsck({true, false});
  if (!report.ok()) return report.error().to_string();
  return report->findings.empty() ? "" : report->findings[0].problem;
}

TEST_CASE("remembered_pages: what a checkpoint has given a place is not written without it") {
  World world;
  std::string content = noise(kObject, 1);
  const auto overwrite = [&](Store& store, std::uint64_t piece, std::uint64_t seed) {
    const std::string bytes = noise(kPiece, seed);
    content.replace(piece * kPiece, kPiece, bytes);
    return commit(store, [&](Transaction& t) {
      t.write(kDefaultCollection, "object", piece * kPiece, as_bytes(bytes), Hint::kIncompressible);
    });
  };
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (!store.commit(put_of("object", content)).ok()) return "put";
    for (std::uint64_t round = 0; round < 6; ++round) {
      // Alone each rides in the log, without a place, until the checkpoint packs it.
      for (std::uint64_t i = 0; i < 3; ++i) {
        if (const std::string wrong = overwrite(store, 300 + 7 * i + round, 10 * round + i);
            !wrong.empty()) {
          return wrong;
        }
      }
      if (const Status status = store.checkpoint(); !status.ok()) return status.error().to_string();
      // What the log had is forgotten when a later block has recorded that.
      for (int i = 0; i < 4; ++i) {
        if (!store.commit(put_of("other" + std::to_string(i), noise(100, i))).ok()) return "other";
      }
    }
    return check(store, "object", content);
  }) == "");
  REQUIRE(world.with_store([&](Store& store) {
    const std::string wrong = check(store, "object", content);
    return wrong.empty() ? clean(store) : wrong;
  }) == "");
}

TEST_CASE("remembered_pages: every way to change a page, in any order") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  World world;
  io::Rng rng(seed);
  std::map<std::string, std::string> model;
  const std::vector<std::string> names = {"a", "b", "c"};
  const auto change = [&](Store& store) -> std::string {
    const std::string& name = names[rng.below(names.size())];
    const std::string& other = names[rng.below(names.size())];
    std::string& content = model[name];
    const std::uint64_t at = rng.below(kObject / kPiece) * kPiece;
    switch (content.empty() ? 0 : rng.below(12)) {
      case 0: {
        content = noise(kObject, rng.next());
        return store.commit(put_of(name, content)).ok() ? "" : "put";
      }
      case 1: {
        content.resize(std::max(at, 2 * kPiece));
        return commit(
            store, [&](Transaction& t) { t.truncate(kDefaultCollection, name, content.size()); });
      }
      case 2: {
        if (other == name) return "";
        model[other] = content;
        return commit(store, [&](Transaction& t) {
          t.clone(kDefaultCollection, name, kDefaultCollection, other);
        });
      }
      case 3: {
        if (other == name) return "";
        const bool there = !model[other].empty();
        model[other] = content;
        model[name].clear();
        return commit(store, [&](Transaction& t) {
          if (there) t.remove(kDefaultCollection, other);
          t.rename(kDefaultCollection, name, kDefaultCollection, other);
        });
      }
      case 4: {
        if (content.size() < at + kPiece) content.resize(at + kPiece);
        content.replace(at, kPiece, kPiece, '\0');
        return commit(store, [&](Transaction& t) { t.zero(kDefaultCollection, name, at, kPiece); });
      }
      case 5:
        return store.checkpoint().ok() ? "" : "checkpoint";
      default: {
        const std::string bytes = noise(1 + rng.below(2 * kPiece), rng.next());
        if (content.size() < at + bytes.size()) content.resize(at + bytes.size());
        content.replace(at, bytes.size(), bytes);
        return commit(store, [&](Transaction& t) {
          t.write(kDefaultCollection, name, at, as_bytes(bytes), Hint::kIncompressible);
        });
      }
    }
  };
  const auto check_all = [&](Store& store) -> std::string {
    for (const auto& [name, content] : model) {
      if (content.empty()) continue;
      if (const std::string wrong = check(store, name, content); !wrong.empty()) return wrong;
    }
    return clean(store);
  };
  for (int opening = 0; opening < 3; ++opening) {
    CAPTURE(opening);
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      for (int i = 0; i < 80; ++i) {
        if (const std::string wrong = change(store); !wrong.empty()) return wrong;
      }
      return check_all(store);
    }) == "");
  }
  REQUIRE(world.with_store(check_all) == "");
}

}  // namespace
}  // namespace hexad::testing
