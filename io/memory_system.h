// A System whose devices are named pieces of memory: the memory-only store, and tests that want
// real threads without files. Devices keep their bytes while the system lives, so a store can be
// closed and opened again; the locks work as those of files do.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/os_mutex.h"
#include "io/memory_device.h"
#include "io/system.h"

namespace hexad::io {

struct MemoryOptions {
  MemoryBlocks blocks;
  int pool_threads = 2;
};

// Outlives the devices it opened. Any thread.
class MemorySystem final : public System {
 public:
  explicit MemorySystem(MemoryOptions options = {});

  Executor& executor() override { return *executor_; }
  Clock& clock() override { return executor_->clock(); }
  IoQueue& queue() override { return *queue_; }
  std::uint64_t draw_seed() override;
  // Errors: kNotFound, kBusy.
  Result<std::unique_ptr<Device>> open_device(const std::string& path, OpenMode mode) override;
  // Errors: kBusy, kNoSpace, kInvalidArgument (not whole blocks).
  Result<std::unique_ptr<Device>> create_device(const std::string& path,
                                                std::uint64_t size) override;

  // The content behind a name, for tests that damage it; null when there is none.
  std::shared_ptr<MemoryMedia> media(const std::string& path);
  // Forgets the device; handles that are open keep working.
  void remove_device(const std::string& path);

 private:
  const MemoryOptions options_;
  const std::unique_ptr<IoQueue> queue_;
  const std::unique_ptr<Executor> executor_;
  OsMutex mutex_;
  std::map<std::string, std::shared_ptr<MemoryMedia>> media_ HEXAD_GUARDED_BY(mutex_);
  Rng seeds_ HEXAD_GUARDED_BY(mutex_) = Rng::from_entropy();
};

}  // namespace hexad::io
