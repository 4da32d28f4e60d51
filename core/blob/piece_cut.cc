#include "core/blob/piece_cut.h"

#include <algorithm>
#include <bit>

#include "base/units.h"

namespace hexad::core {

std::uint32_t shortest_cut(std::uint32_t units) {
  return static_cast<std::uint32_t>(divide_up(std::max(units, 1U), kMostCuts));
}

std::uint32_t choose_cut(const PieceCutInput& in) {
  const std::uint32_t longest =
      in.pieces.empty() ? 0 : *std::max_element(in.pieces.begin(), in.pieces.end());
  const std::uint32_t shortest = std::max(in.shortest, shortest_cut(longest));
  if (longest <= shortest) return 0;
  for (std::uint32_t cut = std::bit_floor(longest - 1);; cut = std::max(cut / 2, shortest)) {
    cut = std::max(cut, shortest);
    std::uint64_t stripes = 0;
    for (const std::uint32_t units : in.pieces) {
      if (units > 1) stripes += divide_up(units, cut);
    }
    if (stripes > in.most_stripes) return 0;  // and the more so when they are shorter
    std::uint64_t room = 0;
    for (const std::uint32_t run : in.runs) room += run / cut;
    if (room >= stripes) return cut;
    if (cut == shortest) return 0;
  }
}

}  // namespace hexad::core
