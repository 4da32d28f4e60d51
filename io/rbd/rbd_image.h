// An image that is asked for what belongs to it, beside whoever has it as a device: snapshots, its
// group, who has it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/rbd/rbd_cluster.h"
#include "io/rbd/rbd_group.h"
#include "io/rbd/rbd_library.h"
#include "io/rbd/rbd_lockers.h"
#include "io/system.h"

namespace hexad::io {

// Open until it is destroyed; locked when lock() says so. Its calls wait for the cluster
// (io/rbd/rbd_patience.h). One thread at a time.
class RbdImage {
 public:
  // Null: there is none, or not that snapshot of it. `snapshot` may be null. `pool` outlives it.
  static Result<std::unique_ptr<RbdImage>> open(const RbdPool& pool, const std::string& name,
                                                const char* snapshot, OpenMode mode);
  ~RbdImage();
  RbdImage(const RbdImage&) = delete;
  RbdImage& operator=(const RbdImage&) = delete;

  const std::string& name() const { return name_; }
  RbdLibrary::Handle handle() const { return handle_; }

  // Those of which this image has its part (kGroupSnapshot).
  Result<std::vector<GroupSnapshot>> snapshots() const;
  // The group that it is in; "": none.
  Result<std::string> group() const;
  // Other clients that have it.
  Result<RbdLockers> lockers() const;
  // Whether it is locked now; else another client has the lock.
  Result<bool> lock() const;
  Status take(const std::string& snapshot) const;
  // One that is not there is no error.
  Status drop(const std::string& snapshot) const;

 private:
  RbdImage(const RbdPool& pool, std::string name) : pool_(pool), name_(std::move(name)) {}
  const RbdLibrary& library() const { return pool_.cluster()->library(); }

  const RbdPool& pool_;
  const std::string name_;
  RbdLibrary::Handle handle_ = nullptr;
};

}  // namespace hexad::io
