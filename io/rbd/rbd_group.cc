#include "io/rbd/rbd_group.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "io/device_path.h"
#include "io/rbd/rbd_address.h"
#include "io/rbd/rbd_cluster.h"
#include "io/rbd/rbd_error.h"
#include "io/rbd/rbd_lockers.h"
#include "io/rbd/rbd_patience.h"
#include "io/rbd/rbd_settings.h"
#include "io/rbd/rbd_writers.h"

namespace hexad::io {

namespace {

// How long a writer may take for its snapshots, in milliseconds; it does not write meanwhile.
constexpr std::uint64_t kAnswerWithin = 60'000;

std::string address_of(const std::string& pool, const std::string& image,
                       const std::string& snapshot, const RbdAddress& like) {
  return std::string(kRbdPrefix) + pool + "/" + image + (snapshot.empty() ? "" : "@" + snapshot) +
         like.keys();
}

Status check_name(const std::string& name, const char* what) {
  const bool allowed = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (allowed && !name.empty() && name.size() <= 64) return {};
  return Error{ErrorCode::kInvalidArgument, "'" + name + "' cannot be the name of a " + what,
               "Choose up to 64 letters, digits, dots, hyphens and underscores."};
}

// An image that is open; locked when lock() says so.
class Image {
 public:
  // nullptr: there is none, or not that snapshot of it.
  static Result<std::unique_ptr<Image>> open(const RbdPool& pool, const std::string& name,
                                             const char* snapshot, bool to_write) {
    std::unique_ptr<Image> image(new Image(pool, name));
    const auto open = to_write ? image->library().rbd_open : image->library().rbd_open_read_only;
    const int rc = open(pool.handle(), name.c_str(), &image->handle_, snapshot);
    if (rc == 0) return image;
    image->handle_ = nullptr;
    if (rc == -ENOENT) return std::unique_ptr<Image>();
    return rbd_error(-rc, "cannot open the image " + name);
  }
  ~Image() {
    if (handle_ != nullptr) static_cast<void>(library().rbd_close(handle_));
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const std::string& name() const { return name_; }
  RbdLibrary::Handle handle() const { return handle_; }
  const RbdLibrary& library() const { return pool_.cluster()->library(); }

  Result<std::vector<GroupSnapshot>> snapshots() const {
    std::vector<RbdSnapshotEntry> entries(64);
    int count = static_cast<int>(entries.size());
    int rc = library().rbd_snap_list(handle_, entries.data(), &count);
    while (rc == -ERANGE) {
      entries.resize(static_cast<std::size_t>(count) + 16);
      count = static_cast<int>(entries.size());
      rc = library().rbd_snap_list(handle_, entries.data(), &count);
    }
    if (rc < 0) return rbd_error(-rc, name_ + ": its snapshots");
    std::vector<GroupSnapshot> found;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rc); ++i) {
      const std::string_view name = entries[i].name;
      if (!name.starts_with(kGroupSnapshot)) continue;
      timespec time{};
      static_cast<void>(library().rbd_snap_get_timestamp(handle_, entries[i].id, &time));
      found.push_back({std::string(name.substr(kGroupSnapshot.size())), 1, time.tv_sec});
    }
    library().rbd_snap_list_end(entries.data());
    return found;
  }

  // The group that it is in; "": none.
  Result<std::string> group() const {
    RbdGroupEntry entry{};
    const int rc = library().rbd_get_group(handle_, &entry, sizeof(entry));
    if (rc < 0) return rbd_error(-rc, name_ + ": its group");
    std::string name = entry.name == nullptr ? "" : entry.name;
    static_cast<void>(library().rbd_group_info_cleanup(&entry, sizeof(entry)));
    return name;
  }

