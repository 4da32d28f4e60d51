// Which devices hold copies of the log, and how a set of copies is made whole.
#pragma once

#include <set>
#include <vector>

#include "base/error.h"
#include "core/counters.h"
#include "core/members.h"
#include "kv/log_area.h"
#include "kv/log_scan.h"
#include "kv/log_writer.h"

namespace hexad::core {

// m+1 usable devices: the fast ones first, then data devices by id; all there are when they are
// fewer. All copies have one size, so only areas of the size of the first count.
std::vector<DeviceId> choose_log_devices(const Members& members, std::uint32_t m);

// Writes every block between the trim point and the last block of `log` to every area that lacks
// it. `failed` gets the devices that did not take everything. Errors: the log cannot be read.
Status bring_log_up(const std::vector<kv::LogArea>& areas, const std::vector<DeviceId>& ids,
                    const kv::LogWriter& log, const Uuid& uuid, std::set<DeviceId>& failed);

// At opening: gives every area all blocks of the recovered chain, the areas that were not scanned
// included. `failed` as above. Errors: the log cannot be read.
Status copy_chain(const kv::LogScan& scan, const std::vector<kv::LogArea>& areas,
                  const std::vector<DeviceId>& ids, Counters& counters, std::set<DeviceId>& failed);

// Writes a fence durably to all its copies; returns the devices that failed.
std::set<DeviceId> write_fence(kv::PreparedBlock& fence, const Members& members);

}  // namespace hexad::core
