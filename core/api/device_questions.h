// Whether devices of a store may be taken away: answers that are computed from its status alone,
// and change nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "core/api/types.h"

namespace hexad {

// Whether devices may be taken away, and what is left of the store meanwhile.
struct DeviceAnswer {
  bool allowed = false;                // they may
  std::string reason;                  // a clause or two: why, or why not
  std::string hint;                    // what to do instead, or what to see to; may be empty
  bool readable = false;               // everything can be read while they are away
  bool writable = false;               // also at an opening for writing without an explicit word
  std::uint32_t faults_tolerated = 0;  // how many more data devices may be lost without losing data
  // Others that count as taken away with them: one flush domain is one failure domain.
  std::vector<DeviceId> together;
};

// Who has the store while devices are taken away.
enum class StoreUse : std::uint8_t {
  kNobody,  // it is closed, or open for reading only
  kWriter,  // a process has it open for writing
};

// Answers whether devices may be taken away for a while, all at once, with the store readable and
// writable meanwhile.
//
// `status`: that of Store::status() or inspect(). `ids`: data and fast devices; those that are away
// already change nothing. `pool`: the pool as a word of a command, for hints. A device that has
// been away is taken in again by the next opening for writing, and given what it missed.
//
// Errors: kInvalidArgument (no ids), kNotFound (the store has no such device).
Result<DeviceAnswer> can_offline(const StoreStatus& status, std::span<const DeviceId> ids,
                                 StoreUse use, const std::string& pool = "POOL");

// Returns the failure domains that may be lost now, with all devices in each, one at a time: those
// of which a store that is as `status` says survives the loss. Names in order; one of which every
// device is lost already is not among them. None where the store has no failure domains.
std::vector<std::string> survivable_domains(const StoreStatus& status);

// Answers whether devices may be taken away for good (Store::remove_device()): fast ones, and data
// devices that have been drained, on which nothing is left. Then what is said of the store is so
// with them gone. Else the hint says what has to be done before, and what is said of the store is
// so while they are just away.
//
// Arguments and errors: those of can_offline().
Result<DeviceAnswer> can_remove(const StoreStatus& status, std::span<const DeviceId> ids,
                                StoreUse use, const std::string& pool = "POOL");

}  // namespace hexad
