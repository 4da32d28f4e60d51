// Room below the devices. A device may be a sparse file, of a copy that left out zeros, say, on a
// file system that fills up: then writes to places that have been written before fail for lack of
// space. What the store needs to go on, and to take deletes, gets its room at every opening for
// writing; zones get theirs when they are made (Space::prepare_zone()).
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "core/space/members.h"
#include "core/space/space.h"

namespace hexad::core {

// Of all usable devices: labels, roots, the log and the headers of the slabs in use; then the rest
// of those slabs, where there is room for it. Content stays as it is. Returns notes for status():
// what cannot be promised. Errors: kNoSpace (of the first kind), kExhausted.
Result<std::vector<std::string>> reserve_room_below(const Members& members, Space& space,
                                                    std::uint64_t unit);

// One note for all devices whose room nobody promises, one at least: a pool has many images.
// `and_so` ends it.
std::string unreserved_note(const std::vector<std::string>& paths, const std::string& and_so);

// Of one device, attached and not yet usable: all of that. Errors: as above.
Status reserve_room_below(const Members& members, Space& space, DeviceId device,
                          std::uint64_t unit);

}  // namespace hexad::core
