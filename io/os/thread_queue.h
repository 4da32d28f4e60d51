// Requests to files by threads with pread, pwrite and fdatasync: for machines where io_uring is
// refused. Each device has threads of its own, so that one that does not answer holds none that
// another needs. A caller of wait() executes its own requests that no thread has taken yet, so a
// lone blocking request does not change threads. Nor does a lone read that may be left (run_for()),
// where it is direct or the page cache has its bytes.
#pragma once

#include <memory>

#include "io/os/file_device.h"

namespace hexad::io {

// `threads` (> 0) bounds the requests to each device that are in the kernel at once, besides those
// that waiting callers execute. A device gets its first thread when it is opened, which fails where
// the system refuses that, and others when there is work for them and the system gives them.
// Nothing is in flight when the queue is destroyed.
std::unique_ptr<FileQueue> make_thread_queue(int threads);

}  // namespace hexad::io
