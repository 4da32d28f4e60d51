// The images of one store, for what is done to all of them: snapshots as of one moment.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/rbd/rbd_address.h"
#include "io/rbd/rbd_cluster.h"
#include "io/rbd/rbd_group.h"
#include "io/rbd/rbd_image.h"

namespace hexad::io {

// Up to 64 letters, digits, dots, hyphens and underscores. `what`: "snapshot", "group". Errors:
// kInvalidArgument.
Status check_rbd_name(const std::string& name, const char* what);

// Its calls wait for the cluster (io/rbd/rbd_patience.h). One thread at a time.
class RbdImages {
 public:
  // Addresses in one pool of one cluster. Errors: kInvalidArgument.
  static Result<std::vector<RbdAddress>> parse(const std::vector<std::string>& paths);
  static Result<std::unique_ptr<RbdImages>> open(const std::vector<RbdAddress>& addresses,
                                                 const std::shared_ptr<RbdCluster>& cluster);

  const RbdAddress& address() const { return address_; }  // of the first
  std::size_t count() const { return images_.size(); }
  // Those that any of them has, in order of time.
  Result<std::vector<GroupSnapshot>> snapshots() const;
  // The name of the group that all of them are in then: that in which one is already, else
  // `wanted`.
  Result<std::string> put_into_group(const std::string& wanted) const;
  // By whoever writes the store, or by this client while nobody does. Errors: kBusy.
  Status take(const std::string& snapshot) const;
  // Whether any had it.
  Result<bool> remove(const std::string& snapshot) const;

 private:
  RbdImages() = default;
  const RbdLibrary& library() const { return pool_->cluster()->library(); }

  Status make_group(const std::string& group) const;
  // By a client that the cluster has heard of lately.
  Result<bool> is_written() const;
  // Whether all are locked now: then nobody can have the store.
  Result<bool> lock_all() const;
  Status take_locked(const std::string& snapshot) const;
  // Nothing: nobody has answered.
  Result<std::optional<Status>> ask_writer(const std::string& snapshot) const;

  RbdAddress address_;
  std::unique_ptr<RbdPool> pool_;
  std::vector<std::unique_ptr<RbdImage>> images_;
};

}  // namespace hexad::io
