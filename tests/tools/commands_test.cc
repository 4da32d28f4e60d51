#include "tools/cli/commands.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

const CommandWords kWords{"'/a pool'", "logs"};

TEST_CASE("commands: the pool stands where the engine knows none") {
  CHECK(with_words("Run hexad fsck POOL.", kWords) == "Run hexad fsck '/a pool'.");
  CHECK(with_words("hexad fsck POOL", kWords) == "hexad fsck '/a pool'");
  CHECK(with_words("(hexad device online POOL 3 --path PATH), or hexad wait POOL --for drain",
                   kWords) ==
        "(hexad device online '/a pool' 3 --path PATH), or hexad wait '/a pool' --for drain");
  CHECK(with_words("hexad import POOL DIR", kWords) == "hexad import '/a pool' DIR");
}

TEST_CASE("commands: the collection stands behind the pool") {
  CHECK(with_words("Create it first (hexad bucket create POOL BUCKET).", kWords) ==
        "Create it first (hexad bucket create '/a pool' logs).");
  CHECK(with_words("hexad bucket rm POOL BUCKET --recursive", {"/pool", ""}) ==
        "hexad bucket rm /pool BUCKET --recursive");
}

TEST_CASE("commands: what is not known stays") {
  CHECK(with_words("hexad bucket rm POOL BUCKET", {}) == "hexad bucket rm POOL BUCKET");
  CHECK(with_words("", kWords).empty());
}

TEST_CASE("commands: what is no placeholder of a command stays") {
  for (const std::string text :
       {"POOL", "BUCKET", "rbd ls POOL", "hexad pool 1 POOL", "hexad POOL", "hexad  POOL",
        "Name an image as rbd:POOL/IMAGE", "hexad fsck POOLS", "hexad fsck POOL2",
        "hexad device ls names those of POOL", "nohexad fsck POOL", "hexad fsck", "hexad ",
        "hexad put /pool POOL", "hexad fsck MY POOL"}) {
    CAPTURE(text);
    CHECK(with_words(text, kWords) == text);
  }
  CHECK(with_words("hexad bucket rm POOL BUCKETS", kWords) == "hexad bucket rm '/a pool' BUCKETS");
}

}  // namespace
}  // namespace hexad::tools
