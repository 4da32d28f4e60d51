// Images of a cluster that belong together: what a group of RBD has, and snapshots of all of them
// as of one moment.
//
// Such a snapshot is one of each image, with a name that begins with kGroupSnapshot. Snapshots that
// Ceph takes of a group are no use here: for those it takes the images' locks, which a writer keeps
// (decision 077).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace hexad::io {

// Before the name of a snapshot, at each image.
inline constexpr std::string_view kGroupSnapshot = "hexad.";

// The addresses of the images that `path` stands for: of all in the group, where it is the address
// of one, with the snapshot that it names; else itself. An image goes before a group of its name.
// Errors: kNotFound (no image of the group has the snapshot, or there are no images), and those of
// librbd. A cluster that cannot be asked is no error: `path` is itself.
Result<std::vector<std::string>> images_of_group(const std::string& path);

struct GroupSnapshot {
  std::string name;
  std::size_t images = 0;     // that have it
  std::int64_t taken_at = 0;  // seconds since 1970
};

// Of these images, addresses in one pool of one cluster.
//
// Takes a snapshot of all of them as of one moment, whether a process has them open for writing, on
// any host, or none. They are put into a group first: that in which they are, else `group`. Returns
// the address of the snapshot. Errors: kInvalidArgument (names; images of several pools, or
// groups), kAlreadyExists (the snapshot), kBusy (a process that does not answer), kUnavailable, and
// others.
Result<std::string> take_group_snapshot(const std::vector<std::string>& paths,
                                        const std::string& name, const std::string& group);
// In order of time.
Result<std::vector<GroupSnapshot>> list_group_snapshots(const std::vector<std::string>& paths);
// Of all images that have it. Errors: kNotFound (none has).
Status remove_group_snapshot(const std::vector<std::string>& paths, const std::string& name);

}  // namespace hexad::io
