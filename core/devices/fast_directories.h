// Directories on fast devices, of which an open store gets one more, or another one for one that
// goes. What is there are copies: of the log, which is copied there at once, and of the index,
// which an opening makes. AD8 and AD9 of doc/invariants.md#devices-more-and-less.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "base/ids.h"
#include "core/devices/device_parts.h"
#include "core/devices/openings.h"
#include "kv/index.h"

namespace hexad::core {

class FastDirectories {
 public:
  // `own`: where the index of the store is. All outlive it.
  FastDirectories(const DeviceParts& parts, Openings& openings, kv::IndexHome& indexes,
                  std::string own);

  // Without slashes at its end, so that what is in it has one name.
  static std::string tidy(std::string directory);
  // Errors: kAlreadyExists (an index is there that this store could not use).
  Status check_no_foreign_index(const std::string& directory, Openings::Turn turn);
  // Makes it where it is not there, and has the device added whose log is to be in it.
  Result<DeviceId> in(const std::string& directory, Openings::Turn turn,
                      const std::function<Result<DeviceId>(const std::string& log)>& add);

 private:
  const DeviceParts& parts_;
  Openings& openings_;
  kv::IndexHome& indexes_;
  const std::string own_;
};

}  // namespace hexad::core
