// The functions of librbd and librados that devices on images take, found at run time: hexad is
// built without Ceph, and runs without it where no device is an image. Their names, arguments and
// meanings are those of Ceph's C interface, which has kept them since version 12.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"

namespace hexad::io {

// Beside what Ceph declares itself.
struct RbdWatcher {
  char* address;
  std::int64_t client;
  std::uint64_t cookie;
};
struct RbdOption {
  char* name;
  char* value;
  int source;
};
struct RbdSnapshotEntry {
  std::uint64_t id;
  std::uint64_t size;
  const char* name;
};
struct RbdGroupEntry {  // of an image: the group that it is in
  char* name;
  std::int64_t pool;
};
struct RbdGroupImage {
  char* name;
  std::int64_t pool;
  int state;
};
struct RbdImageInfo {
  std::uint64_t size;
  std::uint64_t object_size;
  std::uint64_t objects;
  int order;
  char prefix[24];
  std::int64_t parent_pool;
  char parent_name[96];
};
inline constexpr int kRbdLockExclusive = 0;
inline constexpr int kRbdOptionFormat = 0;
inline constexpr int kRbdOptionFeatures = 1;
inline constexpr int kRbdOptionDataPool = 10;
inline constexpr std::uint64_t kRbdFeatureExclusiveLock = std::uint64_t{1} << 2;

struct RbdLibrary {
  using Handle = void*;  // of a cluster, a pool, an image, options, a completion
  using Callback = void (*)(Handle completion, void* argument);
  // Of a watched object: somebody has sent `bytes`, and waits for rados_notify_ack().
  using Notified = void (*)(void* argument, std::uint64_t notification, std::uint64_t watch,
                            std::uint64_t sender, void* bytes, std::size_t length);
  using WatchFailed = void (*)(void* argument, std::uint64_t watch, int error);

  // Those of the system. Loaded by the first call that succeeds, and kept. Any thread.
  // Errors: kUnsupported (not installed, or too old).
  static Result<const RbdLibrary*> get();
  // By the names of their files, for tests of what is missing.
  static Result<std::unique_ptr<RbdLibrary>> load(const std::string& librados,
                                                  const std::string& librbd);

  int (*rados_create)(Handle* cluster, const char* user);
  int (*rados_conf_read_file)(Handle cluster, const char* path);
  int (*rados_conf_set)(Handle cluster, const char* option, const char* value);
  int (*rados_connect)(Handle cluster);
  void (*rados_shutdown)(Handle cluster);
  std::uint64_t (*rados_get_instance_id)(Handle cluster);
  int (*rados_ioctx_create)(Handle cluster, const char* pool, Handle* io);
  int (*rados_ioctx_create2)(Handle cluster, std::int64_t pool, Handle* io);
  void (*rados_ioctx_destroy)(Handle io);
  // Of the map that the client has: the stripe of an erasure-coded pool, 0 of another one.
  int (*rados_ioctx_pool_required_alignment2)(Handle io, std::uint64_t* bytes);
  void (*rados_set_pool_full_try)(Handle io);
  std::int64_t (*rados_ioctx_get_id)(Handle io);
  int (*rados_pool_reverse_lookup)(Handle cluster, std::int64_t id, char* name, std::size_t size);
  int (*rados_remove)(Handle io, const char* object);
  int (*rados_watch3)(Handle io, const char* object, std::uint64_t* watch, Notified notified,
                      WatchFailed failed, std::uint32_t seconds, void* argument);
  int (*rados_unwatch2)(Handle io, std::uint64_t watch);
  int (*rados_watch_flush)(Handle cluster);
  int (*rados_notify2)(Handle io, const char* object, const char* bytes, int length,
                       std::uint64_t milliseconds, char** answers, std::size_t* answers_size);
  int (*rados_notify_ack)(Handle io, const char* object, std::uint64_t notification,
                          std::uint64_t watch, const char* bytes, int length);
  void (*rados_buffer_free)(char* bytes);

