// Connections to Ceph clusters. All devices of a system in the same cluster have one: it is one
// client there, and whoever breaks the lock of one of its images shuts it out of all of them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "io/fork_mark.h"
#include "io/rbd/rbd_address.h"
#include "io/rbd/rbd_library.h"

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

 private:
  RbdCluster(const RbdLibrary& library, RbdLibrary::Handle cluster)
      : library_(library), cluster_(cluster) {}

  const RbdLibrary& library_;
  const RbdLibrary::Handle cluster_;
  ForkMark process_;  // whose threads it has
};

// Those of a system. Any thread.
class RbdClusters {
 public:
  // The one that devices have which are open, or else a new one. Errors: those of connect(),
  // kUnsupported (no librbd).
  Result<std::shared_ptr<RbdCluster>> of(const RbdAddress& address);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::weak_ptr<RbdCluster>> open_;  // guarded by it
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

  const RbdCluster& cluster() const { return *cluster_; }
  RbdLibrary::Handle handle() const { return io_; }

 private:
  RbdPool(std::shared_ptr<RbdCluster> cluster, RbdLibrary::Handle io)
      : cluster_(std::move(cluster)), io_(io) {}

  const std::shared_ptr<RbdCluster> cluster_;
  const RbdLibrary::Handle io_;
  ForkMark process_;
};

}  // namespace hexad::io
