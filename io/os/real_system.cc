#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/os_mutex.h"
#include "io/device_path.h"
#include "io/os/file_device.h"
#include "io/os/thread_queue.h"
#include "io/os/uring_queue.h"
#include "io/os_error.h"
#include "io/rbd/rbd_device.h"
#include "io/rbd/rbd_holder.h"
#include "io/system.h"

namespace hexad::io {

namespace {

// Of each device. Requests are mostly asleep in the kernel: more of them than processors pays.
constexpr int kQueueThreads = 16;

int pool_threads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 8);
}

class RealSystem final : public System {
 public:
  explicit RealSystem(std::unique_ptr<FileQueue> queue)
      : queue_(std::move(queue)), executor_(make_thread_executor(pool_threads())) {}

  ~RealSystem() override {
    executor_.reset();  // the tasks, which may use the queue to their end
    // The kernel may still write into what an abandoned request has, and its answer is looked for
    // by the queue: all of that stays.
    if (queue_->has_abandoned()) static_cast<void>(queue_.release());
  }

  Executor& executor() override { return *executor_; }
  Clock& clock() override { return executor_->clock(); }
  IoQueue& queue() override { return *queue_; }

  std::uint64_t draw_seed() override {
    const OsLock lock(mutex_);
    return seeds_.next();
  }

  Result<std::unique_ptr<Device>> open_device(const std::string& path, OpenMode mode) override {
    if (is_rbd_path(path)) return as_device(RbdDevice::open(path, mode, *queue_, clusters_));
    return as_device(FileDevice::open(path, mode, *queue_));
  }

  Result<std::unique_ptr<Device>> create_device(const std::string& path,
                                                std::uint64_t size) override {
    if (is_rbd_path(path)) return as_device(RbdDevice::create(path, size, *queue_, clusters_));
    return as_device(FileDevice::create(path, size, *queue_));
  }

  Result<std::optional<Holder>> holder(const std::string& path) override {
    if (is_rbd_path(path)) return find_rbd_holder(path, clusters_);
    if (is_reserved_path(path)) return FileDevice::holder(path);
    return System::holder(path);
  }

  Status shut_out(const std::string& path) override {
    if (is_rbd_path(path)) return shut_out_of_rbd(path, clusters_);
    if (is_reserved_path(path)) return FileDevice::shut_out(path);
    return System::shut_out(path);
  }

  bool makes_redundant(const std::string& path) override { return is_rbd_path(path); }

  Status remove_created(const std::string& path) override {
    if (is_rbd_path(path)) return RbdDevice::remove(path, clusters_);
    if (is_reserved_path(path)) return {};  // the disk was there before
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return os_error(errno, path + ": cannot be removed");
  }

 private:
  template <typename Kind>
  static Result<std::unique_ptr<Device>> as_device(Result<std::unique_ptr<Kind>> device) {
    if (!device.ok()) return device.error();
    return std::unique_ptr<Device>(std::move(device).value());
  }

  RbdClusters clusters_;
  std::unique_ptr<FileQueue> queue_;
  std::unique_ptr<Executor> executor_;
  OsMutex mutex_;
  Rng seeds_ HEXAD_GUARDED_BY(mutex_) = Rng::from_entropy();
};

}  // namespace

Result<std::unique_ptr<System>> make_real_system(QueueKind kind) {
  std::unique_ptr<FileQueue> queue;
  if (kind != QueueKind::kThreads) {
    Result<std::unique_ptr<FileQueue>> ring = make_uring_queue();
    if (ring.ok()) {
      queue = std::move(ring).value();
    } else if (kind == QueueKind::kUring || ring.error().code != ErrorCode::kUnsupported) {
      return ring.error();
    }
  }
  if (queue == nullptr) queue = make_thread_queue(kQueueThreads);
  auto system = std::make_unique<RealSystem>(std::move(queue));
  HEXAD_TRY(system->executor().start_pool());
  return std::unique_ptr<System>(std::move(system));
}

}  // namespace hexad::io
