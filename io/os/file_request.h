// One request to a file or raw device by pread, pwrite, fdatasync and fallocate.
#pragma once

#include "io/device.h"

namespace hexad::io {

// Executes one request to a FileDevice here and now, whole, however often the kernel transfers
// less or is interrupted. Checks nothing (D1). Any thread. Errors: those of os_error().
Status execute_request(const IoRequest& request);

// Executes a read of bytes that the page cache has, without waiting for the device. Checks nothing.
// False: it does not have all of them, or the device has no page cache, or it is no read.
bool read_from_cache(const IoRequest& request);

}  // namespace hexad::io
