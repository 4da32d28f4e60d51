// Which devices hold copies of the log, and how a set of copies is made whole.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/space/members.h"
#include "core/stats/counters.h"
#include "kv/log/log_area.h"
#include "kv/log/log_scan.h"
#include "kv/log/log_writer.h"

namespace hexad::core {

// A device that may hold a copy.
struct LogCandidate {
  DeviceId id = 0;
  alloc::DeviceRole role = alloc::DeviceRole::kData;
  std::uint64_t log_size = 0;  // bytes of its log area; 0: none
  std::string domain = {};     // its failure domain; empty: its own
};

// The fast devices first, then data devices, each in the order given, at most m+1 of either, and
// of one failure domain at most `domain_cells`. All copies have one size: that of the first data
// device's area, for these are the copies that count: m+1 data devices hold the log, which a zone
// could have m+1 cells on (FD2 of alloc/failure_domains.h), or as many as there are when those are
// fewer (A9). So the loss of any data devices that the profile survives and of the whole fast tier
// at once leaves a copy.
std::vector<DeviceId> choose_log_devices(std::span<const LogCandidate> candidates, std::uint32_t m,
                                         std::uint32_t domain_cells);
// Of the usable members, but for `without`.
std::vector<DeviceId> choose_log_devices(const Members& members, std::uint32_t m,
                                         std::optional<DeviceId> without = {});

// Writes every block between the trim point and the last block of `log` to every area that lacks
// it; the same bytes to the same places however often it is called. `ids`: of the areas, at least
// one; those behind are read alone. `failed` gets the devices that did not take everything. Errors:
// the log cannot be read; a read or a write was refused (io/refused.h), and nothing is known of the
// rest.
Status resync_log_copies(const std::vector<kv::LogArea>& areas, const std::vector<DeviceId>& ids,
                         const kv::LogWriter& log, const Uuid& uuid, std::set<DeviceId>& failed);

// At opening: gives every area all blocks of the recovered chain, the areas that were not scanned
// included. `failed` and errors as above.
Status copy_chain(const kv::LogScan& scan, const std::vector<kv::LogArea>& areas,
                  const std::vector<DeviceId>& ids, Counters& counters, std::set<DeviceId>& failed);

// Writes a fence durably to all its copies; returns the devices that failed. `again`: sends those
// of the requests again that were refused (io/refused.h). Errors: its own.
using SendAgain = std::function<Status(io::IoBatch&)>;
Result<std::set<DeviceId>> write_fence(kv::PreparedBlock& fence, const Members& members,
                                       const SendAgain& again);

}  // namespace hexad::core
