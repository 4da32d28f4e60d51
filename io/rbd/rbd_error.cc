#include "io/rbd/rbd_error.h"

#include <cerrno>

#include "io/os_error.h"

namespace hexad::io {

Error rbd_error(int number, const std::string& subject) {
  if (number == ESHUTDOWN) return fenced_error(subject);
  Error error = os_error(number, subject);
  switch (number) {
    case ENOENT:
      error.hint = "Check pool and image: rbd ls POOL.";
      break;
    case ENOSPC:
      error.hint = "Add OSDs to the cluster, or free space in it: ceph df.";
      break;
    case EDQUOT:
      error.hint = "Raise the pool's quota: ceph osd pool set-quota.";
      break;
    case EROFS:
      error.hint = "Open the store for reading only.";
      break;
    case EBUSY:
      error.hint = "Stop who uses the image: rbd status POOL/IMAGE.";
      break;
    case EACCES:
    case EPERM:
      error.hint =
          "Give the user the capability: profile rbd, for monitors and for the pool's OSDs.";
      break;
    case ETIMEDOUT:
      error.hint = "Check that the cluster's monitors can be reached: ceph -s.";
      break;
    default:
      break;
  }
  return error;
}

bool is_loss_of_lock(int number) { return number == ESHUTDOWN || number == EROFS; }

}  // namespace hexad::io
