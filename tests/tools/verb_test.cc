#include "tools/cli/verb.h"

#include <catch2/catch.hpp>

#include "tests/io/temporary.h"

namespace hexad::tools {
namespace {

using io::testing::TemporaryDirectory;

// A pool of files, with its description in POOL.
struct Pool {
  Pool() {
    FormatOptions format(Preset::kTiny);
    for (int i = 0; i < 6; ++i) format.devices.push_back(directory.path("d" + std::to_string(i)));
    format.fast_directories = {directory.path("fast")};
    const Result<PoolDescription> made = Store::format(format);
    if (!made.ok()) FAIL(made.error().to_string());
    REQUIRE(write_pool(directory.path(""), *made).ok());
    description = *made;
  }
  PoolArguments arguments() const { return {directory.path(""), {}, {}}; }

  TemporaryDirectory directory;
  PoolDescription description;
};

TEST_CASE("verb: a pool is what its directory describes, or what the devices say") {
  const Pool pool;
  REQUIRE(pool.arguments().describe()->devices == pool.description.devices);
  const PoolDescription named = PoolArguments{"", {"a", "b"}, {"f"}}.describe().value();
  REQUIRE(named.devices == std::vector<std::string>{"a", "b"});
  REQUIRE(named.fast_directories == std::vector<std::string>{"f"});
  REQUIRE(PoolArguments{"", {"a"}, {}}.describe()->fast_directories.empty());
  REQUIRE(PoolArguments{"pool", {}, {"f"}}.describe().error().code == ErrorCode::kInvalidArgument);
  REQUIRE(PoolArguments{pool.directory.path("none"), {}, {}}.describe().error().code ==
          ErrorCode::kNotFound);
}

TEST_CASE("verb: hints name the pool as a shell takes it, or stand for many devices") {
  REQUIRE(PoolArguments{"/pool", {}, {}}.word() == "/pool");
  REQUIRE(PoolArguments{"my pool", {}, {}}.word() == "'my pool'");
  REQUIRE(PoolArguments{"", {"a", "b"}, {"f"}}.word() == "POOL");
}

TEST_CASE("verb: names are taken as typed, or from base64") {
  CommonOptions common;
  REQUIRE(Session(common, {}).name("Zm9v").value() == "Zm9v");
  common.names_in_base64 = true;
  REQUIRE(Session(common, {}).name("Zm9v").value() == "foo");
  REQUIRE(Session(common, {}).name("/wE=").value() == "\xff\x01");
  REQUIRE(Session(common, {}).name("no base64!").error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("verb: the work gets an open store, which is closed behind it") {
  const Pool pool;
  Session session({}, pool.arguments());
  REQUIRE(session.collection() == kDefaultCollection);
  const Result<int> written = session.with_store(Access::kReadWrite, [&](Store& store) {
    Transaction t;
    t.put(session.collection(), "a", "1");
    HEXAD_ASSERT(store.commit(std::move(t)).ok());
    return Result<int>(kExitOk);
  });
  REQUIRE(written.value() == kExitOk);
  // It is: somebody else can have it.
  const Result<int> read = session.with_store(Access::kReadOnly, [&](Store& store) -> Result<int> {
    HEXAD_TRY_ASSIGN(const Bytes found, store.get(session.collection(), "a"));
    HEXAD_ASSERT(as_text(found) == "1");
    return 42;
  });
  REQUIRE(read.value() == 42);
}

TEST_CASE("verb: an error of the work is the answer, and one of opening comes before it") {
  const Pool pool;
  Session session({}, pool.arguments());
  const Result<int> failed = session.with_store(
      Access::kReadOnly,
      [&](Store& store) -> Result<int> { return store.get(session.collection(), "none").error(); });
  REQUIRE(failed.error().code == ErrorCode::kNotFound);
  Session nowhere({}, {pool.directory.path("none"), {}, {}});
  bool ran = false;
  const Result<int> unopened = nowhere.with_store(Access::kReadOnly, [&](Store&) -> Result<int> {
    ran = true;
    return kExitOk;
  });
  REQUIRE(unopened.error().code == ErrorCode::kNotFound);
  REQUIRE_FALSE(ran);
}

}  // namespace
}  // namespace hexad::tools
