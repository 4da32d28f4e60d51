#include "tools/import_export/safe_tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

namespace hexad::tools {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "hexad-tree-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
};

TEST_CASE("safe_tree: directories are made where they are missing") {
  const Folder folder;
  SafeTree tree = SafeTree::open((folder.path / "x" / "root").string()).value();
  REQUIRE(tree.directory({"a", "b"}).ok());
  REQUIRE(tree.directory({"a", "c"}).ok());
  const int again = tree.directory({"a", "c"}).value();
  CHECK(fs::is_directory(folder.path / "x/root/a/b"));
  CHECK(fs::is_directory(folder.path / "x/root/a/c"));
  CHECK(openat(again, "leaf", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0);
  CHECK(fs::exists(folder.path / "x/root/a/c/leaf"));
  CHECK(tree.directory({}).value() == tree.root());
}

TEST_CASE("safe_tree: a directory without rights gets them where that is asked for") {
  const Folder folder;
  fs::create_directories(folder.path / "root/a/b");
  const auto mode = [&](const char* name) { return fs::status(folder.path / name).permissions(); };
  fs::permissions(folder.path / "root/a/b", fs::perms::others_exec);
  fs::permissions(folder.path / "root/a", fs::perms::none);
  {
    SafeTree tree = SafeTree::open((folder.path / "root").string()).value();
    CHECK(tree.directory({"a"}, SafeTree::Rights::kMakeUsable).ok());
    CHECK(mode("root/a") == fs::perms::owner_all);
    CHECK(mode("root/a/b") == fs::perms::others_exec);
    CHECK(tree.directory({"a", "b"}, SafeTree::Rights::kMakeUsable).ok());
    CHECK(mode("root/a/b") == (fs::perms::owner_all | fs::perms::others_exec));
  }
  // Not what a link leads to.
  fs::permissions(folder.path / "root/a", fs::perms::owner_read);
  fs::create_directory_symlink("a", folder.path / "root/link");
  SafeTree tree = SafeTree::open((folder.path / "root").string()).value();
  CHECK_FALSE(tree.directory({"link"}, SafeTree::Rights::kMakeUsable).ok());
  CHECK(mode("root/a") == fs::perms::owner_read);
  fs::permissions(folder.path / "root/a", fs::perms::owner_all);
}

TEST_CASE("safe_tree: a link or a file on the way is refused, wherever it stands") {
  const Folder folder;
  fs::create_directories(folder.path / "root/a");
  fs::create_directories(folder.path / "outside");
  fs::create_directory_symlink("../outside", folder.path / "root/link");
  fs::create_directory_symlink("../../outside", folder.path / "root/a/link");
  fs::create_directory_symlink("a", folder.path / "root/inner");
  fs::create_symlink("nowhere", folder.path / "root/dangling");
  fs::copy_file("/proc/self/cmdline", folder.path / "root/file");
  SafeTree tree = SafeTree::open((folder.path / "root").string()).value();
  for (const std::vector<std::string>& way :
       std::vector<std::vector<std::string>>{{"link"},
                                             {"link", "b"},
                                             {"a", "link"},
                                             {"a", "link", "b"},
                                             {"inner"},
                                             {"dangling"},
                                             {"file"},
                                             {"file", "b"}}) {
    const Result<int> directory = tree.directory(way);
    REQUIRE_FALSE(directory.ok());
    CHECK(directory.error().code == ErrorCode::kInvalidArgument);
  }
  CHECK(fs::is_empty(folder.path / "outside"));
  CHECK_FALSE(fs::exists(folder.path / "root/nowhere"));
}

}  // namespace
}  // namespace hexad::tools
