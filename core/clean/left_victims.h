// Pack stripes that the cleaner leaves alone, and when it looks at them again (CL3, CL8 of
// core/clean/cleaner.h). Lock: none; the cleaner has it through a step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "alloc/zone.h"
#include "core/stats/counters.h"
#include "io/clock.h"

namespace hexad::core {

class LeftVictims {
 public:
  // It was of no use, with so many bytes alive: it is left until that has changed.
  void leave(const alloc::Extent& stripe, std::uint64_t live, CounterId why);
  // In this step there is no run that is long enough for what is alive of it.
  void lack_room(const alloc::Extent& stripe) { no_room_.insert(name_of(stripe)); }
  bool any_without_room() const { return !no_room_.empty(); }
  void begin_step() { no_room_.clear(); }
  bool is_left(const alloc::Extent& stripe, std::uint64_t live) const;

  // CL8: why what could not be read may be tried again.
  struct Reasons {
    bool asked = false;        // by somebody: at once; else at most once in a while
    bool commit = false;       // one finds no space
    std::uint64_t healed = 0;  // cells, so far
    // A store has come to rest when so much had died.
    std::optional<std::uint64_t> rested;
  };
  // Whether it is; then those are not left any more.
  bool try_again(const Reasons& reasons, io::Nanos now);

 private:
  using Name = std::pair<alloc::ZoneId, std::uint32_t>;  // zone and first unit
  static Name name_of(const alloc::Extent& stripe) { return {stripe.zone, stripe.unit}; }
  struct Left {
    std::uint64_t live = 0;
    CounterId why = CounterId::kCleanNoGain;
  };

  std::map<Name, Left> left_;
  std::set<Name> no_room_;
  // When they were tried again last.
  std::uint64_t healed_ = 0;
  std::optional<std::uint64_t> rested_;
  std::optional<io::Nanos> tried_;
};

}  // namespace hexad::core
