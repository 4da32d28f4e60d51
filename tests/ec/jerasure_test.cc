#include "ec/jerasure.h"

#include "tests/ec/program_suite.h"

namespace hexad::ec {
namespace {

TEST_CASE("jerasure: field multiplication applies any matrix, at any length and place") {
  testing::check_program(make_gf_complete_program, GENERATE(range(1, 60)));
}

}  // namespace
}  // namespace hexad::ec
