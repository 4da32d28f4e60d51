#include "core/record/image_patch.h"

#include <catch2/catch.hpp>

#include "io/rng.h"

namespace hexad::core {
namespace {

std::string random_text(io::Rng& rng, std::uint64_t size) {
  std::string text(size, 0);
  // Few letters, so that beginnings and ends agree by chance, too.
  for (char& c : text) c = static_cast<char>('a' + rng.below(3));
  return text;
}

TEST_CASE("image_patch: one piece in the place of another, wherever it is") {
  io::Rng rng(1);
  int patched = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string base = random_text(rng, 300 + rng.below(3000));
    const std::uint64_t from = rng.below(base.size() + 1);
    const std::uint64_t gone = rng.below(std::min<std::uint64_t>(base.size() - from, 90) + 1);
    const std::string piece = random_text(rng, rng.below(90));
    const std::string value = std::string(base).replace(from, gone, piece);
    CAPTURE(i, from, gone, piece.size());
    const auto patch = make_patch(base, value);
    if (value.size() < kSmallestPatched) continue;
    if (!patch.has_value()) {
      REQUIRE(2 * (piece.size() + 16) > value.size());
      continue;
    }
    ++patched;
    REQUIRE(apply_patch(base, *patch).value() == value);
  }
  REQUIRE(patched > 2000);
}

TEST_CASE("image_patch: a change that is known is a patch as long as it is short") {
  const std::string base(1000, 'a');
  const auto value_of = [&](std::size_t come) {
    return base.substr(0, 100) + std::string(come, 'b') + base.substr(150);
  };
  for (const std::size_t come : {0, 1, 300, 450, 930, 938, 939, 940, 945, 960}) {
    CAPTURE(come);
    const std::string value = value_of(come);
    const ImageChange change{base, {{100, 50, std::string(come, 'b')}}};
    const auto patch = make_patch(ImageChange(change), value.size());
    REQUIRE(patch.has_value() == (come + 6 <= value.size() / 2));
    if (patch.has_value()) REQUIRE(apply_patch(base, *patch).value() == value);
  }
  REQUIRE_FALSE(make_patch(ImageChange{base, {{0, 800, ""}}}, 200).has_value());
}

TEST_CASE("image_patch: pieces far from each other cost what they are, not what lies between") {
  io::Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    std::string base(4000, 0);
    for (char& c : base) c = static_cast<char>(rng.next());
    std::string value = base;
    std::uint64_t changed = 0;
    for (std::uint64_t at = rng.below(500); at < 3900; at += 200 + rng.below(1500)) {
      const std::uint64_t size = 1 + rng.below(40);
      std::string piece(1 + rng.below(40), 0);
      for (char& c : piece) c = static_cast<char>(rng.next());
      value.replace(at, size, piece);
      changed += piece.size();
    }
    const auto patch = make_patch(base, value);
    REQUIRE(patch.has_value());
    REQUIRE(apply_patch(base, *patch).value() == value);
    std::uint64_t inserted = 0;
    for (const PatchPiece& piece : patch->pieces) inserted += piece.insert.size();
    REQUIRE(inserted <= changed);
  }
}

TEST_CASE("image_patch: the same value, one that only grew, and one that only shrank") {
  io::Rng rng(2);
  const std::string base = random_text(rng, 1000);
  for (const std::string& value :
       {base, base + "x", "x" + base, base.substr(1), base.substr(0, 999), base + base}) {
    const auto patch = make_patch(base, value);
    if (value.size() == 2000) {
      REQUIRE_FALSE(patch.has_value());  // as much is new as is not
      continue;
    }
    REQUIRE(patch.has_value());
    REQUIRE(patch->pieces.size() <= 1);
    for (const PatchPiece& piece : patch->pieces) REQUIRE(piece.insert.size() + piece.drop <= 1);
    REQUIRE(apply_patch(base, *patch).value() == value);
  }
}

TEST_CASE("image_patch: what is short or has become another one is no patch") {
  io::Rng rng(3);
  const std::string text = random_text(rng, kSmallestPatched);
  REQUIRE(make_patch(text, text).has_value());
  REQUIRE_FALSE(make_patch(text, text.substr(1)).has_value());
  REQUIRE_FALSE(make_patch(std::string(1000, 'a'), std::string(1000, 'b')).has_value());
  REQUIRE_FALSE(make_patch("", text).has_value());
}

TEST_CASE("image_patch: only what it was made for can be patched") {
  io::Rng rng(4);
  const std::string base = random_text(rng, 600);
  std::string value = base;
  value.replace(300, 4, "new");
  const ImagePatch patch = make_patch(base, value).value();
  std::string other = base;
  other[599] ^= 1;
  for (const std::string& wrong : {other, base + "a", base.substr(1), std::string(), value}) {
    REQUIRE(apply_patch(wrong, patch).error().code == ErrorCode::kCorruption);
  }
  // Numbers that no patch has.
  ImagePatch broken = patch;
  broken.pieces.push_back({0xffffffff, 0xffffffff, ""});
  REQUIRE(apply_patch(base, broken).error().code == ErrorCode::kCorruption);
}

}  // namespace
}  // namespace hexad::core
