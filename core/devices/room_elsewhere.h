// Whether the other devices of a store can take what is on one of them: zones need so many devices
// in so many failure domains, and slabs that are free there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"

namespace hexad::core {

class RoomElsewhere {
 public:
  // All outlive it.
  RoomElsewhere(const StoreShape& shape, const Members& members, const Space& space)
      : shape_(shape), members_(members), space_(space) {}

  // Free slabs where those of this device may go, `others` and `more` on a new one in its domain.
  struct SlabsFor {
    std::uint64_t free = 0;
    bool in_domain_alone = false;  // those of its failure domain
  };
  SlabsFor slabs_for(DeviceId id, const std::vector<const Member*>& others,
                     std::uint64_t more) const;
  // Whether zones can be made of what is left without a device. `have` and `these`: what a message
  // says around the number. Errors: kNoSpace.
  Status check_spread(DeviceId without, const std::vector<const Member*>& left,
                      const std::string& have, const std::string& these) const;
  // Whether a device may be drained, as far as that can be told: this is necessary, and says
  // nothing of how slabs are spread. Errors: kNoSpace.
  Status may_drain(DeviceId id) const;

 private:
  std::string add_first(const std::string& where) const;

  const StoreShape& shape_;
  const Members& members_;
  const Space& space_;
};

}  // namespace hexad::core
