// The bytes of a device that is replaced while it answers, to the one that takes its place.
// doc/invariants.md#coming-back
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "alloc/device_layout.h"
#include "alloc/zone.h"
#include "base/error.h"
#include "core/api/options.h"
#include "core/space/space.h"
#include "io/executor.h"

namespace hexad::core {

// A device that was a member until this opening, which does without it. Nobody writes to it.
struct ReplacedDevice {
  ReplacedDevice() = default;
  ReplacedDevice(ReplacedDevice&&) = default;
  ReplacedDevice& operator=(ReplacedDevice&&) = default;
  // One that has not answered yet is closed when it has.
  ~ReplacedDevice();

  std::unique_ptr<io::Device> device;  // null: there is none
  alloc::DeviceLayout layout;
};

struct DeviceCopy {
  std::uint64_t bytes = 0;            // that were copied
  std::vector<alloc::Extent> unread;  // units that the old one did not give: zeros on the new one
};

// Copies every unit that lives on the device of this number from `from` to `to`, in the order of
// their places, and makes it durable (BK7). Nothing refers to `to` yet.
// Errors: kClosed (Replacement::progress), those of writing.
Result<DeviceCopy> copy_device(Space& space, const ReplacedDevice& from, const Member& to,
                               const Replacement& replacement, io::Executor& executor);

}  // namespace hexad::core
