#include "benchmarks/tiers/look_ups.h"

#include <chrono>

#include "benchmarks/commit_path/must.h"
#include "benchmarks/tiers/tier_pool.h"

namespace hexad::bench {

namespace {

using Clock = std::chrono::steady_clock;

void get_one(Store& store, std::uint64_t index) {
  const Bytes data = must(store.get(kDefaultCollection, tier_object_name(index)));
  if (data.size() != kTierObjectBytes) die("an object has another size than it was given");
}

double mean(double sum, std::uint64_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace

std::vector<Skew> tier_skews() {
  return {{"uniform", "uniform", 0}, {"zipf0.8", "zipf 0.8", 0.8}, {"zipf1.2", "zipf 1.2", 1.2}};
}

Draw::Draw(const Skew& skew, std::uint64_t objects, std::uint64_t seed)
    : objects_(objects), rng_(seed), scatter_(objects) {
  if (skew.theta > 0) zipf_.emplace(objects, skew.theta);
}

std::uint64_t Draw::operator()() {
  return zipf_.has_value() ? scatter_(zipf_->next(rng_)) : rng_.below(objects_);
}

LookUps look_up(Store& store, Draw draw, std::uint64_t warm, std::uint64_t count) {
  for (std::uint64_t i = 0; i < warm; ++i) get_one(store, draw());
  double hit_us = 0;
  double miss_us = 0;
  std::uint64_t hits = 0;
  std::uint64_t before = device_reads(store);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t index = draw();
    const Clock::time_point began = Clock::now();
    get_one(store, index);
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - began).count();
    const std::uint64_t reads = device_reads(store);
    (reads == before ? hit_us : miss_us) += us;
    if (reads == before) ++hits;
    before = reads;
  }
  return {mean(hit_us + miss_us, count), mean(static_cast<double>(hits), count), mean(hit_us, hits),
          mean(miss_us, count - hits)};
}

}  // namespace hexad::bench
