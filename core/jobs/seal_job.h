// Makes buffered commits durable some time after the first of them.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>

#include "core/job/job.h"
#include "io/clock.h"

namespace hexad::core {

class SealJob : public Job {
 public:
  // Buffered commits are sealed so long after the first of them at the latest.
  static constexpr io::Nanos kDelay = 10'000'000;

  // `seal` asks for all that was committed so far to be made durable.
  SealJob(io::Clock& clock, std::function<void()> seal) : clock_(clock), seal_(std::move(seal)) {}

  // A commit is buffered. True: this is news, and the scheduler is to be woken. Any thread; cheap.
  bool want();
  // Somebody cannot wait: seals now what is buffered. Whether something was.
  bool seal_now();

  std::string_view name() const override { return "seal"; }
  std::string_view purpose() const override { return "making buffered commits durable"; }
  bool must_finish() const override { return true; }
  std::optional<io::Nanos> due() override;
  Result<bool> step() override { return seal_now(); }

 private:
  io::Clock& clock_;
  const std::function<void()> seal_;
  std::atomic<io::Nanos> at_{kNever};

  static constexpr io::Nanos kNever = -1;
};

}  // namespace hexad::core
