#include "io/rbd/rbd_settings.h"

#include <cerrno>
#include <string_view>
#include <vector>

#include "io/rbd/rbd_error.h"

namespace hexad::io {

namespace {

struct Needed {
  std::string_view option;
  std::string_view value;
  const char* otherwise;
};
constexpr const char* kNotDurable = "a write that is answered would not be durable";
constexpr const char* kNotShutOut = "whoever loses its lock could go on writing";
constexpr Needed kNeeded[] = {
    {"rbd_cache", "false", kNotDurable},
    {"rbd_persistent_cache_mode", "disabled", kNotDurable},
    {"rbd_blocklist_on_break_lock", "true", kNotShutOut},
    {"rbd_blacklist_on_break_lock", "true", kNotShutOut},  // before Ceph 16
};

}  // namespace

Status check_rbd_settings(const RbdLibrary& library, RbdLibrary::Handle image,
                          const RbdAddress& address, const std::string& subject) {
  std::vector<RbdOption> options(256);
  int count = static_cast<int>(options.size());
  int rc = library.rbd_config_image_list(image, options.data(), &count);
  if (rc == -ERANGE) {
    options.resize(static_cast<std::size_t>(count));
    rc = library.rbd_config_image_list(image, options.data(), &count);
  }
  if (rc < 0) return rbd_error(-rc, subject + ": its settings");
  const Needed* unmet = nullptr;
  for (int i = 0; i < count; ++i) {
    const RbdOption& option = options[static_cast<std::size_t>(i)];
    for (const Needed& needed : kNeeded) {
      if (option.name == needed.option && option.value != needed.value) unmet = &needed;
    }
  }
  library.rbd_config_image_list_cleanup(options.data(), count);
  if (unmet == nullptr) return {};
  const std::string option(unmet->option);
  return Error{
      ErrorCode::kUnsupported,
      subject + ": " + option + " is set for the image or its pool, and " + unmet->otherwise,
      "rbd config image remove " + address.pool + "/" + address.image + " " + option +
          ", or rbd config pool remove"};
}

}  // namespace hexad::io
