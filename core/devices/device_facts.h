// What can be said of the devices of a store, and of one of them.
#pragma once

#include <string>
#include <vector>

#include "alloc/label.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"

namespace hexad::core {

// For messages, with its path. Precondition: the store has, or had, such a device.
std::string describe_device(const Members& members, DeviceId id);
// Errors: kNotFound (it is no device of the store, or no more).
Status check_has(const Members& members, DeviceId id);
// What every data device has in common, from a label of one. Errors: none is in use.
Result<alloc::Label> data_label(const Members& members);
// Of a store without parity whose data devices all say of themselves that they are redundant. Where
// its user has said it of some, that word is also of those that come.
bool all_redundant_themselves(const StoreShape& shape, const Members& members);
// AD5: it is draining, and nothing is on it that anybody could miss.
bool is_emptied(const Members& members, const Space& space, DeviceId id);

// Data devices of the store but for that one; `pick`: those that count.
template <typename Pick>
std::vector<const Member*> other_data_devices(const Members& members, DeviceId id,
                                              const Pick& pick) {
  std::vector<const Member*> found;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    const bool data = member.role == alloc::DeviceRole::kData && !members.is_removed(i);
    if (data && member.id != id && pick(member)) found.push_back(&member);
  }
  return found;
}

}  // namespace hexad::core
