// Closes the store for Store::close(), whose caller may leave when a device does not answer.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "core/job/job.h"

namespace hexad::core {

class CloseJob : public Job {
 public:
  explicit CloseJob(std::function<void()> close) : close_(std::move(close)) {}

  // The scheduler is to be woken. Any thread.
  void want() { wanted_.store(true, std::memory_order_release); }

  std::string_view name() const override { return "close"; }
  std::string_view purpose() const override { return "closing the store"; }
  std::optional<io::Nanos> due() override {
    return wanted_.load(std::memory_order_acquire) ? std::optional<io::Nanos>(0) : std::nullopt;
  }
  bool must_finish() const override { return true; }
  // Whoever closes gets the outcome.
  Result<bool> step() override {
    wanted_.store(false, std::memory_order_release);
    close_();
    return true;
  }

 private:
  const std::function<void()> close_;
  std::atomic<bool> wanted_{false};
};

}  // namespace hexad::core