  Result<RbdLockers> lockers() const {
    const std::uint64_t self = library().rados_get_instance_id(pool_.cluster()->handle());
    return find_lockers(library(), handle_, self, name_);
  }
  // Whether it is locked now; else another client has the lock.
  Result<bool> lock() const {
    const int rc = library().rbd_lock_acquire(handle_, kRbdLockExclusive);
    if (rc == 0) return true;
    if (rc == -EROFS || rc == -EBUSY || rc == -EAGAIN) return false;
    return rbd_error(-rc, name_ + ": cannot lock");
  }
  Status take(const std::string& snapshot) const {
    const int rc = library().rbd_snap_create(handle_, snapshot.c_str());
    if (rc == 0) return {};
    return rbd_error(-rc, name_ + ": cannot take the snapshot " + snapshot);
  }
  Status drop(const std::string& snapshot) const {
    const int rc = library().rbd_snap_remove(handle_, snapshot.c_str());
    if (rc == 0 || rc == -ENOENT) return {};
    return rbd_error(-rc, name_ + ": cannot remove the snapshot " + snapshot);
  }

 private:
  Image(const RbdPool& pool, std::string name) : pool_(pool), name_(std::move(name)) {}

  const RbdPool& pool_;
  const std::string name_;
  RbdLibrary::Handle handle_ = nullptr;
};

struct InGroup {
  std::string pool;
  std::string image;
};

// What a group has; nothing: there is no such group.
Result<std::optional<std::vector<InGroup>>> list_group(const RbdPool& pool,
                                                       const std::string& pool_name,
                                                       const std::string& group) {
  const RbdLibrary& library = pool.cluster()->library();
  std::vector<RbdGroupImage> entries(64);
  std::size_t count = entries.size();
  int rc = 0;
  for (;;) {
    rc = library.rbd_group_image_list(pool.handle(), group.c_str(), entries.data(),
                                      sizeof(RbdGroupImage), &count);
    if (rc != -ERANGE) break;
    entries.resize(count + 16);
    count = entries.size();
  }
  if (rc == -ENOENT) return std::optional<std::vector<InGroup>>();
  if (rc < 0) return rbd_error(-rc, "group " + pool_name + "/" + group);
  std::vector<InGroup> found;
  Status named;
  const std::int64_t own = library.rados_ioctx_get_id(pool.handle());
  for (std::size_t i = 0; i < count; ++i) {
    std::string name = pool_name;
    if (entries[i].pool != own) {
      char other[256] = {};
      const int length = library.rados_pool_reverse_lookup(pool.cluster()->handle(),
                                                           entries[i].pool, other, sizeof(other));
      if (length < 0) named = rbd_error(-length, "a pool of the group " + group);
      name = other;
    }
    found.push_back({std::move(name), entries[i].name});
  }
  static_cast<void>(
      library.rbd_group_image_list_cleanup(entries.data(), sizeof(RbdGroupImage), count));
  HEXAD_TRY(named);
  return std::optional(std::move(found));
}

// The images of one store.
class Images {
 public:
  static Result<std::vector<RbdAddress>> parse(const std::vector<std::string>& paths) {
    std::vector<RbdAddress> addresses;
    for (const std::string& path : paths) {
      if (!is_rbd_path(path)) {
        return Error{ErrorCode::kInvalidArgument,
                     path + " is no image of a Ceph cluster, and snapshots are the cluster's",
                     "Move it onto an image first: hexad device replace."};
      }
      HEXAD_TRY_ASSIGN(RbdAddress address, RbdAddress::parse(path));
      if (!address.snapshot.empty()) {
        return Error{ErrorCode::kInvalidArgument, path + " is a snapshot itself",
                     "Name the images without @."};
      }
      addresses.push_back(std::move(address));
    }
    if (addresses.empty()) return Error{ErrorCode::kInvalidArgument, "no images are given", ""};
    const RbdAddress& first = addresses.front();
    for (const RbdAddress& address : addresses) {
      if (address.pool == first.pool && address.conf == first.conf && address.user == first.user) {
        continue;
      }
      return Error{ErrorCode::kInvalidArgument,
                   "the images " + first.pool + "/" + first.image + " and " + address.pool + "/" +
                       address.image + " are not in one pool of one cluster, with one user",
                   "Snapshots of one moment are taken of images in one pool."};
    }
    return addresses;
  }

