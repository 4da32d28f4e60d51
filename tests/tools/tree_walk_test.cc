#include "tools/import_export/tree_walk.h"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/io/bound_by_modes.h"
#include "tests/io/temporary.h"

namespace hexad::tools {
namespace {

namespace fs = std::filesystem;
using io::testing::TemporaryDirectory;

class Recorder final : public TreeVisitor {
 public:
  Result<Descend> visit(const TreeEntry& entry) override {
    visited.push_back(entry.path);
    // The entry is where it says it is.
    struct stat info = {};
    sound = sound &&
            fstatat(entry.directory_fd, entry.leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            info.st_ino == entry.info.st_ino;
    if (entry.path == gone) fs::remove(root + "/" + entry.path);
    if (entry.path == fails) return Error{ErrorCode::kIo, "told to fail", ""};
    return skip.contains(entry.path) ? Descend::kSkip : Descend::kEnter;
  }
  void unreadable(const std::string& path, const Error&) override { lost.push_back(path); }

  std::string root;
  std::set<std::string> skip;
  std::string fails;
  std::string gone;
  std::vector<std::string> visited;
  std::vector<std::string> lost;
  bool sound = true;
};

using Names = std::vector<std::string>;

void make_tree(const TemporaryDirectory& directory) {
  fs::create_directories(directory.path("root/b/inner"));
  fs::create_directories(directory.path("root/a"));
  fs::create_directories(directory.path("outside"));
  for (const char* file : {"root/b/file", "root/b.txt", "root/B", "root/a/x", "outside/secret"}) {
    std::ofstream(directory.path(file)) << "x";
  }
  fs::create_directory_symlink(directory.path("outside"), directory.path("root/link"));
  fs::create_symlink("nowhere", directory.path("root/a/dangling"));
}

TEST_CASE("tree_walk: parents come before children, names of a directory in order of bytes") {
  const TemporaryDirectory directory;
  make_tree(directory);
  Recorder recorder;
  REQUIRE(walk_tree(directory.path("root"), recorder).ok());
  REQUIRE(recorder.visited ==
          Names{"B", "a", "a/dangling", "a/x", "b", "b/file", "b/inner", "b.txt", "link"});
  REQUIRE(recorder.lost.empty());
  REQUIRE(recorder.sound);
}

TEST_CASE("tree_walk: a directory may be skipped, a link is never followed") {
  const TemporaryDirectory directory;
  make_tree(directory);
  Recorder recorder;
  recorder.skip = {"b", "b.txt"};
  REQUIRE(walk_tree(directory.path("root"), recorder).ok());
  REQUIRE(recorder.visited == Names{"B", "a", "a/dangling", "a/x", "b", "b.txt", "link"});
  // The root itself was named by the user: there a link is.
  fs::create_directory_symlink(directory.path("root/b"), directory.path("way"));
  Recorder linked;
  REQUIRE(walk_tree(directory.path("way"), linked).ok());
  REQUIRE(linked.visited == Names{"file", "inner"});
}

TEST_CASE("tree_walk: an error of the visitor ends the walk") {
  const TemporaryDirectory directory;
  make_tree(directory);
  Recorder recorder;
  recorder.fails = "a/x";
  REQUIRE(walk_tree(directory.path("root"), recorder).error().code == ErrorCode::kIo);
  REQUIRE(recorder.visited.back() == "a/x");
}

TEST_CASE("tree_walk: what goes away meanwhile is told, and the walk goes on behind it") {
  const TemporaryDirectory directory;
  make_tree(directory);
  Recorder recorder;
  recorder.root = directory.path("root");
  recorder.gone = "b/inner";
  REQUIRE(walk_tree(directory.path("root"), recorder).ok());
  REQUIRE(recorder.lost == Names{"b/inner"});
  REQUIRE(recorder.visited.back() == "link");
}

TEST_CASE("tree_walk: a directory that may not be read is told, and the walk goes on") {
  const TemporaryDirectory directory;
  make_tree(directory);
  fs::permissions(directory.path("root/a"), fs::perms::none);
  Recorder recorder;
  {
    const io::testing::BoundByModes bound;
    REQUIRE(walk_tree(directory.path("root"), recorder).ok());
  }
  fs::permissions(directory.path("root/a"), fs::perms::owner_all);
  REQUIRE(recorder.lost == Names{"a"});
  REQUIRE(recorder.visited.back() == "link");
}

TEST_CASE("tree_walk: a root that is not there, or no directory, is an error") {
  const TemporaryDirectory directory;
  make_tree(directory);
  Recorder recorder;
  REQUIRE(walk_tree(directory.path("none"), recorder).error().code == ErrorCode::kNotFound);
  REQUIRE_FALSE(walk_tree(directory.path("root/B"), recorder).ok());
  REQUIRE(recorder.visited.empty());
  fs::create_directory(directory.path("empty"));
  REQUIRE(walk_tree(directory.path("empty"), recorder).ok());
  REQUIRE(recorder.visited.empty());
}

}  // namespace
}  // namespace hexad::tools
