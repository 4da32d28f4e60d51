// Requests to files by a pool of threads with pread, pwrite and fdatasync: for machines where
// io_uring is refused. A caller of wait() executes its own requests that no pool thread has taken
// yet, so a lone blocking request does not change threads.
#pragma once

#include <memory>

#include "base/error.h"
#include "io/file_device.h"

namespace hexad::io {

// `threads` (> 0) bounds the requests in flight, besides those that waiting callers execute. Where
// the system refuses some of them there are fewer. Nothing is in flight when the queue is
// destroyed. Errors: it refuses all of them.
Result<std::unique_ptr<FileQueue>> make_thread_queue(int threads);

}  // namespace hexad::io