  static Result<std::unique_ptr<Images>> open(const std::vector<RbdAddress>& addresses,
                                              const std::shared_ptr<RbdCluster>& cluster) {
    std::unique_ptr<Images> all(new Images);
    all->address_ = addresses.front();
    HEXAD_TRY_ASSIGN(all->pool_, RbdPool::open(cluster, all->address_.pool));
    for (const RbdAddress& address : addresses) {
      HEXAD_TRY_ASSIGN(std::unique_ptr<Image> image,
                       Image::open(*all->pool_, address.image, nullptr, true));
      if (image == nullptr) {
        return rbd_error(ENOENT, "cannot open " + address.pool + "/" + address.image);
      }
      all->images_.push_back(std::move(image));
    }
    return all;
  }

  Result<std::vector<GroupSnapshot>> snapshots() const {
    std::map<std::string, GroupSnapshot> all;
    for (const auto& image : images_) {
      HEXAD_TRY_ASSIGN(const std::vector<GroupSnapshot> found, image->snapshots());
      for (const GroupSnapshot& one : found) {
        GroupSnapshot& sum = all.try_emplace(one.name, GroupSnapshot{one.name, 0, 0}).first->second;
        ++sum.images;
        sum.taken_at = std::max(sum.taken_at, one.taken_at);
      }
    }
    std::vector<GroupSnapshot> sorted;
    for (auto& [name, one] : all) sorted.push_back(std::move(one));
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.taken_at < b.taken_at; });
    return sorted;
  }

  // The name of the group that all of them are in then.
  Result<std::string> put_into_group(const std::string& wanted) const {
    std::string group;
    std::vector<const Image*> outside;
    for (const auto& image : images_) {
      HEXAD_TRY_ASSIGN(const std::string its, image->group());
      if (its.empty()) {
        outside.push_back(image.get());
      } else if (group.empty() || group == its) {
        group = its;
      } else {
        return Error{ErrorCode::kInvalidArgument,
                     "the images are in several groups: " + group + " and " + its,
                     "rbd group image remove " + address_.pool + "/" + its + " " + address_.pool +
                         "/" + image->name()};
      }
    }
    if (group.empty()) {
      group = wanted;
      HEXAD_TRY(make_group(group));
    }
    for (const Image* const image : outside) {
      const int rc = library().rbd_group_image_add(pool_->handle(), group.c_str(), pool_->handle(),
                                                   image->name().c_str());
      if (rc < 0 && rc != -EEXIST) {
        return rbd_error(-rc, "cannot put the image " + image->name() + " into the group " + group);
      }
    }
    return group;
  }

  Status take(const std::string& snapshot) const {
    HEXAD_TRY_ASSIGN(bool written, is_written());
    if (written) {
      HEXAD_TRY_ASSIGN(const std::optional<Status> answer, ask_writer(snapshot));
      if (answer.has_value()) return *answer;
      // It may have been dead, and the cluster has missed it by now.
      HEXAD_TRY_ASSIGN(written, is_written());
    }
    if (!written) {
      HEXAD_TRY_ASSIGN(const bool locked, lock_all());
      if (locked) return take_locked(snapshot);
    }
    HEXAD_TRY_ASSIGN(const RbdLockers lockers, images_.front()->lockers());
    return Error{ErrorCode::kBusy,
                 "the pool is open for writing by the client at " + lockers.to_string() +
                     ", which does not answer whether it has taken the snapshot",
                 "Look whether it is there: hexad snapshot-group ls. Or close the pool there."};
  }

  Result<bool> remove(const std::string& snapshot) const {
    bool any = false;
    for (const auto& image : images_) {
      HEXAD_TRY_ASSIGN(const std::vector<GroupSnapshot> found, image->snapshots());
      const bool has = std::any_of(found.begin(), found.end(), [&](const GroupSnapshot& one) {
        return std::string(kGroupSnapshot) + one.name == snapshot;
      });
      if (!has) continue;
      any = true;
      HEXAD_TRY(image->drop(snapshot));
    }
    return any;
  }

  const RbdAddress& address() const { return address_; }
  std::size_t count() const { return images_.size(); }

 private:
  Images() = default;
  const RbdLibrary& library() const { return pool_->cluster()->library(); }

  Status make_group(const std::string& group) const {
    HEXAD_TRY(check_name(group, "group"));
    HEXAD_TRY_ASSIGN(const std::unique_ptr<Image> image,
                     Image::open(*pool_, group, nullptr, false));
    if (image != nullptr) {
      return Error{ErrorCode::kInvalidArgument,
                   "a group " + group + " would not be found behind the image of that name",
                   "Name another one: --group NAME"};
    }
    const int rc = library().rbd_group_create(pool_->handle(), group.c_str());
    if (rc == 0) return {};
    if (rc != -EEXIST) {
      return rbd_error(-rc, "cannot make the group " + address_.pool + "/" + group);
    }
    HEXAD_TRY_ASSIGN(const auto has, list_group(*pool_, address_.pool, group));
    if (!has.has_value() || has->empty()) return {};
    return Error{ErrorCode::kAlreadyExists,
                 "the group " + address_.pool + "/" + group + " has other images, as " +
                     has->front().pool + "/" + has->front().image,
                 "Name another one: --group NAME"};
  }

  // By a client that the cluster has heard of lately.
  Result<bool> is_written() const {
    HEXAD_TRY_ASSIGN(const RbdLockers lockers, images_.front()->lockers());
    return std::any_of(lockers.owners.begin(), lockers.owners.end(),
                       [&](const auto& owner) { return lockers.is_alive(owner); });
  }

  // Whether all are locked now: then nobody can have the store.
  Result<bool> lock_all() const {
    for (const auto& image : images_) {
      HEXAD_TRY(check_rbd_settings(library(), image->handle(), address_, image->name()));
      HEXAD_TRY_ASSIGN(const bool locked, image->lock());
      if (!locked) return false;
    }
    return true;
  }

  Status take_locked(const std::string& snapshot) const {
    for (std::size_t i = 0; i < images_.size(); ++i) {
      Status taken = images_[i]->take(snapshot);
      if (taken.ok()) continue;
      while (i-- > 0) images_[i]->drop(snapshot).ignore();
      return taken;
    }
    return {};
  }

  // Nothing: nobody has answered.
  Result<std::optional<Status>> ask_writer(const std::string& snapshot) const {
    const Image& first = *images_.front();
    SnapshotRequest request;
    std::random_device random;
    request.nonce = std::to_string(random()) + "-" + std::to_string(random());
    request.name = snapshot;
    for (const auto& image : images_) {
      request.images.push_back(address_.pool + "/" + image->name());
    }
    const std::string text = request.encode();
    char* answers = nullptr;
    std::size_t size = 0;
    const int rc =
        library().rados_notify2(pool_->handle(), notified_object(first.name()).c_str(), text.data(),
                                static_cast<int>(text.size()), kAnswerWithin, &answers, &size);
    const std::vector<std::string> all = answers_in(std::string_view(answers, size));
    if (answers != nullptr) library().rados_buffer_free(answers);
    if (rc < 0 && rc != -ETIMEDOUT) return rbd_error(-rc, first.name() + ": cannot ask its writer");
    if (all.empty()) return std::optional<Status>();
    return std::optional<Status>(decode_answer(all.front()));
  }

  // The answers to a notification, as librados puts them: a number of (client, watch, bytes).
  static std::vector<std::string> answers_in(std::string_view bytes) {
    std::vector<std::string> found;
    const auto take_number = [&](auto& number) {
      if (bytes.size() < sizeof(number)) return false;
      std::memcpy(&number, bytes.data(), sizeof(number));
      bytes.remove_prefix(sizeof(number));
      return true;
    };
    std::uint32_t count = 0;
    if (!take_number(count)) return found;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint64_t client = 0;
      std::uint64_t watch = 0;
      std::uint32_t length = 0;
      if (!take_number(client) || !take_number(watch) || !take_number(length)) break;
      if (bytes.size() < length) break;
      if (length > 0) found.emplace_back(bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
    return found;
  }

  RbdAddress address_;  // of the first
  std::unique_ptr<RbdPool> pool_;
  std::vector<std::unique_ptr<Image>> images_;
};

