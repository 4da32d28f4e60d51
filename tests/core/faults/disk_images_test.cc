// Stores opened on disks that somebody has tampered with, checksums and all: what fuzzing has
// found.
#include "tests/core/faults/disk_images.h"

#include <catch2/catch.hpp>
#include <string>

#include "core/check/fsck.h"

namespace hexad::testing {
namespace {

// Catch must not throw inside a fiber: what is seen comes out as text.
std::string codes(const std::vector<Status>& statuses) {
  std::string text;
  for (const Status& status : statuses) {
    text += (text.empty() ? "" : ", ") +
            (status.ok() ? std::string("ok") : std::string(to_string(status.error().code)));
  }
  return text;
}

Status remove(core::Engine& engine, const std::string& name) {
  Transaction transaction;
  transaction.remove(kDefaultCollection, name);
  return engine.commit(std::move(transaction)).status();
}

// Key and record of the object of that name.
std::pair<std::string, std::string> object_of(const DiskImages& images, std::string_view name) {
  for (const auto& [key, value] : images.metadata) {
    const Result<core::ObjectKey> parsed = core::parse_object_key(key);
    if (parsed.ok() && parsed->name == name) return {key, value};
  }
  FAIL("there is no object " << name);
  return {};
}

TEST_CASE("disk images: as they were left they are sound, and hold everything") {
  ImageOpener opener;
  for (const Left left : {Left::kClosed, Left::kCrashed}) {
    DiskImages images = make_images(left);
    REQUIRE(images.metadata.size() > 20);
    REQUIRE(images.log.empty() == (left == Left::kClosed));
    // P11: roots and log blocks carry the number of their writer.
    REQUIRE(images.root.nonce() != 0);
    for (const ImageLogBlock& block : images.log) {
      REQUIRE(block.header.nonce == images.root.nonce());
    }
    for (const Access access : {Access::kReadOnly, Access::kReadWrite, Access::kReadOnly}) {
      std::string problem = "not looked at";
      std::vector<Status> read;
      const Status opened = opener.open(images, access, [&](core::Engine& engine) {
        const Result<FsckReport> report = engine.fsck().run({true, false});
        problem = !report.ok()               ? report.error().to_string()
                  : report->findings.empty() ? ""
                                             : report->findings.front().problem;
        for (const char* name : {"inline", "twin", "middle", "large", "copy", "pages", "young"}) {
          read.push_back(engine.reads().get(kDefaultCollection, name).status());
        }
      });
      REQUIRE(opened.ok());
      CHECK(problem == "");
      CHECK(codes(read) == "ok, ok, ok, ok, ok, ok, ok");
    }
  }
}

// Two objects that show one stripe, and neither knows of the other: of the two that go, the second
// is an error. It was the end of the process, when it was durable already, and no opening got past
// its record in the log.
TEST_CASE("disk images: a stripe of two objects is given up once") {
  DiskImages images = make_images(Left::kCrashed);
  core::LogRecord record;
  const auto [key, value] = object_of(images, "packed");
  record.images = {{core::object_key(core::parse_object_key(key)->space, "forged"), value}};
  append_record(images, record);
  ImageOpener opener;
  std::vector<Status> removed;
  const Status opened = opener.open(images, Access::kReadWrite, [&](core::Engine& engine) {
    removed.push_back(engine.checkpoint());
    removed.push_back(remove(engine, "packed"));
    removed.push_back(remove(engine, "forged"));
    removed.push_back(remove(engine, "young"));
  });
  REQUIRE(opened.ok());
  CHECK(codes(removed) == "ok, ok, corruption, ok");
  Status gone;
  REQUIRE(opener
              .open(images, Access::kReadWrite,
                    [&](core::Engine& engine) {
                      gone = engine.reads().get(kDefaultCollection, "packed").status();
                    })
              .ok());
  CHECK(codes({gone}) == "not found");
}

}  // namespace
}  // namespace hexad::testing
