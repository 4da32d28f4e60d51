// A memory system that refuses threads from some moment on, as the operating system does when a
// process has as many as it may have.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "io/memory_system.h"

namespace hexad::testing {

class RefusingExecutor final : public io::Executor {
 public:
  explicit RefusingExecutor(io::Executor& inner) : inner_(inner) {}

  // So many more are started; negative: any number.
  void allow(int threads) { left_ = threads; }

  Result<std::unique_ptr<io::Thread>> try_start(const std::string& name, io::Task task) override {
    HEXAD_TRY(take(name));
    return inner_.try_start(name, std::move(task));
  }
  // Counts as one thread.
  Status start_pool() override {
    HEXAD_TRY(take("hexad-pool"));
    return inner_.start_pool();
  }
  void post(io::Task task) override { inner_.post(std::move(task)); }
  void sleep_for(io::Nanos duration) override { inner_.sleep_for(duration); }
  io::Clock& clock() override { return inner_.clock(); }

 private:
  Status take(const std::string& name) {
    if (left_ == 0) return Error{ErrorCode::kIo, "the system refuses the thread " + name, "a hint"};
    if (left_ > 0) --left_;
    return {};
  }

  io::Executor& inner_;
  std::atomic<int> left_{-1};
};

class RefusingSystem final : public io::System {
 public:
  explicit RefusingSystem(io::MemorySystem& inner) : threads(inner.executor()), inner_(inner) {}

  io::Executor& executor() override { return threads; }
  io::Clock& clock() override { return inner_.clock(); }
  io::IoQueue& queue() override { return inner_.queue(); }
  std::uint64_t draw_seed() override { return inner_.draw_seed(); }
  Result<std::unique_ptr<io::Device>> open_device(const std::string& path,
                                                  io::OpenMode mode) override {
    return inner_.open_device(path, mode);
  }
  Result<std::unique_ptr<io::Device>> create_device(const std::string& path,
                                                    std::uint64_t size) override {
    return inner_.create_device(path, size);
  }

  RefusingExecutor threads;

 private:
  io::MemorySystem& inner_;
};

}  // namespace hexad::testing
