#include "tools/cli/suggest.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

const std::vector<std::string> kVerbs = {"put", "get", "status", "stat", "export", "import"};

TEST_CASE("suggest: a slip of the finger finds the word that was meant") {
  CHECK(nearest("stauts", kVerbs) == "status");
  CHECK(nearest("exportt", kVerbs) == "export");
  CHECK(nearest("pu", kVerbs) == "put");
  CHECK(nearest("imports", kVerbs) == "import");
  CHECK(nearest("get", kVerbs) == "get");
}

TEST_CASE("suggest: another word is not meant") {
  CHECK(nearest("frobnicate", kVerbs).empty());
  CHECK(nearest("", {}).empty());
  CHECK(nearest(std::string(100000, 'x'), kVerbs).empty());
}

}  // namespace
}  // namespace hexad::tools
