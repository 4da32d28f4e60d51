// What a group of RBD has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/rbd/rbd_cluster.h"

namespace hexad::io {

struct InGroup {
  std::string pool;
  std::string image;
};

// Nothing: there is no such group. Waits for the cluster.
Result<std::optional<std::vector<InGroup>>> list_group(const RbdPool& pool,
                                                       const std::string& pool_name,
                                                       const std::string& group);

}  // namespace hexad::io
