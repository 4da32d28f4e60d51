// The Bloom filter of one part of a run: which keys are certainly not there (doc/format.md, "Run
// filter"). Ten bits a key, seven looked at: one absent key in a hundred passes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace hexad::kv {

// A filter for this many keys has about 16 KiB; the part of a run under one ends here.
inline constexpr std::size_t kRunFilterKeys = 13000;

class RunFilterBuilder {
 public:
  void add(std::string_view key);
  std::size_t count() const { return hashes_.size(); }
  // The filter's bytes; the builder is empty then.
  std::string finish();

 private:
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
