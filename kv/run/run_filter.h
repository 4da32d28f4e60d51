// The Bloom filter of one part of a run: which keys are certainly not there (doc/format.md, "Run
// filter"). Seven bits are looked at: one absent key in a hundred passes where there are ten a key,
// one in 1400 where there are 16. The bytes of a filter say nothing of how many there are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace hexad::kv {

// A filter for this many keys has about 16 or 26 KiB; the part of a run under one ends here.
inline constexpr std::size_t kRunFilterKeys = 13000;

// Bits a key. A look-up asks all runs, but one that is there is seldom asked in vain: so what the
// largest one lets pass counts once, and what the others do, together, several times.
enum class RunFilterBits : std::uint8_t { kOfLargest = 10, kUsual = 16 };

class RunFilterBuilder {
 public:
  explicit RunFilterBuilder(RunFilterBits bits = RunFilterBits::kOfLargest) : bits_(bits) {}

  void add(std::string_view key);
  std::size_t count() const { return hashes_.size(); }
  // The filter's bytes; the builder is empty then.
  std::string finish();

 private:
  const RunFilterBits bits_;
  std::vector<std::uint64_t> hashes_;
};

class RunFilter {
 public:
  // Any bytes but none are a filter. Errors: kCorruption.
  static Result<RunFilter> parse(std::string bytes);
  // False: no such key. Cost: one hash, seven bits.
  bool may_contain(std::string_view key) const;
  std::uint64_t memory() const { return sizeof(*this) + bits_.capacity(); }

 private:
  std::string bits_;
};

}  // namespace hexad::kv
