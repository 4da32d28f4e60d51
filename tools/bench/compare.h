// Two sets of figures beside each other: what has changed by more than the runs differ among
// themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace hexad::tools {

enum class Better : std::uint8_t { kMore, kLess };

// One figure, measured one or more times.
struct Series {
  std::string id;
  std::string unit;
  Better better = Better::kMore;
  std::vector<double> values;  // not empty, all finite and above 0
};

// Out of bench.json and the --json files of the programs of //benchmarks, or of lines of
// `hexad bench run --json`, in which equal jobs are runs of one figure. Figures of 0 are left out.
// Errors: kInvalidArgument (no such file).
Result<std::vector<Series>> parse_series(std::string_view text);

enum class Verdict : std::uint8_t {
  kSame,  // no change beyond the noise
  kBetter,
  kWorse,
  kNotJudged,  // one run alone says nothing about its noise
};
std::string_view to_string(Verdict verdict);  // "same", "better", "worse", "not judged"

struct Comparison {
  std::string id;
  std::string unit;
  double before = 0;  // median
  double after = 0;
  double ratio = 0;  // median of after / before, run by run
  double noise = 0;  // how far runs of one set are from their median, of it; the larger of the two
  Verdict verdict = Verdict::kNotJudged;
};

// Of figures that both have, in the order of `before`; the n-th run of one is paired with that of
// the other. A change is beyond the noise when all runs of one set lie beyond all of the other, and
// the median of the pairs' ratios is further from 1 than the noise.
std::vector<Comparison> compare(const std::vector<Series>& before,
                                const std::vector<Series>& after);

}  // namespace hexad::tools
