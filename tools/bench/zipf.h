// Zipf's law: the item of rank r is drawn with a probability proportional to 1 / (r + 1)^theta.
#pragma once

#include <cstdint>

#include "io/rng.h"

namespace hexad::tools {

// Exact for every theta > 0, 1 included, without a table: rejection-inversion (Hörmann and
// Derflinger 1996). Any thread, each with its generator. Cost: about 1.1 tries, each of one
// logarithm and one exponential.
class Zipf {
 public:
  static constexpr std::uint64_t kMaxItems = std::uint64_t{1} << 48;
  static constexpr double kMaxTheta = 10;

  // 0 < items <= kMaxItems, 0 < theta <= kMaxTheta.
  Zipf(std::uint64_t items, double theta);
  // In [0, items); 0 is the most frequent.
  std::uint64_t next(io::Rng& rng) const;

 private:
  double integral(double x) const;  // of the hat x^-theta
  double inverse_of_integral(double x) const;
  double hat(double x) const;

  double items_;
  double theta_;
  double first_;     // integral() where the first item begins
  double last_;      // where the last one ends
  double squeezed_;  // distance to the item below which no second look is needed
};

// A permutation of [0, items) that puts neighbours far from each other: what is drawn often is
// spread over all objects.
class Scatter {
 public:
  explicit Scatter(std::uint64_t items);  // 0 < items
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t items_;
  std::uint64_t factor_;  // has no divisor in common with items_
};

}  // namespace hexad::tools
