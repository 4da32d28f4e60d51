#pragma once

namespace hexad::core {

// Without parity: how often a cell is asked for again that is not what it should be. The device may
// have other copies of it below, and answer from one of those.
inline constexpr int kAskedAgain = 2;

}  // namespace hexad::core
