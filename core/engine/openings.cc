#include "core/engine/openings.h"

namespace hexad::core {

Openings::Call::Call(Openings& openings, const std::string& path, Turn turn) : openings_(openings) {
  const io::Nanos now = openings_.executor_.clock().now();
  const io::Lock lock(openings_.mutex_);
  openings_.calls_.push_front({path, now, turn});
  at_ = openings_.calls_.begin();
}

Openings::Call::~Call() {
  const io::Lock lock(openings_.mutex_);
  openings_.calls_.erase(at_);
}

std::string Openings::describe(const Call::Entry& entry, io::Nanos now) {
  return entry.path + " has been opened for " +
         std::to_string((now - entry.since) / 1'000'000'000) +
         " s, and neither the kernel nor the device has answered";
}

std::vector<std::string> Openings::lasting(io::Nanos limit) const {
  const io::Nanos now = executor_.clock().now();
  std::vector<std::string> all;
  const io::Lock lock(mutex_);
  for (const Call::Entry& entry : calls_) {
    if (now - entry.since < limit) continue;
    all.push_back(describe(entry, now) +
                  (entry.turn == Turn::kHeld
                       ? ": whoever adds, drains or removes devices meanwhile is refused"
                       : ""));
  }
  return all;
}

Status Openings::check_turn(io::Nanos limit) const {
  const io::Nanos now = executor_.clock().now();
  const io::Lock lock(mutex_);
  for (const Call::Entry& entry : calls_) {
    if (entry.turn == Turn::kFree || now - entry.since < limit) continue;
    return Error{ErrorCode::kUnavailable,
                 describe(entry, now) + "; devices are changed one at a time",
                 "Try again when one of them has, or open the store in another process."};
  }
  return {};
}

bool Openings::any() const {
  const io::Lock lock(mutex_);
  return !calls_.empty();
}

}  // namespace hexad::core
