// Writes down what could not be read, and takes away what is no damage any more
// (core/check/damage_list.h).
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "core/job/job.h"
#include "io/clock.h"

namespace hexad::core {

class DamageJob : public Job {
 public:
  // False: there was nothing to write.
  using Write = std::function<Result<bool>()>;
  DamageJob(io::Clock& clock, Write write) : clock_(clock), write_(std::move(write)) {}

  // Behind a failure.
  static constexpr io::Nanos kPause = 60'000'000'000;

  // The scheduler is to be woken after it. Any thread.
  void want() { wanted_.store(true, std::memory_order_release); }

  std::string_view name() const override { return "damage"; }
  std::string_view purpose() const override { return "noting which objects are damaged"; }
  std::optional<io::Nanos> due() override;
  Result<bool> step() override;

 private:
  io::Clock& clock_;
  const Write write_;
  std::atomic<bool> wanted_{false};
  std::atomic<io::Nanos> not_before_{0};
};

}  // namespace hexad::core
