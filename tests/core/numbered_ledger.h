// What writers were told of numbered commits, and what a store has to have of them afterwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "core/store.h"
#include "tests/core/noise.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {

// Inline, in the log, in a cell, in a stripe of its own.
inline std::string numbered_value(std::uint64_t number) {
  constexpr std::size_t kSizes[] = {60, 900, 5000, 40'000};
  return noise(kSizes[number % 4] + number % 7, number);
}

// Writers with names of their own, each one commit at a time: what was acknowledged of a name is
// its last value, or the one after that, which was in flight.
class NumberedLedger {
 public:
  static constexpr std::uint64_t kWriters = 4;
  static constexpr std::uint64_t kNames = 60;  // a multiple of kWriters

  static std::string name_of(std::uint64_t number) { return std::to_string(number % kNames); }
  static Transaction transaction(std::uint64_t number) {
    Transaction t;
    t.put(kDefaultCollection, name_of(number), numbered_value(number));
    return t;
  }

  void acknowledge(std::uint64_t number) {
    std::uint64_t& last = last_[name_of(number)];
    last = std::max(last, number);
    ++count_;
  }
  std::uint64_t count() const { return count_; }

  // Nothing, or the first thing that is not as it was acknowledged.
  std::string difference(Store& store) const {
    for (const auto& [name, number] : last_) {
      const std::string found = get(store, name);
      if (found != numbered_value(number) && found != numbered_value(number + kNames)) {
        return "object " + name + " of commit " + std::to_string(number) + ": " +
               found.substr(0, 99);
      }
    }
    return "";
  }

 private:
  std::map<std::string, std::uint64_t> last_;  // by name, the last number that was acknowledged
  std::uint64_t count_ = 0;
};

}  // namespace hexad::testing
