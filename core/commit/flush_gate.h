// Which group waits for which flush: one flush per domain at a time, shared by all groups whose
// writes had completed when it began.
//
//   group 7  writes ---->| flush 1 ------->| durable
//   group 8     writes ------>|   waits    | flush 2 ------->| durable
//   group 9         writes -------->| waits|    (the same)   | durable
//
// Decides only: whoever is told to sends the flush and reports its end. Not thread-safe; the
// pipeline calls it under its lock.
//
// Invariants
//   G1  at most one flush per domain is under way
//   G2  a waiter is settled when, for each of its needs, a flush that began at or after its
//       arrival has ended; with flush_failed when one of them failed
//   G3  after a failed flush no flush of the domain begins again: who arrives fails at once (R11)
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/space/members.h"

namespace hexad::core {

// A flush of `domain`, sent to `through`, one of its devices.
struct FlushNeed {
  FlushDomain domain = 0;
  io::Device* through = nullptr;
};

// Something whose writes are complete and not durable yet. Stays where it is until settled.
struct FlushWaiter {
  std::size_t flushes_left = 0;
  bool flush_failed = false;
};

enum class FlushEnd : std::uint8_t { kDurable, kFailed };

class FlushGate {
 public:
  // Domains with higher numbers may come.
  explicit FlushGate(std::size_t domains) : domains_(domains) {}

  // The waiter's writes have completed; `needs` names a domain once. Returns the flushes that the
  // caller sends now. For the others one is under way already, and the next one covers the waiter.
  // Settled at once when nothing is left: flushes_left is 0.
  std::vector<FlushNeed> arrive(FlushWaiter& waiter, const std::vector<FlushNeed>& needs);

  struct Ended {
    std::vector<FlushWaiter*> settled;
    std::optional<FlushNeed> next;  // to be sent by the caller
  };
  // The flush of `domain` that was under way has ended, like that.
  Ended ended(FlushDomain domain, FlushEnd how);

 private:
  struct Domain {
    std::vector<FlushWaiter*> covered;  // by the flush under way; empty: none is
    std::vector<FlushWaiter*> waiting;  // for the next one
    io::Device* through = nullptr;      // of the one that came last to waiting
    bool poisoned = false;
  };
  std::vector<Domain> domains_;
};

}  // namespace hexad::core
