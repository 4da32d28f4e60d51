#include "io/memory_system.h"

#include <utility>

#include "base/units.h"

namespace hexad::io {

MemorySystem::MemorySystem(MemoryOptions options)
    : options_(options),
      queue_(make_memory_queue()),
      executor_(make_thread_executor(options.pool_threads)) {}

std::uint64_t MemorySystem::draw_seed() {
  const OsLock lock(mutex_);
  return seeds_.next();
}

Result<std::unique_ptr<Device>> MemorySystem::open_device(const std::string& path, OpenMode mode) {
  std::shared_ptr<MemoryMedia> found = media(path);
  if (found == nullptr) {
    return Error{ErrorCode::kNotFound, "there is no memory device " + path, ""};
  }
  return open_memory_device(path, std::move(found), mode, options_.blocks, *queue_);
}

Result<std::unique_ptr<Device>> MemorySystem::create_device(const std::string& path,
                                                            std::uint64_t size) {
  if (!is_multiple(size, options_.blocks.logical)) {
    return Error{ErrorCode::kInvalidArgument,
                 path + ": " + std::to_string(size) + " bytes are not whole blocks of " +
                     format_size(options_.blocks.logical),
                 ""};
  }
  {
    const OsLock lock(mutex_);
    std::shared_ptr<MemoryMedia>& slot = media_[path];
    if (slot == nullptr) {
      Result<std::shared_ptr<MemoryMedia>> made = MemoryMedia::create(size);
      if (!made.ok()) {
        media_.erase(path);
        return made.error();
      }
      slot = std::move(made).value();
    }
  }
  HEXAD_TRY_ASSIGN(std::unique_ptr<Device> device, open_device(path, OpenMode::kReadWrite));
  if (device->geometry().size < size) HEXAD_TRY(device->grow(size));
  return device;
}

std::shared_ptr<MemoryMedia> MemorySystem::media(const std::string& path) {
  const OsLock lock(mutex_);
  const auto found = media_.find(path);
  return found == media_.end() ? nullptr : found->second;
}

void MemorySystem::remove_device(const std::string& path) {
  const OsLock lock(mutex_);
  media_.erase(path);
}

}  // namespace hexad::io
