// A process that may have only so many threads or so many addresses. An opening then fails, and
// says which limit that is; an open store says of each call what it may not have, and goes on.
// Nothing is lost, and no process ends for it.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "base/units.h"
#include "core/hexad.h"
#include "tests/core/faults/run_program.h"
#include "tests/core/noise.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

constexpr const char* kProgram = "tests/core/faults/limited_program";
constexpr uid_t kNobody = 65534;

class LimitedPool {
 public:
  explicit LimitedPool(std::uint64_t device_size = 32_MiB)
      : directory_(io::testing::TemporaryDirectory::On::kMemory) {
    FormatOptions options;
    options.profile = {2, 1, ec::CodecKind::kIsaVandermonde, 0};
    options.device_size = device_size;
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
    put("kept", noise(100'000, 1));
  }

  void put(const std::string& name, const std::string& value) {
    Store store = open();
    const std::unique_ptr<ObjectWriter> writer =
        store.open_writer(kDefaultCollection, name).value();
    REQUIRE(writer->append(as_bytes(value)).ok());
    REQUIRE(writer->commit().ok());
    REQUIRE(store.close().ok());
    names_.insert(name);
  }

  // So that a program that is nobody may open it.
  void give_to_nobody() {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(directory_.path().c_str(), kNobody, kNobody) == 0);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      REQUIRE(::chown(entry.path().c_str(), kNobody, kNobody) == 0);
    }
  }

  // The lines that it said, by their first word; what it was told is there.
  std::multimap<std::string, std::string> run(const std::string& mode, std::uint64_t number) {
    CAPTURE(mode, number);
    const Ending ending = run_program({kProgram, directory_.path(), mode, std::to_string(number)});
    CAPTURE(ending.said, ending.errors);
    REQUIRE_FALSE(ending.hung);
    REQUIRE(ending.status == 0);
    std::multimap<std::string, std::string> said;
    std::istringstream lines(ending.said);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t end = std::min(line.find(' '), line.size());
      said.emplace(line.substr(0, end), end < line.size() ? line.substr(end + 1) : "");
    }
    REQUIRE(said.count("wrong") == 0);
    for (auto [at, last] = said.equal_range("kept"); at != last; ++at) names_.insert(at->second);
    look();
    return said;
  }

 private:
  Store open() {
    Result<Store> store = Store::open(pool_);
    if (!store.ok()) FAIL(store.error().to_string());
    return std::move(store).value();
  }

  void look() {
    Store store = open();
    for (const std::string& name : names_) {
      CAPTURE(name);
      REQUIRE(store.stat(kDefaultCollection, name).ok());
    }
    REQUIRE(store.fsck({.deep = true})->errors() == 0);
    REQUIRE(store.close().ok());
  }

  io::testing::TemporaryDirectory directory_;
  PoolDescription pool_;
  std::set<std::string> names_;  // that are there
};

// Allows ever more until the opening succeeds; every one before has named `limit`.
void open_with_ever_more(LimitedPool& pool, const std::string& mode, std::uint64_t step,
                         const std::string& limit) {
  int refused = 0;
  for (std::uint64_t number = 1;; number += step) {
    REQUIRE(number < 4000);
    const auto said = pool.run(mode, number);
    if (said.count("skipped") > 0) {
      WARN("skipped: " << said.find("skipped")->second);
      return;
    }
    if (said.count("opened") > 0) break;
    REQUIRE(said.count("refused") == 1);
    CAPTURE(number);
    const std::string& text = said.find("refused")->second;
    CAPTURE(text);
    REQUIRE(text.find(limit) != std::string::npos);
    ++refused;
  }
  REQUIRE(refused > 0);
}

TEST_CASE("process limits: an opening that may have no more threads says so, and loses nothing") {
  LimitedPool pool;
  pool.give_to_nobody();
  open_with_ever_more(pool, "threads", 1, "ulimit -u");
}

TEST_CASE(
    "process limits: a store that is open needs no more threads, nor does the kernel for it") {
  LimitedPool pool;
  pool.give_to_nobody();
  const auto said = pool.run("open-threads", 1);
  if (said.count("skipped") > 0) {
    WARN("skipped: " << said.find("skipped")->second);
    return;
  }
  REQUIRE(said.count("kept") == 20);
}

TEST_CASE("process limits: an opening that may have no more addresses says so, and loses nothing") {
  LimitedPool pool;
  open_with_ever_more(pool, "addresses", 3, "ulimit -v");
}

TEST_CASE("process limits: an open store refuses what is too much, with its bytes, and goes on") {
  LimitedPool pool(128_MiB);
  pool.put("large", std::string(150 << 20, 'x'));
  // Room for what goes on beside, and not for a copy of either.
  const auto said = pool.run("open-addresses", 120);
  REQUIRE(said.count("refused") == 3);
  REQUIRE(said.count("kept") == 2);
}

}  // namespace
}  // namespace hexad::testing
