#include "tools/bench/zipf.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/assert.h"

namespace hexad::tools {

namespace {

// (e^x - 1) / x and log(1 + x) / x, also where x is next to nothing.
double expm1_over(double x) {
  return std::fabs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2 * (1 + x / 3);
}
double log1p_over(double x) {
  return std::fabs(x) > 1e-8 ? std::log1p(x) / x : 1 - x / 2 * (1 - 2 * x / 3);
}

// Uniform in [0, 1).
double uniform(io::Rng& rng) { return static_cast<double>(rng.next() >> 11) * 0x1p-53; }

}  // namespace

Zipf::Zipf(std::uint64_t items, double theta)
    : items_(static_cast<double>(items)),
      theta_(theta),
      first_(integral(1.5) - 1),
      last_(integral(items_ + 0.5)),
      squeezed_(2 - inverse_of_integral(integral(2.5) - hat(2))) {
  HEXAD_ASSERT(items > 0 && items <= kMaxItems && theta > 0 && theta <= kMaxTheta);
}

double Zipf::integral(double x) const {
  const double log_x = std::log(x);
  return expm1_over((1 - theta_) * log_x) * log_x;
}

double Zipf::inverse_of_integral(double x) const {
  // Rounding may carry it below the pole at -1.
  const double t = std::max(x * (1 - theta_), -1.0);
  return std::exp(log1p_over(t) * x);
}

double Zipf::hat(double x) const { return std::exp(-theta_ * std::log(x)); }

std::uint64_t Zipf::next(io::Rng& rng) const {
  for (;;) {
    const double u = last_ + uniform(rng) * (first_ - last_);
    const double x = inverse_of_integral(u);
    const double item = std::clamp(std::floor(x + 0.5), 1.0, items_);
    if (item - x <= squeezed_ || u >= integral(item + 0.5) - hat(item)) {
      return static_cast<std::uint64_t>(item) - 1;
    }
  }
}

Scatter::Scatter(std::uint64_t items) : items_(items) {
  HEXAD_ASSERT(items > 0);
  // The golden section keeps multiples of it apart.
  factor_ = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(0.6180339887 * static_cast<double>(items)));
  while (std::gcd(factor_, items_) != 1) ++factor_;
}

std::uint64_t Scatter::operator()(std::uint64_t index) const {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(index) * factor_ % items_);
}

}  // namespace hexad::tools
