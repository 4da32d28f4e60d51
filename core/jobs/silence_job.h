// Looks now and then whether a device has stopped answering, or keeps one request to itself.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "core/job/job.h"
#include "io/clock.h"

namespace hexad::core {

class SilenceJob : public Job {
 public:
  // Within each limit it looks so often: a device is left behind an eighth later at most.
  static constexpr io::Nanos kLooks = 8;

  // `limit`: how long a device may owe an answer; 0: for ever. `look` leaves those behind that have
  // for longer, says whether there were any, and waits for no device.
  SilenceJob(io::Clock& clock, io::Nanos limit, std::function<bool()> look)
      : clock_(clock),
        every_(limit / kLooks),
        look_(std::move(look)),
        next_(clock.now() + every_) {}

  std::string_view name() const override { return "silence"; }
  std::string_view purpose() const override {
    return "going on without devices that do not answer";
  }
  // Commits wait for it that wait for such a device.
  bool must_finish() const override { return true; }
  std::optional<io::Nanos> due() override;
  Result<bool> step() override;

 private:
  io::Clock& clock_;
  const io::Nanos every_;
  const std::function<bool()> look_;
  io::Nanos next_;
};

}  // namespace hexad::core
