#include "core/report/fill_rate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "base/units.h"

namespace hexad::core {

namespace {

constexpr double kNanosPerSecond = 1e9;
constexpr double kSecondsPerHour = 3600;
// A rate by which it takes longer is none: a handful of units more or less.
constexpr double kMostHours = 24 * 365 * 100;

// What there was at `at`, on the line between two samples.
double between(const FillSample& a, const FillSample& b, io::Nanos at) {
  const double part = static_cast<double>(at - a.at) / static_cast<double>(b.at - a.at);
  const double from = static_cast<double>(a.available);
  return from + (static_cast<double>(b.available) - from) * part;
}

std::string span_text(double seconds) {
  const auto minutes = static_cast<std::uint64_t>(std::lround(seconds / 60));
  if (minutes >= 60) return "hour";
  return minutes <= 1 ? "minute" : std::to_string(minutes) + " minutes";
}

}  // namespace

FillForecast forecast(std::span<const FillSample> earlier, FillSample now) {
  FillForecast found;
  found.available = now.available;
  std::vector<FillSample> points(earlier.begin(), earlier.end());
  points.push_back(now);
  const io::Nanos from = std::max(points.front().at, now.at - kFillWindow);
  found.observed_seconds = static_cast<double>(now.at - from) / kNanosPerSecond;
  if (now.at - from < kFillShortest) {
    found.note =
        "not known yet: the rate is that of the last hour, and of a minute at least since the pool "
        "was opened";
    return found;
  }
  const auto next = std::find_if(points.begin(), points.end(),
                                 [from](const FillSample& p) { return p.at > from; });
  const auto last = std::prev(next);
  const double then = between(*last, *next, from);
  const double lost = then - static_cast<double>(now.available);
  found.bytes_per_hour = lost / found.observed_seconds * kSecondsPerHour;
  const std::string during = "in the last " + span_text(found.observed_seconds);
  const double hours = static_cast<double>(now.available) / found.bytes_per_hour;
  if (now.available == 0) {
    found.hours_to_full = 0;
    found.note = "it is full";
  } else if (lost < 0) {
    found.note = "never at this rate: free space has become more " + during;
  } else if (lost == 0 || hours > kMostHours) {
    found.note = "never at this rate: free space has not become less " + during;
  } else {
    found.hours_to_full = hours;
    found.note = "if it goes on as " + during + ", " +
                 format_size(static_cast<std::uint64_t>(found.bytes_per_hour)) + " per hour";
  }
  return found;
}

void FillSamples::add(std::uint64_t available) {
  const io::Nanos now = clock_.now();
  const io::Lock lock(mutex_);
  // Somebody else has taken it.
  if (!samples_.empty() && now < samples_.back().at + kFillStep) return;
  samples_.push_back({now, available});
  // One that is older than the window stays, for the line.
  while (samples_.size() > 2 && samples_[1].at <= now - kFillWindow) samples_.pop_front();
  next_.store(now + kFillStep, std::memory_order_relaxed);
}

FillForecast FillSamples::forecast(std::uint64_t available) {
  std::vector<FillSample> samples;
  const io::Nanos now = clock_.now();
  {
    const io::Lock lock(mutex_);
    samples.assign(samples_.begin(), samples_.end());
  }
  // One that came meanwhile.
  std::erase_if(samples, [now](const FillSample& sample) { return sample.at > now; });
  return core::forecast(samples, {now, available});
}

}  // namespace hexad::core
