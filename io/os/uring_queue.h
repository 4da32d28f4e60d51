// Requests to files by io_uring: one ring for all devices of a system, one io_uring_enter for each
// batch. How callers share the work of reaping is written in uring_parts.h.
#pragma once

#include <memory>

#include "base/error.h"
#include "io/os/file_device.h"

namespace hexad::io {

struct UringOptions {
  unsigned in_flight = 512;  // requests given to the kernel at once; the others queue up here
  unsigned registered_files = 128;  // devices whose descriptors the ring keeps ready
  // How long one system call submits and waits for several requests.
  Nanos together_limit = 10'000'000;
};

// Nothing is in flight when the queue is destroyed.
// Errors: kUnsupported (the kernel has no io_uring, or refuses it), kIo.
Result<std::unique_ptr<FileQueue>> make_uring_queue(UringOptions options = {});

}  // namespace hexad::io
