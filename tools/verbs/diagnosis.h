// What is wrong with a pool, the most urgent first, and what to type. Pure: from what `status` and
// `df` say, in their words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/api/types.h"

namespace hexad::tools {

enum class Urgency : std::uint8_t {
  kNow,    // the pool cannot be used as it is, or one more fault loses data
  kSoon,   // less redundancy or space than there should be, or a device that is going bad
  kLater,  // nothing is at risk
};
std::string_view to_string(Urgency urgency);  // "now", "soon", "later"

struct Advice {
  Urgency urgency = Urgency::kLater;
  std::string problem;  // subject, state, numbers
  std::string remedy;   // what to do, one sentence or two
  // To be typed as it stands, but for words in capitals; empty: no verb helps.
  std::string command;
};

struct PoolFacts {
  StoreStatus status;
  std::optional<Error> error;       // why the pool does not open; the status is then of its roots
  std::optional<SpaceUsage> space;  // of a pool that opens
  std::string pool;                 // as commands name it, one shell word
  bool held = false;                // another process has it open for writing, and has answered
};

// In order of urgency; of one urgency the pool itself first, then devices by their ids. Of a
// snapshot nothing is advised that would write there.
std::vector<Advice> diagnose(const PoolFacts& facts);

}  // namespace hexad::tools
