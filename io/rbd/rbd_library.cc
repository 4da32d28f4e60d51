#include "io/rbd/rbd_library.h"

#include <dlfcn.h>

#include <utility>

#include "base/os_mutex.h"

namespace hexad::io {

namespace {

// The file stays loaded: Ceph's threads may be anywhere in it until the process ends.
Result<void*> open_library(const std::string& name) {
  if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) {
    return library;
  }
  const char* const reason = dlerror();
  return Error{ErrorCode::kUnsupported,
               "devices on images of Ceph need " + name + ", which cannot be loaded: " +
                   (reason == nullptr ? "no reason is given" : reason),
               "apt-get install librbd1"};
}

template <typename Function>
Status find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function != nullptr) return {};
  return Error{ErrorCode::kUnsupported,
               std::string("this version of Ceph's libraries has no ") + name,
               "Install that of Ceph 14 or later: apt-get install librbd1"};
}

}  // namespace

Result<std::unique_ptr<RbdLibrary>> RbdLibrary::load(const std::string& librados,
                                                     const std::string& librbd) {
  HEXAD_TRY_ASSIGN(void* const rados, open_library(librados));
  HEXAD_TRY_ASSIGN(void* const rbd, open_library(librbd));
  auto found = std::make_unique<RbdLibrary>();
#define HEXAD_FIND(library, name) HEXAD_TRY(find(library, #name, found->name))
  HEXAD_FIND(rados, rados_create);
  HEXAD_FIND(rados, rados_conf_read_file);
  HEXAD_FIND(rados, rados_conf_set);
  HEXAD_FIND(rados, rados_connect);
  HEXAD_FIND(rados, rados_shutdown);
  HEXAD_FIND(rados, rados_get_instance_id);
  HEXAD_FIND(rados, rados_ioctx_create);
  HEXAD_FIND(rados, rados_ioctx_create2);
  HEXAD_FIND(rados, rados_ioctx_destroy);
  HEXAD_FIND(rados, rados_ioctx_pool_required_alignment2);
  HEXAD_FIND(rados, rados_set_pool_full_try);
  HEXAD_FIND(rados, rados_ioctx_get_id);
  HEXAD_FIND(rados, rados_pool_reverse_lookup);
  HEXAD_FIND(rados, rados_remove);
  HEXAD_FIND(rados, rados_watch3);
  HEXAD_FIND(rados, rados_unwatch2);
  HEXAD_FIND(rados, rados_watch_flush);
  HEXAD_FIND(rados, rados_notify2);
  HEXAD_FIND(rados, rados_notify_ack);
  HEXAD_FIND(rados, rados_buffer_free);
  HEXAD_FIND(rbd, rbd_image_options_create);
  HEXAD_FIND(rbd, rbd_image_options_destroy);
  HEXAD_FIND(rbd, rbd_image_options_set_string);
  HEXAD_FIND(rbd, rbd_image_options_set_uint64);
  HEXAD_FIND(rbd, rbd_create4);
  HEXAD_FIND(rbd, rbd_remove);
  HEXAD_FIND(rbd, rbd_open);
  HEXAD_FIND(rbd, rbd_open_read_only);
  HEXAD_FIND(rbd, rbd_close);
  HEXAD_FIND(rbd, rbd_resize);
  HEXAD_FIND(rbd, rbd_get_size);
  HEXAD_FIND(rbd, rbd_get_features);
  HEXAD_FIND(rbd, rbd_stat);
  HEXAD_FIND(rbd, rbd_get_data_pool_id);
  HEXAD_FIND(rbd, rbd_snap_create);
  HEXAD_FIND(rbd, rbd_snap_remove);
  HEXAD_FIND(rbd, rbd_snap_list);
  HEXAD_FIND(rbd, rbd_snap_list_end);
  HEXAD_FIND(rbd, rbd_snap_get_timestamp);
  HEXAD_FIND(rbd, rbd_get_group);
  HEXAD_FIND(rbd, rbd_group_info_cleanup);
  HEXAD_FIND(rbd, rbd_group_create);
  HEXAD_FIND(rbd, rbd_group_image_add);
  HEXAD_FIND(rbd, rbd_group_image_list);
  HEXAD_FIND(rbd, rbd_group_image_list_cleanup);
  HEXAD_FIND(rbd, rbd_lock_acquire);
  HEXAD_FIND(rbd, rbd_lock_break);
  HEXAD_FIND(rbd, rbd_list_lockers);
  HEXAD_FIND(rbd, rbd_metadata_set);
  HEXAD_FIND(rbd, rbd_metadata_get);
  HEXAD_FIND(rbd, rbd_watchers_list);
  HEXAD_FIND(rbd, rbd_watchers_list_cleanup);
  HEXAD_FIND(rbd, rbd_config_image_list);
  HEXAD_FIND(rbd, rbd_config_image_list_cleanup);
  HEXAD_FIND(rbd, rbd_aio_create_completion);
  HEXAD_FIND(rbd, rbd_aio_get_return_value);
  HEXAD_FIND(rbd, rbd_aio_release);
  HEXAD_FIND(rbd, rbd_aio_read);
  HEXAD_FIND(rbd, rbd_aio_write);
  HEXAD_FIND(rbd, rbd_aio_writev);
  HEXAD_FIND(rbd, rbd_aio_discard);
  HEXAD_FIND(rbd, rbd_aio_flush);
#undef HEXAD_FIND
  return found;
}

Result<const RbdLibrary*> RbdLibrary::get() {
  static OsMutex mutex;
  static const RbdLibrary* loaded = nullptr;  // guarded by it
  const OsLock lock(mutex);
  if (loaded == nullptr) {
    HEXAD_TRY_ASSIGN(auto library, load("librados.so.2", "librbd.so.1"));
    loaded = library.release();
  }
  return loaded;
}

}  // namespace hexad::io
