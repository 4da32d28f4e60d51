#include "io/rbd/rbd_group.h"

#include <functional>
#include <memory>
#include <utility>

#include "io/device_path.h"
#include "io/rbd/rbd_address.h"
#include "io/rbd/rbd_cluster.h"
#include "io/rbd/rbd_group_members.h"
#include "io/rbd/rbd_image.h"
#include "io/rbd/rbd_images.h"
#include "io/rbd/rbd_patience.h"

namespace hexad::io {

namespace {

std::string address_of(const std::string& pool, const std::string& image,
                       const std::string& snapshot, const RbdAddress& like) {
  return std::string(kRbdPrefix) + pool + "/" + image + (snapshot.empty() ? "" : "@" + snapshot) +
         like.keys();
}

// Opens the images and asks, on a thread that this one may leave.
template <typename Outcome>
Outcome ask_images(const std::vector<std::string>& paths, const std::string& what,
                   const std::function<Outcome(const RbdImages& images)>& question) {
  HEXAD_TRY_ASSIGN(const std::vector<RbdAddress> addresses, RbdImages::parse(paths));
  RbdClusters clusters;
  const Result<std::shared_ptr<RbdCluster>> cluster = clusters.of(addresses.front());
  if (!cluster.ok()) return cluster.error().with_context(paths.front());
  return ask_rbd<Outcome>(*cluster, what, kRbdLongPatience, [=, cluster = *cluster]() -> Outcome {
    HEXAD_TRY_ASSIGN(const std::unique_ptr<RbdImages> images, RbdImages::open(addresses, cluster));
    return question(*images);
  });
}

// images_of_group(), of an address in a cluster that can be asked.
Result<std::vector<std::string>> find_images(const std::string& path, const RbdAddress& address,
                                             const std::shared_ptr<RbdCluster>& cluster) {
  const std::vector<std::string> itself = {path};
  const Result<std::unique_ptr<RbdPool>> opened = RbdPool::open(cluster, address.pool);
  if (!opened.ok()) return itself;
  const RbdPool& pool = **opened;
  const auto group = list_group(pool, address.pool, address.image);
  if (!group.ok() || !group->has_value()) return itself;
  HEXAD_TRY_ASSIGN(const std::unique_ptr<RbdImage> image,
                   RbdImage::open(pool, address.image, nullptr, OpenMode::kReadOnly));
  if (image != nullptr) return itself;
  const std::string snapshot =
      address.snapshot.empty() ? "" : std::string(kGroupSnapshot) + address.snapshot;
  std::vector<std::string> found;
  for (const InGroup& one : **group) {
    if (!snapshot.empty()) {
      HEXAD_TRY_ASSIGN(const std::unique_ptr<RbdPool> its, RbdPool::open(cluster, one.pool));
      HEXAD_TRY_ASSIGN(const std::unique_ptr<RbdImage> has,
                       RbdImage::open(*its, one.image, snapshot.c_str(), OpenMode::kReadOnly));
      if (has == nullptr) continue;
    }
    found.push_back(address_of(one.pool, one.image, snapshot, address));
  }
  if (!found.empty()) return found;
  if ((*group)->empty()) {
    return Error{ErrorCode::kNotFound, path + ": the group has no images",
                 "rbd group image add " + address.pool + "/" + address.image + " POOL/IMAGE"};
  }
  return Error{ErrorCode::kNotFound,
               path + ": no image of the group has the snapshot " + address.snapshot,
               "Those that are there: hexad snapshot-group ls POOL."};
}

Result<std::string> take_of(const RbdImages& images, const std::string& name,
                            const std::string& group) {
  HEXAD_TRY_ASSIGN(const std::vector<GroupSnapshot> all, images.snapshots());
  for (const GroupSnapshot& one : all) {
    if (one.name != name) continue;
    return Error{ErrorCode::kAlreadyExists,
                 one.images == images.count()
                     ? "the snapshot " + name + " is there"
                     : "the snapshot " + name + " is there, of " + std::to_string(one.images) +
                           " of " + std::to_string(images.count()) + " images",
                 "Choose another name, or remove it: hexad snapshot-group rm POOL NAME."};
  }
  HEXAD_TRY_ASSIGN(const std::string in, images.put_into_group(group));
  HEXAD_TRY(images.take(std::string(kGroupSnapshot) + name));
  return address_of(images.address().pool, in, name, images.address());
}

}  // namespace

Result<std::vector<std::string>> images_of_group(const std::string& path) {
  const std::vector<std::string> itself = {path};
  if (!is_rbd_path(path)) return itself;
  HEXAD_TRY_ASSIGN(const RbdAddress address, RbdAddress::parse(path));
  RbdClusters clusters;
  const Result<std::shared_ptr<RbdCluster>> cluster = clusters.of(address);
  if (!cluster.ok()) return itself;
  using Found = Result<std::vector<std::string>>;
  Found found =
      ask_rbd<Found>(*cluster, path + ": cannot tell what it is", kRbdPatience,
                     [=, cluster = *cluster] { return find_images(path, address, cluster); });
  if (!found.ok() && found.error().code == ErrorCode::kUnavailable) return itself;
  return found;
}

Result<std::string> take_group_snapshot(const std::vector<std::string>& paths,
                                        const std::string& name, const std::string& group) {
  HEXAD_TRY(check_rbd_name(name, "snapshot"));
  return ask_images<Result<std::string>>(
      paths, "cannot take the snapshot " + name,
      [=](const RbdImages& images) { return take_of(images, name, group); });
}

Result<std::vector<GroupSnapshot>> list_group_snapshots(const std::vector<std::string>& paths) {
  return ask_images<Result<std::vector<GroupSnapshot>>>(
      paths, "cannot list the snapshots",
      [](const RbdImages& images) { return images.snapshots(); });
}

Status remove_group_snapshot(const std::vector<std::string>& paths, const std::string& name) {
  HEXAD_TRY(check_rbd_name(name, "snapshot"));
  return ask_images<Status>(
      paths, "cannot remove the snapshot " + name, [name](const RbdImages& images) -> Status {
        HEXAD_TRY_ASSIGN(const bool any, images.remove(std::string(kGroupSnapshot) + name));
        if (any) return {};
        return Error{ErrorCode::kNotFound, "there is no snapshot " + name,
                     "Those that are there: hexad snapshot-group ls POOL."};
      });
}

}  // namespace hexad::io
