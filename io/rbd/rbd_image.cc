#include "io/rbd/rbd_image.h"

#include <time.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "io/rbd/rbd_error.h"

namespace hexad::io {

Result<std::unique_ptr<RbdImage>> RbdImage::open(const RbdPool& pool, const std::string& name,
                                                 const char* snapshot, OpenMode mode) {
  std::unique_ptr<RbdImage> image(new RbdImage(pool, name));
  const RbdLibrary& library = image->library();
  const auto open = mode == OpenMode::kReadWrite ? library.rbd_open : library.rbd_open_read_only;
  const int rc = open(pool.handle(), name.c_str(), &image->handle_, snapshot);
  if (rc == 0) return image;
  image->handle_ = nullptr;
  if (rc == -ENOENT) return std::unique_ptr<RbdImage>();
  return rbd_error(-rc, "cannot open the image " + name);
}

RbdImage::~RbdImage() {
  if (handle_ != nullptr) static_cast<void>(library().rbd_close(handle_));
}

Result<std::vector<GroupSnapshot>> RbdImage::snapshots() const {
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

Result<std::string> RbdImage::group() const {
  RbdGroupEntry entry{};
  const int rc = library().rbd_get_group(handle_, &entry, sizeof(entry));
  if (rc < 0) return rbd_error(-rc, name_ + ": its group");
  std::string name = entry.name == nullptr ? "" : entry.name;
  static_cast<void>(library().rbd_group_info_cleanup(&entry, sizeof(entry)));
  return name;
}

Result<RbdLockers> RbdImage::lockers() const {
  const std::uint64_t self = library().rados_get_instance_id(pool_.cluster()->handle());
  return find_lockers(library(), handle_, self, name_);
}

Result<bool> RbdImage::lock() const {
  const int rc = library().rbd_lock_acquire(handle_, kRbdLockExclusive);
  if (rc == 0) return true;
  if (rc == -EROFS || rc == -EBUSY || rc == -EAGAIN) return false;
  return rbd_error(-rc, name_ + ": cannot lock");
}

Status RbdImage::take(const std::string& snapshot) const {
  const int rc = library().rbd_snap_create(handle_, snapshot.c_str());
  if (rc == 0) return {};
  return rbd_error(-rc, name_ + ": cannot take the snapshot " + snapshot);
}

Status RbdImage::drop(const std::string& snapshot) const {
  const int rc = library().rbd_snap_remove(handle_, snapshot.c_str());
  if (rc == 0 || rc == -ENOENT) return {};
  return rbd_error(-rc, name_ + ": cannot remove the snapshot " + snapshot);
}

}  // namespace hexad::io
