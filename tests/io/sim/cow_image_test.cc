#include "io/sim/cow_image.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "io/rng.h"

using namespace hexad;
using namespace hexad::io;

namespace {

Bytes noise(Rng& rng, std::uint64_t size) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
  return bytes;
}

}  // namespace

TEST_CASE("cow_image: is zero until written") {
  const CowImage image(10'000);
  REQUIRE(is_zero(image.flatten()));
  REQUIRE(image.own_pages() == 0);
}

TEST_CASE("cow_image: a child has its parent's bytes and keeps its writes to itself") {
  auto parent = std::make_shared<CowImage>(64_KiB);
  parent->write(100, as_bytes("parent"));
  CowImage child(parent);
  REQUIRE(child.own_pages() == 0);
  REQUIRE(child.hash() == parent->hash());
  child.write(102, as_bytes("X"));
  REQUIRE(child.own_pages() == 1);
  Bytes found(6);
  child.read(100, found);
  REQUIRE(as_text(found) == "paXent");
  parent->read(100, found);
  REQUIRE(as_text(found) == "parent");
  REQUIRE(child.hash() != parent->hash());
}

TEST_CASE("cow_image: generations agree with plain copies under random writes and sizes") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    auto image = std::make_shared<CowImage>(40'000);
    Bytes model(40'000);
    for (int step = 0; step < 60; ++step) {
      switch (rng.below(5)) {
        case 0: {
          const std::uint64_t size = rng.below(60'000);
          image->resize(size);
          model.resize(size);
          break;
        }
        case 1:
          image = std::make_shared<CowImage>(image);
          break;
        case 2: {
          const std::uint64_t offset = rng.below(model.size() + 1);
          const std::uint64_t length = rng.below(model.size() - offset + 1);
          image->zero(offset, length);
          fill_zero(MutByteView(model).subspan(offset, length));
          break;
        }
        default: {
          const std::uint64_t offset = rng.below(model.size() + 1);
          const std::uint64_t length =
              rng.below(std::min<std::uint64_t>(9000, model.size() - offset) + 1);
          const Bytes bytes = noise(rng, length);
          image->write(offset, bytes);
          copy_bytes(MutByteView(model).subspan(offset), bytes);
        }
      }
      REQUIRE(image->size() == model.size());
      REQUIRE(image->flatten() == model);
    }
  }
}
