// Contiguity is a preference: pieces of data that find no free run of their length are cut into
// shorter ones that take the runs there are. This decides how short; nobody knows the places yet.
//
// Holds for every cut
//   PX1 it is the longest power of two below the longest piece for which there are runs enough, or
//       else the shortest that a cut may be; never as long as the longest piece
//   PX2 a piece of u units becomes at most kMostCuts stripes, unless one unit each is fewer: no cut
//       is shorter than the longest piece / kMostCuts
//   PX3 together they are at most `most_stripes`
//   PX4 where a cut of one unit keeps PX2 and PX3, there is one as long as the runs hold as many
//       units as the pieces have: no want of contiguity fails a write
//
// Why kMostCuts is 64. A page of an object spans 1 MiB and may show 256 extents before it counts as
// crowded and is written anew; so a page of full cuts has room for as many again three times over.
// A cut of a page holds at least 16 KiB, which is one unit for 4 + 2 and units of 4 KiB. Of each
// cut there are some 100 bytes and twice the sums of its cells in the log and in the metadata, for
// 16 KiB, under 1 %.
#pragma once

#include <cstdint>
#include <span>

namespace hexad::core {

inline constexpr std::uint32_t kMostCuts = 64;  // stripes of one piece

struct PieceCutInput {
  std::span<const std::uint32_t> pieces;  // units of each; those of one unit are never cut
  std::span<const std::uint32_t> runs;    // lengths of the free runs that they may take, units
  std::uint32_t most_stripes = 0;         // that their transaction may have
  std::uint32_t shortest = 1;             // units; PX2 for a piece that was cut before
};

// Units that a stripe is to have at most; 0: no cut helps. Cost: O((pieces + runs) log longest).
std::uint32_t choose_cut(const PieceCutInput& input);

// PX2 for a piece of so many units.
std::uint32_t shortest_cut(std::uint32_t units);

}  // namespace hexad::core
