// How the engine ends. doc/invariants.md#waits
#include <utility>

#include "core/check/known_damage.h"
#include "core/engine/engine.h"
#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

constexpr io::Nanos kLongNap = 100'000'000;

}  // namespace

// The work is a job's, so that the thread that closes can leave it.
Status Engine::close() {
  if (pipeline_ != nullptr) {
    reports_.damage->await_written(
        [this] { return !writable().ok() || silent_->find(kSilence) != nullptr; });
  }
  // In this order: a socket that is being made meanwhile is there by now, or refused.
  const Closing::Caller caller = closing_.close();
  if (const auto server = control(); server != nullptr) server->stop();
  if (pipeline_ == nullptr) return {};
  const auto start = [this] {
    jobs_->wind_down();  // nothing is made ahead for a store that is closed
    close_job_->want();
    jobs_->wake(*close_job_);
  };
  const auto silent = [this, began = executor().clock().now()]() -> std::optional<Error> {
    const Member* const member = silent_->find(io::kReadPatience, executor().clock().now() - began);
    if (member == nullptr) return std::nullopt;
    return Error{
        ErrorCode::kUnavailable,
        "the store is not closed yet: device " + std::to_string(member->id) + " (" + member->path +
            ") " + io::describe_silence(*member->device) +
            "; until it answers or is given up (device_patience), or the process ends, the "
            "devices stay locked. What was "
            "acknowledged is there at the next opening",
        "Close the store again when the device answers, or end the process."};
  };
  return closing_.wait(caller, start, silent);
}

void Engine::finish_closing() {
  errands_.wait();
  devices_->keep_records();
  Status closed = pipeline_->stopped().has_value()
                      ? gate_->lost_buffered()
                      : checkpointer_->run(Checkpointer::Close::kClean);
  mergers_->stop();
  closing_.finish(std::move(closed));
}

bool Engine::may_end() {
  if (const auto server = control(); server != nullptr) server->stop();
  if (pipeline_ == nullptr) return true;  // reads alone, whose memory is the queue's
  if (!devices_->outlast_calls()) return false;
  for (;;) {
    if (silent_->find(io::kReadPatience) != nullptr) return false;
    if (silent_->find(kSilence) == nullptr) break;
    executor().sleep_for(kLongNap);
  }
  return closing_.may_end();
}

}  // namespace hexad::core
