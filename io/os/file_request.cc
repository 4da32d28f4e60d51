#include "io/os/file_request.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/units.h"
#include "io/os/file_device.h"
#include "io/os_error.h"

namespace hexad::io {

namespace {

// Linux moves at most 2 GiB less a page at once.
constexpr std::uint64_t kLargestTransfer = 1_GiB;
// Of what the kernel could not do just then. No pause: who has the bytes knows how long it may
// wait (io/refused.h).
constexpr int kMostTries = 100;

Status transfer(const IoRequest& request, int fd) {
  std::uint64_t moved = 0;
  int tries = 0;
  while (moved < request.length) {
    const iovec part{request.data + moved, std::min(request.length - moved, kLargestTransfer)};
    const auto offset = static_cast<off_t>(request.offset + moved);
    const bool at_once = request.op == IoOp::kWrite && request.mode == WriteMode::kDurable &&
                         !flushes_apart(request);
    const int flags = at_once ? RWF_DSYNC : 0;
    const ssize_t rc = request.op == IoOp::kRead ? preadv2(fd, &part, 1, offset, 0)
                                                 : pwritev2(fd, &part, 1, offset, flags);
    if (rc < 0) {
      if (errno == EINTR || (errno == EAGAIN && ++tries < kMostTries)) continue;
      return request_error(request, errno);
    }
    if (rc == 0) return short_request_error(request, moved);
    moved += static_cast<std::uint64_t>(rc);
  }
  return {};
}

}  // namespace

Status execute_request(const IoRequest& request) {
  const int fd = static_cast<const FileDevice*>(request.device)->fd();
  switch (request.op) {
    case IoOp::kRead:
      return transfer(request, fd);
    case IoOp::kWrite:
      HEXAD_TRY(transfer(request, fd));
      if (!flushes_apart(request)) return {};
      while (fdatasync(fd) != 0) {
        if (errno != EINTR) return own_flush_error(request, errno);
      }
      return {};
    case IoOp::kFlush:
      while (fdatasync(fd) != 0) {
        if (errno != EINTR) return request_error(request, errno);
      }
      return {};
    case IoOp::kDiscard:
      while (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(request.offset),
                       static_cast<off_t>(request.length)) != 0) {
        if (is_refused_discard(errno)) return {};
        if (errno != EINTR) return request_error(request, errno);
      }
      return {};
  }
  return {};
}

bool read_from_cache(const IoRequest& request) {
  if (request.op != IoOp::kRead || request.device->direct()) return false;
  const iovec part{request.data, request.length};
  const int fd = static_cast<const FileDevice*>(request.device)->fd();
  const ssize_t rc = preadv2(fd, &part, 1, static_cast<off_t>(request.offset), RWF_NOWAIT);
  return rc >= 0 && static_cast<std::uint64_t>(rc) == request.length;
}

}  // namespace hexad::io