  void (*rbd_image_options_create)(Handle* options);
  void (*rbd_image_options_destroy)(Handle options);
  int (*rbd_image_options_set_string)(Handle options, int name, const char* value);
  int (*rbd_image_options_set_uint64)(Handle options, int name, std::uint64_t value);
  int (*rbd_create4)(Handle io, const char* name, std::uint64_t size, Handle options);
  int (*rbd_remove)(Handle io, const char* name);
  int (*rbd_open)(Handle io, const char* name, Handle* image, const char* snapshot);
  int (*rbd_open_read_only)(Handle io, const char* name, Handle* image, const char* snapshot);
  int (*rbd_close)(Handle image);
  int (*rbd_resize)(Handle image, std::uint64_t size);
  int (*rbd_get_size)(Handle image, std::uint64_t* size);
  int (*rbd_get_features)(Handle image, std::uint64_t* features);
  int (*rbd_stat)(Handle image, RbdImageInfo* info, std::size_t info_size);
  std::int64_t (*rbd_get_data_pool_id)(Handle image);
  int (*rbd_snap_create)(Handle image, const char* name);
  int (*rbd_snap_remove)(Handle image, const char* name);
  int (*rbd_snap_list)(Handle image, RbdSnapshotEntry* entries, int* most);
  void (*rbd_snap_list_end)(RbdSnapshotEntry* entries);
  int (*rbd_snap_get_timestamp)(Handle image, std::uint64_t id, timespec* time);
  int (*rbd_get_group)(Handle image, RbdGroupEntry* group, std::size_t entry_size);
  int (*rbd_group_info_cleanup)(RbdGroupEntry* group, std::size_t entry_size);
  int (*rbd_group_create)(Handle io, const char* name);
  int (*rbd_group_image_add)(Handle group_io, const char* group, Handle image_io,
                             const char* image);
  int (*rbd_group_image_list)(Handle io, const char* group, RbdGroupImage* images,
                              std::size_t entry_size, std::size_t* most);
  int (*rbd_group_image_list_cleanup)(RbdGroupImage* images, std::size_t entry_size,
                                      std::size_t count);
  int (*rbd_lock_acquire)(Handle image, int mode);
  int (*rbd_lock_break)(Handle image, int mode, const char* owner);
  // What holds locks of the image: texts of three kinds, each ended by a 0. Their number.
  ssize_t (*rbd_list_lockers)(Handle image, int* exclusive, char* tag, std::size_t* tag_size,
                              char* clients, std::size_t* clients_size, char* cookies,
                              std::size_t* cookies_size, char* addresses,
                              std::size_t* addresses_size);
  int (*rbd_metadata_set)(Handle image, const char* key, const char* value);
  int (*rbd_metadata_get)(Handle image, const char* key, char* value, std::size_t* size);
  int (*rbd_watchers_list)(Handle image, RbdWatcher* watchers, std::size_t* most);
  void (*rbd_watchers_list_cleanup)(RbdWatcher* watchers, std::size_t count);
  int (*rbd_config_image_list)(Handle image, RbdOption* options, int* most);
  void (*rbd_config_image_list_cleanup)(RbdOption* options, int count);
  int (*rbd_aio_create_completion)(void* argument, Callback callback, Handle* completion);
  ssize_t (*rbd_aio_get_return_value)(Handle completion);
  void (*rbd_aio_release)(Handle completion);
  int (*rbd_aio_read)(Handle image, std::uint64_t offset, std::size_t length, char* into,
                      Handle completion);
  int (*rbd_aio_write)(Handle image, std::uint64_t offset, std::size_t length, const char* from,
                       Handle completion);
  int (*rbd_aio_writev)(Handle image, const iovec* from, int count, std::uint64_t offset,
                        Handle completion);
  int (*rbd_aio_discard)(Handle image, std::uint64_t offset, std::uint64_t length,
                         Handle completion);
  int (*rbd_aio_flush)(Handle image, Handle completion);
};

}  // namespace hexad::io
