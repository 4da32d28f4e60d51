// Labels and roots of all devices of an open store, looked at and put right
// (core/check/header_check.h says by which rules).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/error.h"
#include "core/api/types.h"
#include "core/check/header_check.h"
#include "core/membership/membership.h"
#include "core/membership/silent_devices.h"
#include "core/space/members.h"

namespace hexad::core {

class PoolHeaders {
 public:
  // All outlive it. `membership`: null when the store is read-only. `mended`: labels that the
  // opening has put right.
  PoolHeaders(Members& members, Membership* membership, const SilentDevices& silence,
              const std::vector<Finding>& mended)
      : members_(members), membership_(membership), silence_(silence), mended_(mended) {}

  // Of all devices in use. kMended: HD1 and HD2. Returns how many slots were bad, labels that the
  // opening has put right among them, of which one caller is told. `find`: told of each;
  // `note_silent`: devices that do not answer. Any thread. Waits for devices.
  Result<std::uint64_t> look(BadHeaders bad_headers, const std::function<void(Finding)>& find,
                             const std::function<void(DeviceId)>& note_silent);

 private:
  Status write_over_bad_roots(const std::vector<const Member*>& members,
                              std::vector<CheckedHeaders>& checked);

  Members& members_;
  Membership* const membership_;
  const SilentDevices& silence_;
  const std::vector<Finding>& mended_;
  std::atomic<bool> mended_told_{false};
};

}  // namespace hexad::core
