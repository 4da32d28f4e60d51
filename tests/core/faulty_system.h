// A memory system whose devices can be told to fail, from any thread, while real threads use them.
// (The simulated system has more kinds of faults, but its threads are fibers.)
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "alloc/device_layout.h"
#include "io/memory_system.h"

namespace hexad::testing {

struct DeviceFault {
  std::atomic<bool> writes{false};  // fail with kIo, before any effect
  std::atomic<bool> flushes{false};
  std::atomic<bool> reads{false};
  std::atomic<bool> heals{false};      // writes of cells that were lost or wrong fail
  std::atomic<bool> slabs{false};      // writes of headers behind the device's own fail: of slabs
  std::atomic<bool> redundant{false};  // says of itself that it is, when it is opened next
  std::atomic<bool> cached{false};     // says that its writes need a flush, when it is opened next
  std::atomic<int> roots{-1};  // so many roots are taken, those after them fail; negative: all are
};

class FaultySystem final : public io::System {
 public:
  explicit FaultySystem(io::MemorySystem& inner) : inner_(inner) {}

  io::Executor& executor() override { return inner_.executor(); }
  io::Clock& clock() override { return inner_.clock(); }
  io::IoQueue& queue() override { return queue_; }
  std::uint64_t draw_seed() override { return inner_.draw_seed(); }
  Result<std::unique_ptr<io::Device>> open_device(const std::string& path,
                                                  io::OpenMode mode) override {
    HEXAD_TRY_ASSIGN(std::unique_ptr<io::Device> device, inner_.open_device(path, mode));
    return wrap(path, std::move(device));
  }
  Result<std::unique_ptr<io::Device>> create_device(const std::string& path,
                                                    std::uint64_t size) override {
    HEXAD_TRY_ASSIGN(std::unique_ptr<io::Device> device, inner_.create_device(path, size));
    return wrap(path, std::move(device));
  }

  // Sees every request before it runs, on the thread that sends it. Who sets another one waits
  // until none sees the one before.
  using Watch = std::function<void(const io::IoRequest&)>;
  void watch(Watch watch) { queue_.set(std::move(watch)); }
  // A header of a slab, or the manifest.
  static bool is_slab_header(const io::IoRequest& request) {
    return request.op == io::IoOp::kWrite && request.cause == io::IoCause::kSuper &&
           !alloc::is_in_header(request.offset, request.device->geometry().size);
  }

  DeviceFault& fault(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return faults_[path];
  }

 private:
  class Wrapper final : public io::Device {
   public:
    Wrapper(std::unique_ptr<io::Device> device, io::IoQueue& queue, DeviceFault& wanted)
        : inner(std::move(device)), fault(wanted), queue_(queue) {
      look();
    }
    const io::Geometry& geometry() const override { return geometry_; }
    const std::string& name() const override { return inner->name(); }
    io::IoQueue& queue() override { return queue_; }
    Status grow(std::uint64_t new_size) override {
      Status grown = inner->grow(new_size);
      look();
      return grown;
    }
    bool direct() const override { return inner->direct(); }
    bool read_only() const override { return inner->read_only(); }

    std::unique_ptr<io::Device> inner;
    DeviceFault& fault;

   private:
    void release() override { inner->queue().retire(*inner); }
    void look() {
      geometry_ = inner->geometry();
      geometry_.redundant = fault.redundant;
      geometry_.volatile_cache = fault.cached;
    }

    io::IoQueue& queue_;
    io::Geometry geometry_;
  };

  // Every request is complete when submit() returns, like those of memory devices.
  class Queue final : public io::IoQueue {
   public:
    void wait(io::IoBatch& batch) override { HEXAD_ASSERT(batch.complete()); }
    std::string name() const override { return "memory"; }

    void set(Watch watch) {
      std::unique_lock<std::mutex> lock(mutex_);
      watch_ = std::make_shared<const Watch>(std::move(watch));
      left_.wait(lock, [this] { return watching_ == 0; });
    }

   protected:
    void submit_requests(io::IoBatch& batch) override {
      const std::size_t count = batch.requests.size();
      for (io::IoRequest& request : batch.requests) {
        show(request);
        request.status = run(request);
      }
      for (std::size_t i = 0; i < count; ++i) finish(batch);
    }

   private:
    // Holds nothing meanwhile: what it does may send requests, also of other threads.
    void show(const io::IoRequest& request) {
      std::unique_lock<std::mutex> lock(mutex_);
      const std::shared_ptr<const Watch> watch = watch_;
      if (watch == nullptr || !*watch) return;
      ++watching_;
      lock.unlock();
      (*watch)(request);
      lock.lock();
      if (--watching_ == 0) left_.notify_all();
    }
    static bool is_root(const io::IoRequest& request) {
      const std::uint64_t size = request.device->geometry().size;
      return request.op == io::IoOp::kWrite && alloc::is_in_header(request.offset, size) &&
             request.offset != alloc::label_offset(alloc::DeviceEnd::kHead, size) &&
             request.offset != alloc::label_offset(alloc::DeviceEnd::kTail, size);
    }
    // A root is written at the head first.
    static bool refuses_root(const io::IoRequest& request, DeviceFault& fault) {
      if (fault.roots < 0) return false;
      if (fault.roots == 0) return true;
      if (request.offset >= alloc::kHeadEnd) --fault.roots;
      return false;
    }
    static Status run(const io::IoRequest& request) {
      if (request.device->is_retired()) return check(request);
      Wrapper& device = static_cast<Wrapper&>(*request.device);
      const bool fails = (request.op == io::IoOp::kWrite && device.fault.writes) ||
                         (request.op == io::IoOp::kWrite && device.fault.heals &&
                          request.cause == io::IoCause::kHeal) ||
                         (is_slab_header(request) && device.fault.slabs) ||
                         (is_root(request) && refuses_root(request, device.fault)) ||
                         (request.op == io::IoOp::kFlush && device.fault.flushes) ||
                         (request.op == io::IoOp::kRead && device.fault.reads);
      if (fails) return Error{ErrorCode::kIo, device.name() + ": the device failed", ""};
      switch (request.op) {
        case io::IoOp::kRead:
          return device.inner->read(request.offset, {request.data, request.length});
        case io::IoOp::kWrite:
          return device.inner->write(request.offset, {request.data, request.length}, request.mode);
        case io::IoOp::kFlush:
          return device.inner->flush();
        case io::IoOp::kDiscard:
          return device.inner->discard(request.offset, request.length);
      }
      return {};
    }

    std::mutex mutex_;
    std::condition_variable left_;
    std::shared_ptr<const Watch> watch_;
    int watching_ = 0;  // threads in watch_, or in the one before
  };

  std::unique_ptr<io::Device> wrap(const std::string& path, std::unique_ptr<io::Device> device) {
    return std::make_unique<Wrapper>(std::move(device), queue_, fault(path));
  }

  io::MemorySystem& inner_;
  Queue queue_;
  std::mutex mutex_;
  std::map<std::string, DeviceFault> faults_;
};

}  // namespace hexad::testing
