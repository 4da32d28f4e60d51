// A model for stores that are written to while something goes wrong: what each object may hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/core/faults/silent_disks.h"

namespace hexad::testing {

// What was acknowledged, and what may have happened beside: a name may hold any of its values.
class AttemptedObjects {
 public:
  void attempt(const std::string& name, std::uint64_t seed) { may_[name].insert(seed); }
  void acknowledge(const std::string& name, std::uint64_t seed) {
    may_[name] = {seed};
    there_.insert(name);
  }
  static std::string bytes(std::uint64_t seed) {
    return noise(seed % 3 == 0 ? 260'000 : 700 + 900 * (seed % 5), seed);
  }
  std::string check(Store& store) const {
    for (const auto& [name, seeds] : may_) {
      const Result<Bytes> found = store.get(kDefaultCollection, name);
      const bool never = !found.ok() && found.error().code == ErrorCode::kNotFound;
      if (never && !there_.contains(name)) continue;
      if (!found.ok()) return " " + name + ": " + found.error().to_string();
      const bool known = std::any_of(seeds.begin(), seeds.end(), [&](std::uint64_t seed) {
        return as_text(*found) == std::string_view(bytes(seed));
      });
      if (!known) return " " + name + ": other bytes";
    }
    return read_all(store);
  }

 private:
  std::map<std::string, std::set<std::uint64_t>> may_;
  std::set<std::string> there_;  // acknowledged
};

}  // namespace hexad::testing
