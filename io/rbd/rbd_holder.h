// Who has an image's lock, and taking it from them.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "io/rbd/rbd_cluster.h"
#include "io/system.h"

namespace hexad::io {

// Of the image at `path`, an address; one that the cluster has not missed yet although it is gone
// has it, too. Errors: as RbdDevice::open().
Result<std::optional<Holder>> find_rbd_holder(const std::string& path, RbdClusters& clusters);

// Whoever has the image's lock is put on the cluster's blocklist, and loses the lock then: the
// cluster takes nothing from this client any more, for any image. Nothing happens where nobody has
// it. Errors: as RbdDevice::open(); kInvalidArgument (a user who may not).
Status shut_out_of_rbd(const std::string& path, RbdClusters& clusters);

}  // namespace hexad::io
