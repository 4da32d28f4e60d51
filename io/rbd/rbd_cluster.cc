#include "io/rbd/rbd_cluster.h"

#include <cerrno>

#include "io/rbd/rbd_error.h"

namespace hexad::io {

namespace {

struct Setting {
  const char* name;
  const char* value;
};

// A write that is answered is durable on the OSDs; whoever loses a lock is shut out first (TO4).
constexpr Setting kNeeded[] = {{"rbd_cache", "false"}, {"rbd_blocklist_on_break_lock", "true"}};
// Those that a version does not know are none that it would need.
constexpr Setting kSettings[] = {
    {"client_mount_timeout", "30"},
    // For a snapshot nobody is asked to stop writing: who takes it does not write (SG1). A client
    // that is gone would be waited for.
    {"rbd_default_snapshot_quiesce_mode", "skip"},
    // A library says what is wrong by its errors.
    {"log_to_stderr", "false"},
    {"err_to_stderr", "false"},
};

std::string subject_of(const RbdAddress& address) {
  return "cluster of " + (address.conf.empty() ? "ceph.conf" : address.conf);
}

// After an attempt to connect that has got no answer for so long that this is nothing beside it.
constexpr std::chrono::seconds kAgain{2};

Error connect_error(const RbdAddress& address, int number) {
  const std::string subject = subject_of(address) + ": cannot connect as client." +
                              (address.user.empty() ? "admin" : address.user);
  Error error = rbd_error(number, subject);
  if (number == ENOENT) {  // no keyring: nothing is wrong with the image
    error.code = ErrorCode::kInvalidArgument;
    error.hint = "Check the user (id=) and its keyring.";
  } else if (number == ETIMEDOUT) {
    error.code = ErrorCode::kUnavailable;
  }
  return error;
}

}  // namespace

Result<std::shared_ptr<RbdCluster>> RbdCluster::connect(const RbdLibrary& library,
                                                        const RbdAddress& address) {
  RbdLibrary::Handle handle = nullptr;
  const char* const user = address.user.empty() ? nullptr : address.user.c_str();
  if (const int rc = library.rados_create(&handle, user); rc < 0) {
    return rbd_error(-rc, subject_of(address));
  }
  // Taken down by its destructor from now on.
  const std::shared_ptr<RbdCluster> cluster(new RbdCluster(library, handle));
  const char* const conf = address.conf.empty() ? nullptr : address.conf.c_str();
  if (const int rc = library.rados_conf_read_file(handle, conf); rc < 0) {
    Error error = rbd_error(-rc, subject_of(address) + ": cannot be read");
    error.code = ErrorCode::kInvalidArgument;
    error.hint = "Name the cluster's conf: rbd:POOL/IMAGE?conf=FILE.";
    return error;
  }
  for (const Setting& setting : kNeeded) {
    if (const int rc = library.rados_conf_set(handle, setting.name, setting.value); rc < 0) {
      return rbd_error(-rc, subject_of(address) + ": cannot set " + setting.name);
    }
  }
  for (const Setting& setting : kSettings) {
    static_cast<void>(library.rados_conf_set(handle, setting.name, setting.value));
  }
  if (const int rc = library.rados_connect(handle); rc < 0) return connect_error(address, -rc);
  return cluster;
}

RbdCluster::~RbdCluster() {
  // A child has none of its threads.
  if (process_.in_child()) {
    static_cast<void>(writers_.release());  // its threads, too
  } else {
    library_.rados_shutdown(cluster_);
  }
}

RbdClusters::Known& RbdClusters::known(const RbdAddress& address) {
  const OsLock lock(mutex_);
  return known_[{address.conf, address.user}];
}

Result<std::shared_ptr<RbdCluster>> RbdClusters::of(const RbdAddress& address) {
  HEXAD_TRY_ASSIGN(const RbdLibrary* const library, RbdLibrary::get());
  Known& known = this->known(address);
  const OsLock lock(known.mutex);
  if (std::shared_ptr<RbdCluster> open = known.open.lock(); open != nullptr) return open;
  if (known.failed.has_value()) {
    if (std::chrono::steady_clock::now() - known.failed_at < kAgain) return *known.failed;
    known.failed.reset();
  }
  Result<std::shared_ptr<RbdCluster>> cluster = RbdCluster::connect(*library, address);
  if (cluster.ok()) {
    known.open = *cluster;
  } else if (cluster.error().code == ErrorCode::kUnavailable) {
    known.failed = cluster.error();
    known.failed_at = std::chrono::steady_clock::now();
  }
  return cluster;
}

Result<std::unique_ptr<RbdPool>> RbdPool::open(std::shared_ptr<RbdCluster> cluster,
                                               const std::string& name) {
  const RbdLibrary& library = cluster->library();
  RbdLibrary::Handle io = nullptr;
  if (const int rc = library.rados_ioctx_create(cluster->handle(), name.c_str(), &io); rc < 0) {
    Error error = rbd_error(-rc, "pool " + name);
    if (rc == -ENOENT) error.hint = "Make it: ceph osd pool create.";
    return error;
  }
  library.rados_set_pool_full_try(io);
  return std::unique_ptr<RbdPool>(new RbdPool(std::move(cluster), io));
}

RbdPool::~RbdPool() {
  if (!process_.in_child()) cluster_->library().rados_ioctx_destroy(io_);
}

}  // namespace hexad::io
