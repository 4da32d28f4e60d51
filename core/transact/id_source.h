// Ids that changes of the metadata draw, and what happens when those of an epoch run short (ID1,
// ID2 of core/plan/body_ids.h).
#pragma once

#include <functional>
#include <utility>

#include "base/error.h"
#include "core/plan/body_ids.h"

namespace hexad::core {

class IdSource {
 public:
  // `run_short` asks for another epoch, and returns at once.
  explicit IdSource(std::function<void()> run_short) : run_short_(std::move(run_short)) {}

  // Any thread.
  BodyId draw();
  // Whether there are enough of them for what begins now. Errors: kExhausted (ID2).
  Status may_draw();
  // Of whoever begins an epoch.
  BodyIds& ids() { return ids_; }

 private:
  const std::function<void()> run_short_;
  BodyIds ids_;
};

}  // namespace hexad::core
