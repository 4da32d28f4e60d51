#include "core/api/shared_bytes.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/core/noise.h"

namespace hexad::core {
namespace {

std::string noise(std::size_t size) { return testing::noise(size, size); }

std::string text(const SharedBytes& bytes) { return std::string(as_text(bytes.bytes())); }

TEST_CASE("shared_bytes: a copy keeps the bytes for all who have it") {
  const SharedBytes none;
  CHECK(none.empty());
  CHECK(none.bytes().empty());
  std::string original = "hexad";
  SharedBytes first = SharedBytes::copy_of(as_bytes(original));
  original = "other";
  const SharedBytes second = first;
  CHECK(second.bytes().data() == first.bytes().data());
  first = {};
  CHECK(first.empty());
  CHECK(second.size() == 5);
  CHECK(text(second) == "hexad");
}

TEST_CASE("shared_bytes: copies of all sizes are right, and small ones share pieces") {
  std::vector<std::string> originals;
  std::uint64_t total = 0;
  for (const std::size_t size : {1, 4096, 4096, 30'000, 100, 16'384, 16'385, 70'000, 4096, 7}) {
    originals.push_back(noise(size));
    total += size;
  }
  for (int i = 0; i < 100; ++i) {
    originals.push_back(noise(4096));
    total += 4096;
  }
  // Whatever was expected.
  const std::uint64_t expected = GENERATE_COPY(std::uint64_t{0}, std::uint64_t{5000}, total);
  std::vector<SharedBytes> copies;
  {
    SharedCopies maker(expected);
    for (const std::string& original : originals) copies.push_back(maker.copy(as_bytes(original)));
  }
  for (std::size_t i = 0; i < copies.size(); ++i) REQUIRE((text(copies[i]) == originals[i]));
  if (expected != total) return;
  // The last of them stand one behind the other, but for where a piece ends.
  std::size_t neighbours = 0;
  for (std::size_t i = 11; i < copies.size(); ++i) {
    const ByteView before = copies[i - 1].bytes();
    if (copies[i].bytes().data() == before.data() + before.size()) ++neighbours;
  }
  CHECK(neighbours >= 90);
}

TEST_CASE("shared_bytes: who keeps one of many can have it in memory of its own") {
  const std::string original = noise(4096);
  SharedCopies many(1 << 20);
  const SharedBytes shared = many.copy(as_bytes(original));
  const SharedBytes alone = shared.compact();
  CHECK(alone.bytes().data() != shared.bytes().data());
  CHECK((text(alone) == original));
  // What has little beside it stays where it is.
  CHECK(alone.compact().bytes().data() == alone.bytes().data());
  SharedCopies one(original.size());
  const SharedBytes single = one.copy(as_bytes(original));
  CHECK(single.compact().bytes().data() == single.bytes().data());
}

}  // namespace
}  // namespace hexad::core
