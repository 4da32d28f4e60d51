#include "kv/memory/memory_index.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "tests/kv/index_contract.h"

namespace hexad::kv {
namespace {

using testing::apply;
using testing::difference;

class MemoryWorld final : public testing::IndexWorld {
 public:
  explicit MemoryWorld(std::uint64_t max_size = MemoryIndexOptions().max_size)
      : home_(make_memory_index_home(*executor_, {max_size})) {}
  io::Executor& executor() override { return *executor_; }
  IndexHome& home() override { return *home_; }
  std::string directory() override { return "index"; }

  std::unique_ptr<Index> open() {
    return home_->open(directory(), {}, io::OpenMode::kReadWrite).value();
  }

 private:
  std::unique_ptr<io::Executor> executor_ = io::make_thread_executor(1);
  std::unique_ptr<IndexHome> home_;
};

TEST_CASE("memory_index: keeps the index contract") {
  testing::run_index_contract(
      [](std::uint64_t max_size) { return std::make_unique<MemoryWorld>(max_size); });
}

TEST_CASE("memory_index: changes wait for no reader, of the same thread either") {
  MemoryWorld world;
  const std::unique_ptr<Index> index = world.open();
  const std::unique_ptr<IndexReader> reader = index->snapshot().value();
  for (Lsn lsn = 1; lsn < 20; ++lsn) {
    REQUIRE(apply(*index, lsn, {{"k" + std::to_string(lsn), std::string(1_MiB, 'x')}}).ok());
  }
  REQUIRE(difference(*reader, {}) == "");
  REQUIRE(index->stats()->entries == 19);
  REQUIRE(index->stats()->bytes_used > 19_MiB);
}

TEST_CASE("memory_index: one home holds an index per directory") {
  MemoryWorld world;
  const std::unique_ptr<Index> one = world.home().open("one", {}, io::OpenMode::kReadWrite).value();
  const std::unique_ptr<Index> two = world.home().open("two", {}, io::OpenMode::kReadWrite).value();
  REQUIRE(apply(*one, 1, {{"a", "1"}}).ok());
  REQUIRE(difference(*two, {}) == "");
  // Removed while it is open, it stays for those who have it open.
  REQUIRE(world.home().remove("one").ok());
  REQUIRE(apply(*one, 2, {{"a", "2"}}).ok());
  const std::unique_ptr<Index> fresh =
      world.home().open("one", {}, io::OpenMode::kReadWrite).value();
  REQUIRE(difference(*fresh, {}) == "");
  REQUIRE(difference(*one, {{"a", "2"}}) == "");
}

TEST_CASE("memory_index: over its limit whatever makes it smaller passes") {
  MemoryWorld world(1_MiB);
  const std::unique_ptr<Index> index = world.open();
  REQUIRE(apply(*index, 1, {{"a", std::string(600000, 'a')}}).ok());
  REQUIRE(apply(*index, 2, {{"b", std::string(600000, 'b')}}).error().code == ErrorCode::kNoSpace);
  REQUIRE(apply(*index, 2, {{"a", std::nullopt}, {"b", std::string(600000, 'b')}}).ok());
  REQUIRE(difference(*index, {{"b", std::string(600000, 'b')}}) == "");
}

}  // namespace
}  // namespace hexad::kv
