// Makes a zone ahead of need, so that no commit waits for one.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>

#include "core/job/job.h"

namespace hexad::core {

class ZoneJob : public Job {
 public:
  struct Work {
    std::function<bool()> wanted;  // there is too little space without another zone
    std::function<Status()> make;
    std::function<bool()> possible;  // there are slabs for one
  };
  explicit ZoneJob(Work work) : work_(std::move(work)) {}

  // One may be wanted. True: this is news, and the scheduler is to be woken. Any thread; cheap.
  bool want() { return !asked_.exchange(true, std::memory_order_acq_rel); }

  std::string_view name() const override { return "zones"; }
  std::string_view purpose() const override { return "making a zone ahead of need"; }
  std::optional<io::Nanos> due() override;
  Result<bool> step() override;

 private:
  const Work work_;
  std::atomic<bool> asked_{false};
};

}  // namespace hexad::core
