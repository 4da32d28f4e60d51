#include "tools/import_export/object_path.h"

#include <catch2/catch.hpp>

#include "io/rng.h"

namespace hexad::tools {
namespace {

using Components = std::vector<std::string>;

TEST_CASE("object_path: a relative name becomes directories and a leaf") {
  const ObjectPath path = split_object_name("a/b c/..d/e...").value();
  CHECK(path.parents == Components{"a", "b c", "..d"});
  CHECK(path.leaf == "e...");
  CHECK_FALSE(path.directory);
}

TEST_CASE("object_path: a slash at the end means a directory") {
  const ObjectPath path = split_object_name("a/b/").value();
  CHECK(path.parents == Components{"a"});
  CHECK(path.leaf == "b");
  CHECK(path.directory);
}

TEST_CASE("object_path: every name that could lead elsewhere is refused") {
  using namespace std::string_view_literals;
  for (const std::string_view name :
       {""sv, "/"sv, "//"sv, "/a"sv, "."sv, ".."sv, "./"sv, "../"sv, "./a"sv, "../a"sv, "a/."sv,
        "a/.."sv, "a/./b"sv, "a/../b"sv, "a//b"sv, "a//"sv, "a/../"sv, "a\0b"sv, "\0"sv}) {
    CAPTURE(name);
    const Result<ObjectPath> path = split_object_name(name);
    REQUIRE_FALSE(path.ok());
    CHECK(path.error().code == ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("object_path: a component may have 255 bytes and no more") {
  CHECK(split_object_name("a/" + std::string(255, 'x')).ok());
  CHECK_FALSE(split_object_name("a/" + std::string(256, 'x')).ok());
  CHECK_FALSE(split_object_name(std::string(256, 'x') + "/a").ok());
}

TEST_CASE("object_path: whatever is accepted has only plain components and gives the name back") {
  const std::uint64_t seed = 11;
  CAPTURE(seed);
  io::Rng rng(seed);
  const std::string alphabet("a./\0", 4);
  int accepted = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string name;
    for (std::uint64_t length = rng.below(9); length > 0; --length) name += alphabet[rng.below(4)];
    const Result<ObjectPath> path = split_object_name(name);
    if (!path.ok()) continue;
    ++accepted;
    std::string again;
    Components all = path->parents;
    all.push_back(path->leaf);
    for (const std::string& component : all) {
      const bool plain = !component.empty() && component != "." && component != ".." &&
                         component.find('/') == std::string::npos &&
                         component.find('\0') == std::string::npos;
      REQUIRE(plain);
      again += (again.empty() ? "" : "/") + component;
    }
    if (path->directory) again += "/";
    REQUIRE(again == name);
  }
  CHECK(accepted > 1000);
}

}  // namespace
}  // namespace hexad::tools
