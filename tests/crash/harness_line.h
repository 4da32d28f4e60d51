// The line that every harness prints, for doc/testing.md and `./run prove`, which adds them up:
// name=... seed=... states=... violations=0 secs=...
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tests/base/campaign.h"

namespace hexad::testing {

// From its construction to print().
class HarnessLine {
 public:
  explicit HarnessLine(std::string name) : name_(std::move(name)) {}

  void print(const std::vector<std::pair<std::string, std::uint64_t>>& counts) const {
    std::string line = "name=" + name_ + " seed=" + std::to_string(campaign_seed());
    for (const auto& [what, count] : counts) line += " " + what + "=" + std::to_string(count);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
    std::printf("%s secs=%.1f\n", line.c_str(), took.count());
    std::fflush(stdout);
  }

 private:
  const std::string name_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace hexad::testing
