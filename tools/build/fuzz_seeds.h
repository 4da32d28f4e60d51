// What a fuzz target begins with. A target may define this function; both main()s, libFuzzer's and
// our own, ask for it. Without one a target begins with nothing.
//
//   std::vector<std::string> hexad::testing::fuzz_seeds() { return {encode(example())}; }
#pragma once

#include <string>
#include <vector>

namespace hexad::testing {

// Inputs that the target understands, and that others are made from.
std::vector<std::string> fuzz_seeds();

}  // namespace hexad::testing
