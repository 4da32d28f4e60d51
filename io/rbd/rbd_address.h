// Where an image of a Ceph cluster is: `rbd:POOL/IMAGE`, what is written where the path of a device
// goes (io/device_path.h).
//
//   rbd:POOL/IMAGE[@SNAPSHOT][?KEY=VALUE[&KEY=VALUE...]]
//
// Keys: `conf`, the file with the addresses of the monitors, and `id`, the user without "client.";
// without them, those that Ceph's programs take. `data_pool`: of an image that is created, the pool
// of its data, where names are in POOL; nothing to one that is there.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace hexad::io {

struct RbdAddress {
  std::string pool;
  std::string image;
  std::string snapshot;   // empty: the image itself
  std::string conf;       // empty: Ceph's usual places
  std::string user;       // empty: Ceph's own default
  std::string data_pool;  // empty: the image's own pool

  // Errors: kInvalidArgument.
  static Result<RbdAddress> parse(std::string_view text);
  // Those that say which cluster and as whom, as they are written behind a name: "?conf=F&id=U".
  std::string keys() const;
};

}  // namespace hexad::io
