#include "core/check/scrub_position.h"

#include <catch2/catch.hpp>

namespace hexad::core {
namespace {

using Part = ScrubPosition::Part;

TEST_CASE("scrub_position: as text and back") {
  for (const ScrubPosition& position :
       {ScrubPosition{}, ScrubPosition{Part::kPacks, 7, 4'294'967'295U, "", 0},
        ScrubPosition{Part::kObjects, 0, 0, std::string("o\0\1\xff:", 5), 12},
        ScrubPosition{Part::kRuns, 0, 0, "", 0}}) {
    const std::string text = encode_position(position);
    CAPTURE(text);
    CHECK(text.find_first_not_of("0123456789:abcdefghijklmnopqrstuvwxyz") == std::string::npos);
    CHECK(decode_position(text).value() == position);
  }
  CHECK(encode_position({Part::kObjects, 0, 0, "oa", 3}) == "objects:3:6f61");
  CHECK(encode_position({Part::kOver, 0, 0, "", 0}).empty());
  CHECK(decode_position("").value() == ScrubPosition{});
}

TEST_CASE("scrub_position: what is none is told so") {
  for (const char* const text : {"x",
                                 "packs",
                                 "packs:",
                                 "packs:1",
                                 "packs:1:",
                                 "packs:1:2:3",
                                 "packs:1:2x",
                                 "packs:-1:2",
                                 "packs:99999999999:0",
                                 "objects",
                                 "objects:",
                                 "objects:1",
                                 "objects:1:",
                                 "objects:1:6",
                                 "objects:1:6F",
                                 "objects:1:6g",
                                 "objects:x:6f",
                                 "runs:",
                                 "runs2",
                                 "over"}) {
    CAPTURE(text);
    const Result<ScrubPosition> position = decode_position(text);
    REQUIRE_FALSE(position.ok());
    CHECK(position.error().code == ErrorCode::kInvalidArgument);
    CHECK_THAT(position.error().message, Catch::Contains(text));
  }
}

}  // namespace
}  // namespace hexad::core
