#include "core/report/fill_rate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/units.h"

namespace hexad::core {
namespace {

constexpr io::Nanos kMinute = 60'000'000'000;
constexpr io::Nanos kHour = 60 * kMinute;

// One for each minute of `minutes`, with what `of` says.
template <typename Of>
std::vector<FillSample> minutes(int count, const Of& of) {
  std::vector<FillSample> samples;
  for (int i = 0; i < count; ++i) samples.push_back({i * kMinute, of(i)});
  return samples;
}

TEST_CASE("fill rate: a store that has just been opened says that it does not know") {
  const FillSample opened{5 * kHour, 1000};
  for (const FillForecast& none :
       {forecast({}, {kHour, 7}), forecast({&opened, 1}, {5 * kHour + kMinute - 1, 500})}) {
    CHECK_FALSE(none.hours_to_full.has_value());
    CHECK(none.bytes_per_hour == 0);
    CHECK(none.note.find("not known yet") == 0);
  }
  CHECK(forecast({}, {kHour, 7}).available == 7);
}

TEST_CASE("fill rate: hours until full at the rate of the time that was seen, up to an hour") {
  const FillSample opened{0, 10'000};
  const FillForecast first = forecast({&opened, 1}, {6 * kMinute, 9'000});
  CHECK(first.observed_seconds == 360);
  CHECK(first.bytes_per_hour == Approx(10'000));
  CHECK(first.hours_to_full.value() == Approx(0.9));
  CHECK(first.note.find("in the last 6 minutes") != std::string::npos);

  // Fast two hours ago, and half as fast in the last one: that one counts.
  const auto samples = minutes(180, [](int minute) {
    return std::uint64_t{1'000'000} - static_cast<std::uint64_t>(minute) * 1000 -
           static_cast<std::uint64_t>(std::min(minute, 120)) * 1000;
  });
  const FillForecast later = forecast(samples, {180 * kMinute, 700'000});
  CHECK(later.observed_seconds == 3600);
  CHECK(later.bytes_per_hour == Approx(60'000));
  CHECK(later.hours_to_full.value() == Approx(700'000.0 / 60'000));
}

TEST_CASE("fill rate: after a rest what there was a window ago lies on the line between samples") {
  const std::vector<FillSample> samples{{0, 1000}, {2 * kHour, 1000}};
  const FillForecast found = forecast(samples, {2 * kHour + kHour / 2, 900});
  CHECK(found.observed_seconds == 3600);
  CHECK(found.bytes_per_hour == Approx(100));
  CHECK(found.hours_to_full.value() == Approx(9));
}

TEST_CASE("fill rate: nothing lost, something gained, or next to nothing lost is never full") {
  const FillSample then{0, 1ULL << 50};
  const FillForecast zero = forecast({&then, 1}, {kHour, 1ULL << 50});
  CHECK_FALSE(zero.hours_to_full.has_value());
  CHECK(zero.note.find("never at this rate: free space has not become less") == 0);
  const FillForecast more = forecast({&then, 1}, {kHour, (1ULL << 50) + 4096});
  CHECK_FALSE(more.hours_to_full.has_value());
  CHECK(more.bytes_per_hour < 0);
  CHECK(more.note.find("free space has become more") != std::string::npos);
  const FillForecast little = forecast({&then, 1}, {kHour, (1ULL << 50) - 4096});
  CHECK_FALSE(little.hours_to_full.has_value());
}

TEST_CASE("fill rate: what is full is full, whatever the rate") {
  const FillSample then{0, 0};
  CHECK(forecast({&then, 1}, {kHour, 0}).hours_to_full == 0.0);
}

}  // namespace
}  // namespace hexad::core
