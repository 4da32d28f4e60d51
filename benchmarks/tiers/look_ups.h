// Look-ups of one kind, one after the other: how long they take, and how many need no slow device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/hexad.h"
#include "io/rng.h"
#include "tools/bench/zipf.h"

namespace hexad::bench {

struct Skew {
  std::string id;
  std::string what;  // for people
  double theta = 0;  // of Zipf's law; 0: all are asked for equally often
};
std::vector<Skew> tier_skews();

// Draws objects, the same ones for the same seed.
class Draw {
 public:
  Draw(const Skew& skew, std::uint64_t objects, std::uint64_t seed);
  std::uint64_t operator()();

 private:
  std::uint64_t objects_;
  io::Rng rng_;
  std::optional<tools::Zipf> zipf_;  // nothing: all equally often
  tools::Scatter scatter_;
};

struct LookUps {
  double mean_us = 0;
  double hits = 0;     // the share that read no data device
  double hit_us = 0;   // mean; 0: there were none
  double miss_us = 0;  // likewise
};

// `count` gets, of which each is timed alone; `warm` others come first. The data of the objects is
// in their records, so that metadata is all they read.
LookUps look_up(Store& store, Draw draw, std::uint64_t warm, std::uint64_t count);

}  // namespace hexad::bench
