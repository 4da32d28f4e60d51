#include "tools/verbs/pool_paths.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/io/temporary.h"

namespace hexad::tools {
namespace {

using Paths = std::vector<std::string>;

struct Pool {
  Pool() { REQUIRE(write_pool(directory.path(""), {{"/a", "/b"}, {"/fast"}}).ok()); }
  Paths devices() const { return read_pool(directory.path(""))->devices; }

  io::testing::TemporaryDirectory directory;
  const Session session{CommonOptions(), PoolArguments{directory.path(""), {}, {}}};
};

TEST_CASE("pool paths: a path is added once, and taken away") {
  const Pool pool;
  CHECK(add_path(pool.session, "/c").value());
  CHECK(pool.devices() == Paths{"/a", "/b", "/c"});
  CHECK_FALSE(add_path(pool.session, "/c").value());
  CHECK_FALSE(add_path(pool.session, "/a").value());
  CHECK(pool.devices() == Paths{"/a", "/b", "/c"});
  REQUIRE(remove_path(pool.session, "/a").ok());
  REQUIRE(remove_path(pool.session, "/none").ok());
  CHECK(pool.devices() == Paths{"/b", "/c"});
  CHECK(read_pool(pool.directory.path(""))->fast_directories == Paths{"/fast"});
}

TEST_CASE("pool paths: a path takes the place of another one, or comes last") {
  const Pool pool;
  REQUIRE(put_path_in_place(pool.session, "/a", "/c").ok());
  CHECK(pool.devices() == Paths{"/c", "/b"});
  REQUIRE(put_path_in_place(pool.session, "/none", "/d").ok());
  CHECK(pool.devices() == Paths{"/c", "/b", "/d"});
  REQUIRE(put_path_in_place(pool.session, "/b", "/d").ok());  // it is there already
  CHECK(pool.devices() == Paths{"/c", "/b", "/d"});
}

TEST_CASE("pool paths: a pool that is named by its devices has no description") {
  const Session session{CommonOptions(), PoolArguments{"", {"/a"}, {}}};
  CHECK_FALSE(add_path(session, "/b").value());
  CHECK(remove_path(session, "/a").ok());
  CHECK(put_path_in_place(session, "/a", "/b").ok());
}

TEST_CASE("pool paths: a description that cannot be read is an error, and nothing is written") {
  const io::testing::TemporaryDirectory directory;
  const Session session{CommonOptions(), PoolArguments{directory.path(""), {}, {}}};
  CHECK(add_path(session, "/a").error().code == ErrorCode::kNotFound);
  CHECK(remove_path(session, "/a").error().code == ErrorCode::kNotFound);
  CHECK_FALSE(std::filesystem::exists(directory.path("hexad.pool")));
}

TEST_CASE("pool paths: a path is absolute, and has no detours") {
  CHECK(absolute_path("/a/../b/./c") == "/b/c");
  CHECK(absolute_path("x") == (std::filesystem::current_path() / "x").string());
}

}  // namespace
}  // namespace hexad::tools
