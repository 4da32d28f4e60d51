// All devices of a pool are copied, and each copy is opened on its own: what they hold is never
// mixed (P11 of alloc/root_choice.h), nor is an image of the same epoch taken for the device.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

// What all the disks of a pool hold.
using Images = std::map<std::string, Bytes>;

struct CopiedPool : StoreFixture {
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < 6; ++i) all.push_back(device(i));
    all.push_back(pool.fast_directories[0] + "/log");
    return all;
  }
  Images images() {
    Images all;
    for (const std::string& path : paths()) all[path] = read_media(*memory.media(path));
    return all;
  }
  // The index is made anew: it is a copy of what the devices hold.
  void restore(const Images& images) {
    for (const auto& [path, bytes] : images) memory.media(path)->write(0, bytes);
    std::filesystem::remove_all(directory / "fast" / "index");
  }
  // Opens it on its own, changes it, and ends as `end` says.
  Images go_on(const Images& from, const std::string& value, bool cleanly) {
    restore(from);
    Store store = open();
    REQUIRE(put(store, "common", noise(100'000, value.size())).ok());
    REQUIRE(put(store, value, value).ok());
    if (cleanly) {
      REQUIRE(store.close().ok());
      return images();
    }
    return images();
  }
  // With device `strange` of the other copy it does not open, says which that is, and is not
  // written to.
  void refuse_mixed(const Images& ours, const Images& theirs, std::size_t strange) {
    Images mixed = ours;
    mixed[device(strange)] = theirs.at(device(strange));
    restore(mixed);
    for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
      const Result<Store> refused = try_open(access);
      REQUIRE(code_of(refused) == ErrorCode::kInvalidArgument);
      CAPTURE(refused.error().message);
      REQUIRE(refused.error().message.find("written apart") != std::string::npos);
      REQUIRE(refused.error().message.find(std::to_string(strange)) != std::string::npos);
    }
    REQUIRE((images() == mixed));
  }
};

TEST_CASE("copied pool: a device of the other copy is named, and the rest opens without it") {
  const bool our_end = GENERATE(true, false);
  const bool their_end = GENERATE(true, false);
  CAPTURE(our_end, their_end);
  CopiedPool fixture;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "before", "both").ok());
    REQUIRE(store.close().ok());
  }
  const Images before = fixture.images();
  const Images ours = fixture.go_on(before, "ours", our_end);
  const Images theirs = fixture.go_on(before, "theirs, longer", their_end);
  for (const std::size_t strange : {0u, 3u, 5u}) {
    CAPTURE(strange);
    fixture.refuse_mixed(ours, theirs, strange);
    fixture.take_away(strange);
    {
      Store store = fixture.open();
      REQUIRE(get(store, "ours") == "ours");
      REQUIRE((get(store, "common") == noise(100'000, 4)));
      REQUIRE(code_of(store.stat(kDefaultCollection, "theirs, longer")) == ErrorCode::kNotFound);
      REQUIRE(deep_findings(store) == "");
      REQUIRE(store.close().ok());
    }
    fixture.bring_back(strange);
  }
  // Each copy is whole by itself.
  fixture.restore(theirs);
  Store store = fixture.open();
  REQUIRE(get(store, "theirs, longer") == "theirs, longer");
  REQUIRE(code_of(store.stat(kDefaultCollection, "ours")) == ErrorCode::kNotFound);
}

// Their epochs differ: the copy is opened, the original is not.
TEST_CASE("copied pool: a device of a copy that was opened beside the original is named") {
  CopiedPool fixture;
  Images before;
  Images ours;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "before", "both").ok());
    REQUIRE(store.checkpoint().ok());
    before = fixture.images();
    for (int i = 0; i < 3; ++i) {
      REQUIRE(put(store, "ours" + std::to_string(i), noise(50'000, i)).ok());
      REQUIRE(store.checkpoint().ok());
    }
    ours = fixture.images();
  }
  const Images theirs = fixture.go_on(before, "theirs, longer", false);
  for (const std::size_t strange : {0u, 3u, 5u}) {
    CAPTURE(strange);
    fixture.refuse_mixed(ours, theirs, strange);
    fixture.take_away(strange);
    {
      Store store = fixture.open();
      for (int i = 0; i < 3; ++i) {
        REQUIRE((get(store, "ours" + std::to_string(i)) == noise(50'000, i)));
      }
      REQUIRE(code_of(store.stat(kDefaultCollection, "theirs, longer")) == ErrorCode::kNotFound);
      REQUIRE(deep_findings(store) == "");
      REQUIRE(store.close().ok());
    }
    fixture.bring_back(strange);
  }
}

// Its epoch is the one that all have.
TEST_CASE("copied pool: an image of the same epoch that is put back is not served from") {
  CopiedPool fixture;
  Bytes image;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "before", noise(300'000, 1)).ok());
    REQUIRE(store.checkpoint().ok());
    image = read_media(*fixture.media(2));
    for (int i = 0; i < 4; ++i) {
      REQUIRE(put(store, "object" + std::to_string(i), noise(200'000, 10 + i)).ok());
      REQUIRE(store.checkpoint().ok());
    }
  }
  fixture.media(2)->write(0, image);
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    Store store = fixture.open(access);
    REQUIRE(state_of(store, fixture.device(2)) == "stale");
    REQUIRE((get(store, "before") == noise(300'000, 1)));
    for (int i = 0; i < 4; ++i) {
      REQUIRE((get(store, "object" + std::to_string(i)) == noise(200'000, 10 + i)));
    }
    REQUIRE(deep_findings(store) == "");
  }
}

}  // namespace
}  // namespace hexad::testing
