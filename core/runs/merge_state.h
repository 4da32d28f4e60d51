// How far a merge of runs is: none, wanted, running, finished and not installed; with what belongs
// to each. Lock: none; RunMerger has it under its own.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "core/runs/run_catalogue.h"

namespace hexad::core {

class MergeState {
 public:
  bool idle() const { return stage_ == Stage::kIdle; }
  bool wanted() const { return stage_ == Stage::kWanted; }
  bool running() const { return stage_ == Stage::kRunning; }
  bool finished() const { return stage_ == Stage::kFinished; }
  bool under_way() const { return wanted() || running(); }
  // The runs that it makes one of, the newest first; none where it is idle.
  std::vector<std::uint64_t> inputs() const {
    return idle() ? std::vector<std::uint64_t>() : inputs_;
  }
  // Units that it may take yet: those of the inputs.
  std::uint64_t units_to_come() const { return under_way() ? units_ : 0; }

  // Precondition: idle().
  void want(RunMerge plan) {
    HEXAD_ASSERT(idle());
    inputs_.clear();
    for (const ManifestRun& run : plan.inputs) inputs_.push_back(run.id);
    units_ = units_of(plan.inputs);
    plan_ = std::move(plan);
    stage_ = Stage::kWanted;
  }
  // Precondition: wanted().
  RunMerge begin() {
    stage_ = Stage::kRunning;
    return std::exchange(plan_, {});
  }
  // Precondition: running().
  void finish(MergedRun merged) {
    merged_ = std::move(merged);
    stage_ = Stage::kFinished;
  }
  // Precondition: finished().
  MergedRun take() {
    stage_ = Stage::kIdle;
    return *std::exchange(merged_, std::nullopt);
  }
  // Precondition: not finished(). What was running is over, what was wanted is not begun.
  void end() { stage_ = Stage::kIdle; }

 private:
  enum class Stage : std::uint8_t { kIdle, kWanted, kRunning, kFinished };

  Stage stage_ = Stage::kIdle;
  RunMerge plan_;                      // kWanted
  std::vector<std::uint64_t> inputs_;  // but for kIdle
  std::uint64_t units_ = 0;            // kWanted and kRunning
  std::optional<MergedRun> merged_;    // kFinished
};

}  // namespace hexad::core
