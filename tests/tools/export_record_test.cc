#include "tools/import_export/export_record.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/io/temporary.h"

namespace hexad::tools {
namespace {

using Use = ExportRecord::Use;

ObjectStat object(Lsn version) {
  ObjectStat stat;
  stat.version = version;
  stat.mtime = -5;
  stat.size = 9;
  return stat;
}

struct stat file(ino_t inode, time_t changed = 7) {
  struct stat info = {};
  info.st_size = 9;
  info.st_ino = inode;
  info.st_ctim.tv_sec = changed;
  info.st_ctim.tv_nsec = 1;
  info.st_mtim.tv_sec = -1;
  return info;
}

struct World {
  io::testing::TemporaryDirectory folder;
  std::string place = folder.path() + "/made/here";

  ExportRecord open(Use use = Use::kNote, const std::string& key = "key") const {
    return ExportRecord(place, key, use);
  }
  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(place)) ++count;
    return count;
  }
};

TEST_CASE("export_record: what was noted is known to the next one, name by name") {
  const World world;
  const std::vector<std::string> names = {"",   "\n",  " ",   " a",   "a",
                                          "a ", "a b", "a\\", "a\\n", "b"};
  {
    ExportRecord record = world.open();
    CHECK_FALSE(record.knows("", object(1), file(1)));
    for (std::size_t i = 0; i < names.size(); ++i) record.note(names[i], object(i), file(i));
    record.finish();
  }
  ExportRecord record = world.open(Use::kLook);
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    CHECK_FALSE(record.knows(names[i], object(i), file(i + 1)));
    CHECK(record.knows(names[i], object(i), file(i)));
  }
  CHECK_FALSE(world.open(Use::kLook, "another key").knows("a", object(4), file(4)));
}

TEST_CASE("export_record: whatever of object or file differs, it is not known") {
  const World world;
  {
    ExportRecord record = world.open();
    record.note("a", object(1), file(1));
    record.finish();
  }
  const auto known = [&](const ObjectStat& stat, const struct stat& info) {
    return world.open(Use::kLook).knows("a", stat, info);
  };
  CHECK(known(object(1), file(1)));
  CHECK_FALSE(known(object(2), file(1)));
  CHECK_FALSE(known(object(1), file(2)));
  CHECK_FALSE(known(object(1), file(1, 8)));
  const std::vector<std::function<void(ObjectStat&, struct stat&)>> changes = {
      [](ObjectStat& stat, struct stat&) { stat.mtime = 5; },
      [](ObjectStat& stat, struct stat&) { stat.size = 8; },
      [](ObjectStat&, struct stat& info) { info.st_size = 8; },
      [](ObjectStat&, struct stat& info) { info.st_ctim.tv_nsec = 2; },
      [](ObjectStat&, struct stat& info) { info.st_mtim.tv_sec = 1; },
      [](ObjectStat&, struct stat& info) { info.st_mtim.tv_nsec = 1; },
  };
  for (const auto& change : changes) {
    ObjectStat stat = object(1);
    struct stat info = file(1);
    change(stat, info);
    CHECK_FALSE(known(stat, info));
  }
}

TEST_CASE("export_record: one that did not end adds to what was known before") {
  const World world;
  {
    ExportRecord record = world.open();
    for (const char* name : {"a", "b", "c"}) record.note(name, object(1), file(1));
    record.finish();
  }
  {
    ExportRecord record = world.open();
    record.note("a", object(2), file(2));
    // And here it ends, as a process does that is told to.
  }
  {
    ExportRecord record = world.open();
    CHECK(record.knows("a", object(2), file(2)));
    CHECK(record.knows("b", object(1), file(1)));
    record.note("a", object(2), file(2));
    record.finish();
  }
  ExportRecord record = world.open(Use::kLook);
  CHECK(record.knows("a", object(2), file(2)));
  CHECK_FALSE(record.knows("b", object(1), file(1)));  // it was not there any more
  CHECK(world.files() == 1);
}

TEST_CASE("export_record: what was noted before the system was started anew does not count") {
  const World world;
  {
    ExportRecord record = world.open();
    record.note("a", object(1), file(1));
  }
  const auto found = std::filesystem::directory_iterator(world.place)->path();
  REQUIRE(found.extension() == ".new");
  std::ifstream in(found);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::size_t second = text.find('\n') + 1;
  std::ofstream(found) << text.substr(0, second) << "0" << text.substr(second);
  CHECK_FALSE(world.open(Use::kLook).knows("a", object(1), file(1)));
  std::ofstream(found) << text;
  CHECK(world.open(Use::kLook).knows("a", object(1), file(1)));
}

TEST_CASE("export_record: damage makes less known, and nothing wrong") {
  const World world;
  {
    ExportRecord record = world.open();
    record.note("a", object(1), file(1));
    record.note("b", object(2), file(2));
    record.finish();
  }
  const auto found = std::filesystem::directory_iterator(world.place)->path();
  std::ifstream in(found);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  for (std::size_t size = 0; size <= text.size(); ++size) {
    CAPTURE(size);
    std::ofstream(found) << text.substr(0, size);
    ExportRecord record = world.open(Use::kLook);
    record.knows("a", object(1), file(1));
    CHECK(record.knows("b", object(2), file(2)) == (size == text.size()));
  }
  std::ofstream(found) << text.substr(0, text.find(" a\n")) << std::string(100, '\0');
  CHECK_FALSE(world.open(Use::kLook).knows("a", object(1), file(1)));
}

TEST_CASE("export_record: of two at once the second notes nothing") {
  const World world;
  ExportRecord first = world.open();
  first.note("a", object(1), file(1));
  {
    ExportRecord second = world.open();
    second.note("b", object(2), file(2));
    second.finish();
  }
  first.finish();
  ExportRecord record = world.open(Use::kLook);
  CHECK(record.knows("a", object(1), file(1)));
  CHECK_FALSE(record.knows("b", object(2), file(2)));
}

TEST_CASE("export_record: where none can be, nothing is known and nothing fails") {
  const World world;
  std::ofstream(world.folder.path() + "/made") << "a file";
  ExportRecord refused = world.open();
  ExportRecord nowhere("", "key", Use::kNote);
  ExportRecord none;
  for (ExportRecord* record : {&refused, &nowhere, &none}) {
    record->note("a", object(1), file(1));
    record->finish();
    CHECK_FALSE(record->knows("a", object(1), file(1)));
  }
}

TEST_CASE("export_record: it lies where the user's caches are") {
  setenv("XDG_CACHE_HOME", "/caches", 1);
  setenv("HOME", "/users/mary", 1);
  CHECK(export_record_directory() == "/caches/hexad/exports");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(export_record_directory() == "/users/mary/.cache/hexad/exports");
  unsetenv("HOME");
  CHECK(export_record_directory().empty());
}

}  // namespace
}  // namespace hexad::tools