// Opens the images and asks, on a thread that this one may leave.
template <typename Outcome>
Outcome ask_images(const std::vector<std::string>& paths, const std::string& what,
                   const std::function<Outcome(const Images& images)>& question) {
  HEXAD_TRY_ASSIGN(const std::vector<RbdAddress> addresses, Images::parse(paths));
  RbdClusters clusters;
  const Result<std::shared_ptr<RbdCluster>> cluster = clusters.of(addresses.front());
  if (!cluster.ok()) return cluster.error().with_context(paths.front());
  return ask_rbd<Outcome>(*cluster, what, kRbdLongPatience, [=, cluster = *cluster]() -> Outcome {
    HEXAD_TRY_ASSIGN(const std::unique_ptr<Images> images, Images::open(addresses, cluster));
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
  HEXAD_TRY_ASSIGN(const std::unique_ptr<Image> image,
                   Image::open(pool, address.image, nullptr, false));
  if (image != nullptr) return itself;
  const std::string snapshot =
      address.snapshot.empty() ? "" : std::string(kGroupSnapshot) + address.snapshot;
  std::vector<std::string> found;
  for (const InGroup& one : **group) {
    if (!snapshot.empty()) {
      HEXAD_TRY_ASSIGN(const std::unique_ptr<RbdPool> its, RbdPool::open(cluster, one.pool));
      HEXAD_TRY_ASSIGN(const std::unique_ptr<Image> has,
                       Image::open(*its, one.image, snapshot.c_str(), false));
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
               "Those that are there: hexad snapshot-group ls."};
}

Result<std::string> take_of(const Images& images, const std::string& name,
                            const std::string& group) {
  HEXAD_TRY_ASSIGN(const std::vector<GroupSnapshot> all, images.snapshots());
  for (const GroupSnapshot& one : all) {
    if (one.name != name) continue;
    return Error{ErrorCode::kAlreadyExists,
                 one.images == images.count()
                     ? "the snapshot " + name + " is there"
                     : "the snapshot " + name + " is there, of " + std::to_string(one.images) +
                           " of " + std::to_string(images.count()) + " images",
                 "Choose another name, or remove it: hexad snapshot-group rm."};
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
  HEXAD_TRY(check_name(name, "snapshot"));
  return ask_images<Result<std::string>>(
      paths, "cannot take the snapshot " + name,
      [=](const Images& images) { return take_of(images, name, group); });
}

Result<std::vector<GroupSnapshot>> list_group_snapshots(const std::vector<std::string>& paths) {
  return ask_images<Result<std::vector<GroupSnapshot>>>(
      paths, "cannot list the snapshots", [](const Images& images) { return images.snapshots(); });
}

Status remove_group_snapshot(const std::vector<std::string>& paths, const std::string& name) {
  HEXAD_TRY(check_name(name, "snapshot"));
  return ask_images<Status>(
      paths, "cannot remove the snapshot " + name, [name](const Images& images) -> Status {
        HEXAD_TRY_ASSIGN(const bool any, images.remove(std::string(kGroupSnapshot) + name));
        if (any) return {};
        return Error{ErrorCode::kNotFound, "there is no snapshot " + name,
                     "Those that are there: hexad snapshot-group ls."};
      });
}

}  // namespace hexad::io
