#include "io/rbd/rbd_group_members.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "io/rbd/rbd_error.h"

namespace hexad::io {

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

}  // namespace hexad::io
