// What the cluster has set for an image or its pool, which goes before what a client has set.
#pragma once

#include <string>

#include "base/error.h"
#include "io/rbd/rbd_address.h"
#include "io/rbd/rbd_library.h"

namespace hexad::io {

// Errors: kUnsupported (a cache is on, so that an answer would not mean durable; or whoever loses
// its lock is not shut out), those of rbd_error().
Status check_rbd_settings(const RbdLibrary& library, RbdLibrary::Handle image,
                          const RbdAddress& address, const std::string& subject);

}  // namespace hexad::io
