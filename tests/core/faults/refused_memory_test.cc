// The n-th allocation of a program is refused, alone or with all that follow. Whatever becomes of
// the program (its calls fail, it throws, it ends), it ends, and everything that it was told is
// there at the next opening. doc/decisions/033-memory-that-is-refused.md
#include <catch2/catch.hpp>
#include <csignal>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "base/units.h"
#include "core/hexad.h"
#include "io/rng.h"
#include "tests/base/campaign.h"
#include "tests/core/faults/refused_memory_objects.h"
#include "tests/core/faults/run_program.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

constexpr const char* kProgram = "tests/core/faults/refused_memory_program";

using Versions = std::set<unsigned long>;

// By name: what may be there. Exactly one version between two programs.
class Ledger {
 public:
  std::map<std::string, Versions> may;

  // What was read wrongly; empty: nothing.
  std::string follow(const std::string& said) {
    std::string wrong;
    std::istringstream lines(said);
    std::string asked;  // its outcome is open
    unsigned long version = 0;
    Versions before;
    std::map<std::string, unsigned long> visible;
    std::string word;
    const auto settle = [&] {
      for (const auto& [name, one] : visible) may[name] = {one};
      visible.clear();
    };
    while (lines >> word) {
      if (word == "B") {
        lines >> asked >> version;
        before = may[asked];
        may[asked].insert(version);
      } else if (word == "A") {
        settle();
        may[asked] = {version};
      } else if (word == "V") {
        visible[asked] = version;
      } else if (word == "N") {
        may[asked] = before;
      } else if (word == "S") {
        settle();
      } else if (word == "W") {
        lines >> word;
        wrong += " " + word;
      } else if (word == "T") {
        lines >> allocations;
      }
    }
    return wrong;
  }

  long allocations = 0;  // that the program counted; 0: it has not come to its end
};

class RefusedMemory {
 public:
  RefusedMemory() : directory_(io::testing::TemporaryDirectory::On::kMemory) {
    FormatOptions options;
    options.profile = {2, 1, ec::CodecKind::kIsaVandermonde, 0};
    options.device_size = 32_MiB;
    options.log_size = 1_MiB;
    for (const char* name : {"dev0", "dev1", "dev2"}) {
      options.devices.push_back(directory_.path(name));
    }
    options.fast_directories = {directory_.path("fast")};
    const Result<PoolDescription> made = Store::format(options);
    if (!made.ok()) FAIL(made.error().to_string());
    pool_ = *made;
    const Status written = write_pool(directory_.path(), pool_);
    if (!written.ok()) FAIL(written.error().to_string());
    for (int i = 0; i < kObjects; ++i) ledger_.may[object_name(i)] = {0};
  }

  // How many allocations there are when none is refused.
  long count() {
    run(0, "once");
    REQUIRE(ledger_.allocations > 0);
    return ledger_.allocations;
  }

  void run(long nth, const char* mode) {
    CAPTURE(nth, mode, round_);
    ledger_.allocations = 0;
    const Ending ending = run_program(
        {kProgram, directory_.path(), std::to_string(round_), mode, std::to_string(nth)});
    ++round_;
    CAPTURE(ending.said, ending.errors, ending.status);
    REQUIRE_FALSE(ending.hung);
    if (ending.signal() != 0) {
      ++ended;
      // It says why: a line of ours, or that of the language's runtime.
      REQUIRE(ending.signal() == SIGABRT);
      REQUIRE_FALSE(ending.errors.empty());
    } else {
      ++went_on;
    }
    REQUIRE(ledger_.follow(ending.said) == "");
    look();
  }

  int ended = 0;    // programs that the refusal ended
  int went_on = 0;  // programs that came to their end

 private:
  void look() {
    Result<Store> store = Store::open(pool_);
    if (!store.ok()) FAIL(store.error().to_string());
    for (auto& [name, versions] : ledger_.may) {
      CAPTURE(name, versions);
      const Result<Bytes> found = store->get(kDefaultCollection, name);
      unsigned long version = 0;
      if (found.ok()) {
        std::size_t size = 0;
        std::istringstream(std::string(as_text(*found).substr(0, 48))) >> version >> size;
        REQUIRE(found->size() == size);
        REQUIRE((as_text(*found) == content(version, size)));
      } else {
        REQUIRE(found.error().code == ErrorCode::kNotFound);
      }
      CAPTURE(version);
      REQUIRE(versions.count(version) == 1);
      versions = {version};
    }
    const Result<FsckReport> report = store->fsck({.deep = true});
    if (!report.ok()) FAIL(report.error().to_string());
    for (const Finding& finding : report->findings) FAIL(finding.subject + ": " + finding.problem);
    const Status closed = store->close();
    if (!closed.ok()) FAIL(closed.error().to_string());
  }

  io::testing::TemporaryDirectory directory_;
  PoolDescription pool_;
  Ledger ledger_;
  unsigned long round_ = 0;
};

TEST_CASE("refused memory: whatever the n-th refusal ends, what was told is there") {
  RefusedMemory refused;
  const long all = refused.count();
  const std::uint64_t seed = campaign_seed();
  CAPTURE(seed);
  io::Rng rng(campaign_seed_of(33));
  constexpr int kRuns = 60;  // of each mode
  for (int i = 0; i < kRuns; ++i) {
    // One of each of so many equal parts.
    const long part = all / kRuns;
    const long nth = 1 + part * i + static_cast<long>(rng.below(static_cast<std::uint64_t>(part)));
    refused.run(nth, "once");
    refused.run(nth, "on");
  }
  // Else nothing was refused.
  REQUIRE(refused.ended > 0);
  REQUIRE(refused.went_on > 0);
}

// All of them; by name alone: refused_memory_test "[long]".
TEST_CASE("refused memory: so it is with every single one", "[.][long]") {
  RefusedMemory refused;
  const long all = refused.count();
  for (long nth = 1; nth <= all; ++nth) {
    refused.run(nth, "once");
    refused.run(nth, "on");
  }
  WARN(all << " allocations; the process ended in " << refused.ended << " runs, went on in "
           << refused.went_on);
}

}  // namespace
}  // namespace hexad::testing
