// A store whose devices are a group of images of a Ceph cluster (RBD), which one address names, and
// snapshots of all of them as of one moment.
//
//   auto pool = hexad::expand_group({{"rbd:log/store@monday"}, {}});
//   auto store = hexad::Store::open(*pool, {.access = hexad::Access::kReadOnly});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/api/pool.h"

namespace hexad {

// Returns the description with the addresses of the images, where its only device is the address of
// a group: `rbd:POOL/GROUP`, or `rbd:POOL/GROUP@SNAPSHOT` for a snapshot that take_snapshot() has
// made. Any other description is returned as it is. An image goes before a group of its name.
//
// Cost: nothing where several devices are named, or one that is no image; else the cluster is
// asked.
//
// Errors: kNotFound (the group has no images, or no such snapshot), kInvalidArgument (no address),
// and those of librbd. A cluster that does not answer is none: who opens the store learns it.
Result<PoolDescription> expand_group(PoolDescription pool);

// A snapshot of the images of a store.
struct GroupSnapshot {
  std::string name;           // as in rbd:POOL/GROUP@NAME
  bool complete = false;      // all images of the store have it
  std::int64_t taken_at = 0;  // seconds since 1970, as the cluster had it
};

// Takes a snapshot of all images of a store, as of one moment, and returns its address:
// `rbd:POOL/GROUP@NAME`.
//
// What a process opens there, for reading only, is the store as a crash at that moment would have
// left it: all that was durable before the call is there. A process that has the store open for
// writing, on any host, goes on: no write of its begins while the snapshots are taken. `pool` names
// all devices of the store, images in one pool of one cluster. They are put into the RBD group
// `group`, unless they are in one already.
//
// Errors: kInvalidArgument (`name`, `group`; devices that are no images, or not in one pool),
// kAlreadyExists (a snapshot of that name; the group has other images), kBusy (the process that has
// the store does not answer), kUnavailable (devices are missing; the cluster does not answer), kIo.
Result<std::string> take_snapshot(const PoolDescription& pool, const std::string& name,
                                  const std::string& group);
// Returns the snapshots that take_snapshot() has made, the oldest first. Errors: as above.
Result<std::vector<GroupSnapshot>> list_snapshots(const PoolDescription& pool);
// Removes a snapshot from all images. Nobody may have it open any more: what is read of it then is
// not what it was. Errors: as above; kNotFound.
Status remove_snapshot(const PoolDescription& pool, const std::string& name);

}  // namespace hexad
