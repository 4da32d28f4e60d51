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
  if (writing_.pipeline != nullptr) {
    reports_.damage->await_written(
        [this] { return !writable().ok() || watch_.silent->find(kSilence) != nullptr; });
  }
  // In this order: a socket that is being made meanwhile is there by now, or refused.
  const Closing::Caller caller = closing_.close();
  if (const auto server = control_.server(); server != nullptr) server->stop();
  if (writing_.pipeline == nullptr) return {};
  const auto start = [this] {
    writing_.scheduler->wind_down();  // nothing is made ahead for a store that is closed
    writing_.jobs.close->want();
    writing_.scheduler->wake(*writing_.jobs.close);
  };
  const auto silent = [this, began = executor().clock().now()]() -> std::optional<Error> {
    const Member* const member =
        watch_.silent->find(io::kReadPatience, executor().clock().now() - began);
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
  writing_.devices->keep_records();
  Status closed = writing_.pipeline->stopped().has_value()
                      ? gate_->lost_buffered()
                      : checkpointer_->run(Checkpointer::Close::kClean);
  writing_.mergers->stop();
  closing_.finish(std::move(closed));
}

bool Engine::may_end() {
  if (const auto server = control_.server(); server != nullptr) server->stop();
  if (writing_.pipeline == nullptr) return true;  // reads alone, whose memory is the queue's
  if (!writing_.devices->outlast_calls()) return false;
  for (;;) {
    if (watch_.silent->find(io::kReadPatience) != nullptr) return false;
    if (watch_.silent->find(kSilence) == nullptr) break;
    executor().sleep_for(kLongNap);
  }
  return closing_.may_end();
}

}  // namespace hexad::core
