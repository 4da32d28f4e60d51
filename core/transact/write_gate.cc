#include "core/transact/write_gate.h"

#include <optional>
#include <string>

namespace hexad::core {

Status WriteGate::check() const {
  if (pipeline_ == nullptr) {
    return Error{ErrorCode::kReadOnly, "the store is open for reading only",
                 "Open it with Access::kReadWrite."};
  }
  if (closing_.is_closed()) {
    return Error{ErrorCode::kClosed, "the store has been closed", "Open it again."};
  }
  HEXAD_TRY(members_.check_not_fenced());  // TO1, whoever has met it
  if (const auto stopped = pipeline_->stopped()) {
    return Error{ErrorCode::kReadOnly, "the store has turned read-only: " + stopped->message,
                 "Close it, check its devices, and open it again."};
  }
  return {};
}

Status WriteGate::unsequenced(const Status& why) const {
  const bool unknown = !why.ok() && why.error().code == ErrorCode::kUnknown;
  return unknown && pipeline_->stopped().has_value() ? check() : why;
}

Error WriteGate::called_back_early() {
  return {ErrorCode::kUnavailable,
          "the thread was called back while a commit waited for its place in the order",
          "Nothing has changed: try again when the devices answer."};
}

Status WriteGate::lost_buffered() const {
  const std::optional<CommitPipeline::Lost> lost = pipeline_->lost_buffered();
  if (!lost.has_value()) return {};
  return Error{ErrorCode::kIo,
               "the store has turned read-only before commits were durable that may have been "
               "answered: LSN " +
                   std::to_string(lost->first) + " to " + std::to_string(lost->last) +
                   " may be lost (" + pipeline_->stopped()->message + ")",
               "Close the store, check its devices, open it again, and see which are there."};
}

// A durable commit that is refused is the first to learn of lost buffered ones, for all it knows.
Error WriteGate::told(const Error& error, Durability durability) const {
  const bool stopped = error.code == ErrorCode::kReadOnly || error.code == ErrorCode::kFenced;
  if (!stopped || durability != Durability::kDurable) return error;
  if (pipeline_ == nullptr) return error;
  const Status lost = lost_buffered();
  return lost.ok() ? error : lost.error();
}

}  // namespace hexad::core
