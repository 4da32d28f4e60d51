// Connections to Ceph clusters. All devices of a system in the same cluster have one: it is one
// client there, and whoever breaks the lock of one of its images shuts it out of all of them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/os_mutex.h"
#include "io/fork_mark.h"
#include "io/rbd/rbd_address.h"
#include "io/rbd/rbd_library.h"
#include "io/rbd/rbd_writers.h"

namespace hexad::io {

class RbdCluster {
 public:
  // Errors: kInvalidArgument, kNotFound (no conf, no such user), kUnavailable (does not answer),
  // kIo.
  static Result<std::shared_ptr<RbdCluster>> connect(const RbdLibrary& library,
                                                     const RbdAddress& address);
  ~RbdCluster();
  RbdCluster(const RbdCluster&) = delete;
  RbdCluster& operator=(const RbdCluster&) = delete;

  const RbdLibrary& library() const { return library_; }
  RbdLibrary::Handle handle() const { return cluster_; }
  // Calls that nobody waits for any more, and that go on (io/rbd/rbd_patience.h).
  std::size_t late() const { return late_; }
  void one_is_late() { ++late_; }
  void one_is_no_longer_late() { --late_; }
  // The images that are open for writing.
  RbdWriters& writers() const { return *writers_; }

 private:
  RbdCluster(const RbdLibrary& library, RbdLibrary::Handle cluster)
      : library_(library),
        cluster_(cluster),
        writers_(std::make_unique<RbdWriters>(library, cluster)) {}

  const RbdLibrary& library_;
  const RbdLibrary::Handle cluster_;
  std::unique_ptr<RbdWriters> writers_;
  ForkMark process_;  // whose threads it has
  std::atomic<std::size_t> late_ = 0;
};

// Those of a system. Any thread; to connect to one keeps nobody from another.
class RbdClusters {
 public:
  // The one that devices have which are open, or else a new one. One that could not be reached is
  // not tried again for a moment: an opening asks for many images. Errors: those of connect(),
  // kUnsupported (no librbd).
  Result<std::shared_ptr<RbdCluster>> of(const RbdAddress& address);

 private:
  struct Known {
    OsMutex mutex;
    std::weak_ptr<RbdCluster> open HEXAD_GUARDED_BY(mutex);
    std::optional<Error> failed HEXAD_GUARDED_BY(mutex);
    std::chrono::steady_clock::time_point failed_at HEXAD_GUARDED_BY(mutex);
  };
  Known& known(const RbdAddress& address);

  OsMutex mutex_;
  // They stay.
  std::map<std::pair<std::string, std::string>, Known> known_ HEXAD_GUARDED_BY(mutex_);
};

// A pool of a cluster, in which requests that find no space fail and do not wait for it.
class RbdPool {
 public:
  // Errors: kNotFound, kIo.
  static Result<std::unique_ptr<RbdPool>> open(std::shared_ptr<RbdCluster> cluster,
                                               const std::string& name);
  ~RbdPool();
  RbdPool(const RbdPool&) = delete;
  RbdPool& operator=(const RbdPool&) = delete;

  const std::shared_ptr<RbdCluster>& cluster() const { return cluster_; }
  RbdLibrary::Handle handle() const { return io_; }

 private:
  RbdPool(std::shared_ptr<RbdCluster> cluster, RbdLibrary::Handle io)
      : cluster_(std::move(cluster)), io_(io) {}

  const std::shared_ptr<RbdCluster> cluster_;
  const RbdLibrary::Handle io_;
  ForkMark process_;
};

}  // namespace hexad::io
