#include "io/rbd/rbd_images.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string_view>
#include <utility>

#include "io/device_path.h"
#include "io/rbd/rbd_error.h"
#include "io/rbd/rbd_group_members.h"
#include "io/rbd/rbd_lockers.h"
#include "io/rbd/rbd_settings.h"
#include "io/rbd/rbd_writers.h"

namespace hexad::io {

namespace {

// How long a writer may take for its snapshots, in milliseconds; it does not write meanwhile.
constexpr std::uint64_t kAnswerWithin = 60'000;

// The answers to a notification, as librados puts them: a number of (client, watch, bytes).
std::vector<std::string> answers_in(std::string_view bytes) {
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

}  // namespace

Status check_rbd_name(const std::string& name, const char* what) {
  const bool allowed = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (allowed && !name.empty() && name.size() <= 64) return {};
  return Error{ErrorCode::kInvalidArgument, "'" + name + "' cannot be the name of a " + what,
               "Choose up to 64 letters, digits, dots, hyphens and underscores."};
}

Result<std::vector<RbdAddress>> RbdImages::parse(const std::vector<std::string>& paths) {
  std::vector<RbdAddress> addresses;
  for (const std::string& path : paths) {
    if (!is_rbd_path(path)) {
      return Error{ErrorCode::kInvalidArgument,
                   path + " is no image of a Ceph cluster, and snapshots are the cluster's",
                   "Move it onto an image first: hexad device replace POOL ID NEW."};
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

Result<std::unique_ptr<RbdImages>> RbdImages::open(const std::vector<RbdAddress>& addresses,
                                                   const std::shared_ptr<RbdCluster>& cluster) {
  std::unique_ptr<RbdImages> all(new RbdImages);
  all->address_ = addresses.front();
  HEXAD_TRY_ASSIGN(all->pool_, RbdPool::open(cluster, all->address_.pool));
  for (const RbdAddress& address : addresses) {
    HEXAD_TRY_ASSIGN(std::unique_ptr<RbdImage> image,
                     RbdImage::open(*all->pool_, address.image, nullptr, OpenMode::kReadWrite));
    if (image == nullptr) {
      return rbd_error(ENOENT, "cannot open " + address.pool + "/" + address.image);
    }
    all->images_.push_back(std::move(image));
  }
  return all;
}

Result<std::vector<GroupSnapshot>> RbdImages::snapshots() const {
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

Result<std::string> RbdImages::put_into_group(const std::string& wanted) const {
  std::string group;
  std::vector<const RbdImage*> outside;
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
  for (const RbdImage* const image : outside) {
    const int rc = library().rbd_group_image_add(pool_->handle(), group.c_str(), pool_->handle(),
                                                 image->name().c_str());
    if (rc < 0 && rc != -EEXIST) {
      return rbd_error(-rc, "cannot put the image " + image->name() + " into the group " + group);
    }
  }
  return group;
}

Status RbdImages::take(const std::string& snapshot) const {
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
               "Look whether it is there: hexad snapshot-group ls POOL. Or close the pool there."};
}

Result<bool> RbdImages::remove(const std::string& snapshot) const {
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

Status RbdImages::make_group(const std::string& group) const {
  HEXAD_TRY(check_rbd_name(group, "group"));
  HEXAD_TRY_ASSIGN(const std::unique_ptr<RbdImage> image,
                   RbdImage::open(*pool_, group, nullptr, OpenMode::kReadOnly));
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

Result<bool> RbdImages::is_written() const {
  HEXAD_TRY_ASSIGN(const RbdLockers lockers, images_.front()->lockers());
  return std::any_of(lockers.owners.begin(), lockers.owners.end(),
                     [&](const auto& owner) { return lockers.is_alive(owner); });
}

Result<bool> RbdImages::lock_all() const {
  for (const auto& image : images_) {
    HEXAD_TRY(check_rbd_settings(library(), image->handle(), address_, image->name()));
    HEXAD_TRY_ASSIGN(const bool locked, image->lock());
    if (!locked) return false;
  }
  return true;
}

Status RbdImages::take_locked(const std::string& snapshot) const {
  for (std::size_t i = 0; i < images_.size(); ++i) {
    Status taken = images_[i]->take(snapshot);
    if (taken.ok()) continue;
    while (i-- > 0) images_[i]->drop(snapshot).ignore();
    return taken;
  }
  return {};
}

Result<std::optional<Status>> RbdImages::ask_writer(const std::string& snapshot) const {
  const RbdImage& first = *images_.front();
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

}  // namespace hexad::io
